"""docs/spec-coverage.md has every line of the specifications, and each row names tests that exist or says what is missing."""
import pathlib
import re

import pytest

from specification import LAKEPROXY, LAKEPROXY_DEFAULTS, SECURETOOL

ROOT = pathlib.Path(__file__).resolve().parents[2]
COVERAGE = ROOT / 'docs/spec-coverage.md'
LINK = re.compile(r'\]\(([^)#\s]*)(?:#([^)\s]*))?\)')
SECTION = re.compile(r'\bsections? (\d+(?:\.\d+)?)')


def rows_of(text):
    """Of each row of a table: which server's it is, the number of its section, and its cells."""
    server, section, rows = '', '', []
    for line in text.splitlines():
        if head := re.match(r'# (\w+)$', line):
            server = head[1]
        elif head := re.match(r'## (\d+(?:\.\d+)?)', line):
            section = head[1]
        elif server and line.startswith('| ') and not re.match(r'\| .* \| state \| proof', line):
            what, state, *proof = (cell.strip() for cell in line.strip('|').split(' | '))
            rows.append((server, section, what, state, ' | '.join(proof)))
    return rows


ROWS = rows_of(COVERAGE.read_text())
ASKED = [(server, section, line) for server, sections in (('lakeproxy', LAKEPROXY), ('securetool', SECURETOOL))
         for section, lines in sections.items() for line in lines]


def has(what, line):
    """Whether a row is of this line: its words begin with the line's, or have them after a comma, a colon or `and`."""
    return re.search(rf'(?:^|, |: |; |\band | or | for ){re.escape(line)}(?![\w-])', what) is not None


def defined_in(path):
    if not path.is_file():
        return set()
    text = path.read_text()
    return {*re.findall(r'^(?:async )?def (test_\w+)\(', text, re.MULTILINE),
            *(name for pair in re.findall(r'^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)', text, re.MULTILINE) for name in pair)}


@pytest.mark.parametrize('server, section, line', ASKED, ids=lambda part: part[:50])
def test_each_line_of_the_specifications_has_its_row(server, section, line):
    assert [what for of, number, what, _, _ in ROWS if (of, number) == (server, section) and has(what, line)]


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row[2][:60])
def test_each_row_names_tests_that_exist_or_says_what_is_missing(row):
    server, _, what, state, proof = row
    assert state in ('yes', 'part', 'no'), f'{what}: neither built nor not'
    linked = [COVERAGE.parent / path for path, _ in LINK.findall(proof) if re.search(r'test[^/]*\.(cc|py)$', path)]
    known = set().union(*map(defined_in, linked))
    assert not [path.name for path in linked if not defined_in(path)], f'{what}: files without tests'
    named = set(re.findall(r'`(\w+)`', proof))
    # A lower-case word in parts is the name of a test in either language.
    assert not [name for name in named if re.fullmatch('[a-z][a-z0-9A-Z]*(_[a-z0-9A-Z]+)+', name) and name not in known], f'{what}: tests that are not there'
    if state == 'yes':
        elsewhere = [number for number in SECTION.findall(proof) if any((server, number.split('.')[0]) == (of, at.split('.')[0]) for of, at, *_ in ROWS)]
        assert named & known or elsewhere or re.search(r'\bkit: test\w+', proof), f'{what}: no test by its name'
    else:
        said = re.sub(r'`[^`]*`|\[[^\]]*\]\([^)]*\)|\W', '', proof)
        assert len(said) > 12, f'{what}: what is missing?'


def test_a_row_that_is_missing_or_weak_is_found():
    text = ('# A title\n| no row | of a server |\n# lakeproxy\n## 2.3 Keys\n| line | state | proof |\n|---|---|---|\n| root keys | yes | here |\n'
            '# securetool\n## 1. What\n| `a.b` of it | part | x \\| y | z |\n')
    assert rows_of(text) == [('lakeproxy', '2.3', 'root keys', 'yes', 'here'), ('securetool', '1', '`a.b` of it', 'part', 'x \\| y | z')]
    assert has('mode, server_url', 'server_url') and has('10. RLS=0 gives', '10. RLS=0') and has('.env or CONFIG_FILE', 'CONFIG_FILE')
    assert not has('object tag', 'tag') and not has('remove-snapshot-ref main', 'remove-snapshot') and not has('11. a', '1. a')
    assert not has('`lakeproxy.masking-disabled`', 'masking-disabled')


@pytest.mark.parametrize('name', LAKEPROXY_DEFAULTS)
def test_settings_have_the_defaults_of_the_specification(name):
    """Of the page that the program prints; tests/interop/server/test_command_line.py compares the two."""
    page = (ROOT / 'docs/configuration.md').read_text()
    default, = re.findall(rf'^\| `LAKEPROXY_{name}` \| ([^|]+) \|', page, re.MULTILINE)
    assert LAKEPROXY_DEFAULTS[name] in (None, default.strip('`'))


def test_each_route_has_its_line():
    """The operations of the catalog's API, as the route table calls them."""
    table = (ROOT / 'lakeproxy/http/route_table.cc').read_text()
    routes = set(re.findall(r'"/v1/\{prefix\}[^"]*"|k\w+,\s+"(\w+)",', table)) - {''}
    known = {what for _, _, what, _, _ in ROWS}
    ours = re.findall(r'constexpr std::string_view (k\w+) = "/v1/\{prefix\}/governance/', table)
    governance = set(re.findall(rf'(?:{"|".join(ours)}),\s+"(\w+)"', table))
    assert routes - known - governance == {'compactTable', 'ducklakeCredentials'}, 'not of the description: lines of section 4'
