"""The list of holes, and the mark of the tests that show them."""
import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent


def holes():
    """By identifier: product, class, what, and either test or no_counterpart."""
    return tomllib.loads((HERE / 'holes.toml').read_text())


def shows(*identifiers):
    """Of a test: the holes of the list that it shows."""
    def mark(test):
        test.shows = identifiers
        return test

    return mark
