"""The documents name files and tests that exist."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')])
LINK = re.compile(r'\]\(([^)#\s]*)(?:#([^)\s]*))?\)')
NAMED = re.compile(r'((?:`\w+`(?:,\s+|\s+and\s+)?)+)\s+in\s+\[[^\]]+\]\(([^)#]+)\)')


def anchors(text):
    """As the usual viewers make them of headings."""
    heads = re.findall(r'^#+ (.*)$', re.sub(r'```.*?```', '', text, flags=re.S), re.M)
    return {re.sub(r'[^\w\- ]', '', head.lower()).replace(' ', '-') for head in heads}


@pytest.mark.parametrize('document', DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_link_leads_somewhere(document):
    missing = []
    for path, anchor in LINK.findall(document.read_text()):
        if path.startswith(('http:', 'https:')):
            continue
        target = document.parent / path if path else document
        if not target.exists() or (anchor and target.suffix == '.md' and anchor not in anchors(target.read_text())):
            missing.append(f'{path}#{anchor}' if anchor else path)
    assert not missing


@pytest.mark.parametrize('document', DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_test_that_is_named_exists(document):
    missing = []
    for names, path in NAMED.findall(document.read_text()):
        if not re.search(r'test[^/]*\.(cc|py)$', path):
            continue
        source = (document.parent / path).read_text()
        missing += [f'{name} in {path}' for name in re.findall(r'`(\w+)`', names) if not re.search(rf'\b{name}\b', source)]
    assert not missing


COVERAGE = ROOT / 'docs/spec-coverage.md'
LINES = [[cell.strip() for cell in line.strip('|').split('|')] for line in COVERAGE.read_text().splitlines()
         if re.match(r'\|.*\| (yes|part|no) \|', line)]
NO_TEST = {'kit', 'interop', 'section 3.4', 'section 2.2', 'sections 1.6 and 7'}


def test_coverage_is_read():
    assert len(LINES) > 150


@pytest.mark.parametrize('line', LINES, ids=lambda line: line[0][:60])
def test_each_line_has_its_proof_or_says_what_is_missing(line):
    what, state, proof = line[0], line[1], '|'.join(line[2:])
    tests = [path for path, _ in LINK.findall(proof) if re.search(r'test[^/]*\.(cc|py)$|/$', path)]
    words = re.sub(r'`[^`]*`|\[[^\]]*\]\([^)]*\)|\W', '', proof)
    if state == 'yes':
        assert tests or any(word in proof for word in NO_TEST), f'{what}: no test'
    else:
        assert len(words) > 12, f'{what}: what is missing?'


def test_each_route_has_its_line():
    """The operations of the catalog's API, as the route table calls them."""
    routes = re.findall(r'"/v1/\{prefix\}[^"]*"|k\w+,\s+"(\w+)",', (ROOT / 'lakeproxy/route/route_table.cc').read_text())
    known = {line[0] for line in LINES}
    assert {name for name in routes if name} - known == {'compactTable'}, 'not of the description: a line of section 4'
