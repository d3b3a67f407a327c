"""The tour of governance that ./dev demo ends with."""
import pathlib
import re

from tour import governance

GOVERNANCE = pathlib.Path(__file__).resolve().parents[3] / 'docs/lake/governance.md'
FILE = re.compile(r'ducklake-[0-9a-f-]+\.+parquet')


def told(text):
    """Lines that say something, with one name for the data file."""
    return [FILE.sub('<file>', line.rstrip()) for line in text.splitlines() if line.strip()]


def test_the_tour_shows_what_the_document_says(stack, lake, spark, capsys):
    for _ in range(2):  # it may be taken again
        governance.show(stack, lake, spark)
        shown = capsys.readouterr().out
    said = re.search(r'## From tag to proof\n.*?```text\n(.*?)```', GOVERNANCE.read_text(), re.DOTALL)[1]
    assert told(shown) == told(said)
