"""The documents name files and tests that exist."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')])
LINK = re.compile(r'\]\(([^)#\s]*)(?:#([^)\s]*))?\)')
NAMED = re.compile(r'((?:`\w+`(?:, | and )?)+) in \[[^\]]+\]\(([^)#]+)\)')


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
