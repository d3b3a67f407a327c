"""Each hole of the list is shown by a test, or says why it has no counterpart; and each test shows a hole of the list."""
import ast
import re

import pytest

from holes import HERE, holes

ROOT = HERE.parents[1]
HOLES = holes()


def marks_of(file):
    """The tests of a file, each with the identifiers that it is marked with."""
    def marked(test):
        marks = [one for one in test.decorator_list if isinstance(one, ast.Call) and getattr(one.func, 'id', '') == 'shows']
        return {argument.value for mark in marks for argument in mark.args}

    return {one.name: marked(one) for one in ast.parse(file.read_text()).body if isinstance(one, ast.FunctionDef) and one.name.startswith('test_')}


SHOWN = {f'{file.name}::{name}': marks for file in sorted(HERE.glob('test_*.py')) if file.name != 'test_every_hole_has_its_place.py'
         for name, marks in marks_of(file).items()}


@pytest.mark.parametrize('identifier', HOLES)
def test_a_hole_is_shown_or_has_a_reason(identifier):
    hole = HOLES[identifier]
    assert re.fullmatch(r'CVE-\d{4}-\d{4,}|MAL-\d{4}-\d+|class: [a-z ]+', identifier)
    assert set(hole) - {'rest'} in ({'product', 'class', 'what', 'test'}, {'product', 'class', 'what', 'no_counterpart'})
    assert all(len(value) > 3 for value in hole.values()) and len(hole['what']) > 30
    if 'no_counterpart' in hole:
        assert len(hole['no_counterpart']) > 30 and not any(identifier in marks for marks in SHOWN.values())
    elif hole['test'].startswith('tests/'):
        path, name = hole['test'].split('::')
        assert name in marks_of(ROOT / path)
    else:
        assert identifier in SHOWN[hole['test']]


def test_each_test_shows_a_hole_of_the_list():
    assert all(marks for marks in SHOWN.values()), SHOWN
    assert set().union(*SHOWN.values()) <= set(HOLES)


def test_the_list_is_read():
    assert len(HOLES) >= 33
