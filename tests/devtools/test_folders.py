"""What one folder must not reach of another, where includes do not tell: a name may be seen through a third header."""
import pathlib
import re

HTTP = pathlib.Path(__file__).resolve().parents[2] / 'lakeproxy/http'
LOADED = re.compile(r'\b(publish::\w+|loaded_tables|LoadedTable\w*|write_metadata|metadata_at|body_at)\b')


def test_http_sends_tables_as_they_are_shown_and_never_as_they_are_loaded():
    """operation::ShownTable is made with the proof of policy; what is loaded is the same for everybody."""
    files = [file for file in sorted(HTTP.iterdir()) if file.suffix in ('.h', '.cc')]
    assert any('ShownTable' in file.read_text() for file in files)
    reached = {f'{file.name}: {name}' for file in files for name in LOADED.findall(file.read_text())}
    assert not reached
