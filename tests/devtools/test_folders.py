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


LAKEPROXY = HTTP.parent
OPENED = re.compile(r'^namespace lake::(\w+)', re.MULTILINE)


def test_the_namespaces_that_are_not_their_folders_are_in_the_readme():
    rows = re.findall(r'^\| `lake::(\w+)` \| ([^|]*) \|$', (LAKEPROXY / 'README.md').read_text(), re.MULTILINE)
    listed = {place.strip('/'): name for name, places in rows for place in re.findall(r'`([^`]+)`', places)}
    counts = {}
    for file in LAKEPROXY.rglob('*.h'):
        # The last one of a file is its own; before it stand names of others.
        if not file.name.endswith('_test.h') and (names := OPENED.findall(file.read_text())):
            of = counts.setdefault(str(file.parent.relative_to(LAKEPROXY)), {})
            of[names[-1]] = of.get(names[-1], 0) + 1
    for place, of in counts.items():
        top = place.split('/')[0]
        assert of.get(listed.get(place, listed.get(top, top))) == max(of.values()), place
    assert listed.keys() <= counts.keys() | {place.split('/')[0] for place in counts}
