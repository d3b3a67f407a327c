"""The documents name files and tests that exist."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ('base', 'bench', 'clients', 'db', 'devtools', 'docs', 'examples', 'fuzz', 'lakeproxy', 'tests', 'toolserver')
DOCUMENTS = sorted([*ROOT.glob('*.md'), *(file for folder in FOLDERS for file in (ROOT / folder).rglob('*.md') if 'node_modules' not in file.parts)])
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


def test_every_decision_and_every_page_is_in_an_index():
    index = (ROOT / 'docs/README.md').read_text()
    linked = {path for path, _ in LINK.findall(index)}
    pages = {file.relative_to(ROOT / 'docs') for folder in ('.', 'adr') for file in (ROOT / 'docs' / folder).glob('*.md')}
    assert {str(page) for page in pages} - {'README.md'} <= linked
    for folder in ('lake', 'tools'):
        linked = {path for path, _ in LINK.findall((ROOT / 'docs' / folder / 'README.md').read_text())}
        assert {file.name for file in (ROOT / 'docs' / folder).glob('*.md')} - {'README.md'} <= linked, folder


@pytest.mark.parametrize('document', DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_setting_that_is_named_exists(document):
    known = {name for page in ('configuration', 'tool-configuration') for name in
             re.findall(r'\b(?:LAKEPROXY|SCP)_[A-Z0-9_]+', (ROOT / f'docs/{page}.md').read_text())} | {'LAKEPROXY_FAULT_AT'}  # of builds for tests
    named = set(re.findall(r'\b((?:LAKEPROXY|SCP)_[A-Z0-9_]*[A-Z0-9])\b(?!_)', document.read_text()))
    # A secret may stand in a file that a name with _FILE gives.
    assert not {name for name in named if name not in known and name.removesuffix('_FILE') not in known and
                not any(other.startswith(name + '_') for other in known)}


# The rows of two lists of OWASP, against docs/assurance.md

MCP_TOP_10 = ('Token Mismanagement & Secret Exposure', 'Privilege Escalation via Scope Creep', 'Tool Poisoning',
              'Software Supply Chain Attacks & Dependency Tampering', 'Command Injection & Execution', 'Intent Flow Subversion',
              'Insufficient Authentication & Authorization', 'Lack of Audit and Telemetry', 'Shadow MCP Servers', 'Context Injection & Over-Sharing')
AGENTIC_TOP_10 = ('Agent Goal Hijack', 'Tool Misuse and Exploitation', 'Identity and Privilege Abuse', 'Agentic Supply Chain Vulnerabilities',
                  'Unexpected Code Execution (RCE)', 'Memory & Context Poisoning', 'Insecure Inter-Agent Communication', 'Cascading Failures',
                  'Human-Agent Trust Exploitation', 'Rogue Agents')
ASSURANCE = ROOT / 'docs/assurance.md'
ROWS = [[cell.strip() for cell in line.strip('|').split('|')] for line in ASSURANCE.read_text().splitlines() if re.match(r'\| (MCP|ASI)\d', line)]


def test_each_row_of_the_lists_is_there_by_its_name():
    assert [row[0] for row in ROWS] == [*(f'MCP{number:02}:2025 {name}' for number, name in enumerate(MCP_TOP_10, 1)),
                                        *(f'ASI{number:02} {name}' for number, name in enumerate(AGENTIC_TOP_10, 1))]


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row[0].split()[0])
def test_each_row_names_its_tests_or_says_what_is_left(row):
    _, state, proof, left = row
    assert state == 'yes' or (state in ('part', 'no') and len(left) > 5), row[0]
    named = {name: (ASSURANCE.parent / path).read_text() for names, path in NAMED.findall(proof) for name in re.findall(r'`(\w+)`', names)}
    assert named and set(re.findall(r'`(test_\w+)`', proof)) <= set(named)
    absent = [name for name, source in named.items() if not re.search(rf'^(?:async )?def {name}\(|^TEST(?:_F|_P)?\(\w+, {name}\)', source, re.MULTILINE)]
    assert not absent


# What the files of db/ leave in a lake's database, against the lists of docs/operations.md

DEFINITION = re.compile(r"""(CREATE|DROP)\s+(?:OR\s+REPLACE\s+)?(?:CONSTRAINT\s+)?(FUNCTION|TRIGGER|TABLE)\s+
                            (?:IF\s+(?:NOT\s+)?EXISTS\s+)?(\w+)([^;]*);|
                            ALTER\s+TABLE\s+(\w+)\s+RENAME\s+TO\s+(\w+)\s*;""", re.VERBOSE | re.IGNORECASE)
FIRING = re.compile(r"""\s*(BEFORE|AFTER)\s+((?:INSERT|UPDATE|DELETE|TRUNCATE|\s+OR\s+)+)\s+ON\s+(\w+)\s(.*)
                        FOR\s+EACH\s+(ROW|STATEMENT)\s.*EXECUTE\s+FUNCTION\s+(\w+)\s*\(""", re.VERBOSE | re.IGNORECASE | re.DOTALL)
NOT_READ = re.compile(r'\b(ALTER|CREATE|DROP)\s+(OR\s+REPLACE\s+)?((FUNCTION|TRIGGER)\b(?!\s+(IF\s+EXISTS\s+)?lakeproxy_)|'
                      r'AGGREGATE|EVENT|PROCEDURE|ROUTINE|RULE)|\bALTER\s+(FUNCTION|TRIGGER)\b|\bDROP\b[^;]*\bCASCADE\b', re.IGNORECASE)


def left_by(texts):
    """The functions, and the triggers as {(name, table): (when it fires, function)}, in the words of the document."""
    functions, triggers = set(), {}
    for text in texts:
        text = re.sub(r'--[^\n]*', '', re.sub(r'\$\$.*?\$\$', '', text, flags=re.DOTALL))
        assert not NOT_READ.search(text), f'a statement that this test does not follow: {NOT_READ.search(text)[0]}'
        for verb, kind, name, rest, renamed, new_name in DEFINITION.findall(text):
            if renamed:
                triggers = {(of, new_name if on == renamed else on): what for (of, on), what in triggers.items()}
            elif kind.upper() == 'TRIGGER' and verb.upper() == 'CREATE':
                time, events, table, more, level, function = FIRING.match(rest).groups()
                words = [' '.join(f'{time} {events}'.lower().split()), level.lower(), *(['at commit'] if 'DEFERRED' in more.upper() else [])]
                triggers[name, table] = (', '.join(words), function)
            elif kind.upper() == 'TRIGGER':
                del triggers[name, re.search(r'ON\s+(\w+)', rest)[1]]
            elif kind.upper() == 'FUNCTION':
                (functions.add if verb.upper() == 'CREATE' else functions.remove)(name)
            elif verb.upper() == 'DROP':
                triggers = {(of, on): what for (of, on), what in triggers.items() if on != name}
    return functions, triggers


def listed_in(section):
    """The same, as the tables of the document have it."""
    functions, triggers = [], {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if not cells[0].startswith('`lakeproxy_'):
            continue
        names = re.findall(r'`(\w+)`', cells[0])
        if len(cells) == 4:
            functions += names
        else:
            functions.append(names[-1])
            triggers |= {(names[0], table): (cells[2], names[-1]) for table in re.findall(r'`(\w+)`', cells[1])}
    assert len(functions) == len(set(functions)), 'a function is listed twice'
    return set(functions), triggers


SCHEMA = sorted((ROOT / 'db').glob('*.sql'))
MIGRATIONS = sorted((ROOT / 'db/migrations').glob('*.sql'))
PAGE = (ROOT / 'docs/operations.md').read_text()
SECTION = re.search(r'^## Triggers and functions[^\n]*\n(.*?)^## ', PAGE, re.MULTILINE | re.DOTALL)[1]


def test_triggers_and_functions_are_those_of_the_schema():
    functions, triggers = left_by(file.read_text() for file in SCHEMA + MIGRATIONS)
    assert triggers and functions >= {function for _, function in triggers.values()}
    listed, listed_triggers = listed_in(SECTION)
    assert listed_triggers == triggers
    assert listed == functions


@pytest.mark.parametrize('file', SCHEMA, ids=lambda file: file.name)
def test_each_file_of_the_schema_has_its_heading(file):
    """But for what a later migration made, which is under the heading that it belongs to."""
    theme = file.stem.split('_', 1)[1]
    heading = re.search(rf'^### {theme.capitalize()}:[^\n]*\n(.*?)(?=^### |\Z)', SECTION, re.MULTILINE | re.DOTALL)
    functions, triggers = left_by([file.read_text()])
    listed, listed_triggers = listed_in(heading[1]) if heading else (set(), {})
    assert listed >= functions and listed_triggers.items() >= triggers.items()


def test_the_schema_has_each_function_once():
    made = re.findall(r'^CREATE (?:OR REPLACE )?FUNCTION (\w+)', ''.join(file.read_text() for file in SCHEMA), re.MULTILINE)
    assert sorted(made) == sorted(set(made))


def test_definitions_that_go_are_not_counted():
    made = 'CREATE FUNCTION lakeproxy_f(a text) RETURNS trigger AS $$ DROP FUNCTION lakeproxy_g(); $$; -- CREATE FUNCTION lakeproxy_h()\n' \
           'CREATE CONSTRAINT TRIGGER lakeproxy_t AFTER INSERT OR UPDATE ON a DEFERRABLE INITIALLY DEFERRED FOR EACH ROW ' \
           'WHEN (NEW.b) EXECUTE FUNCTION lakeproxy_f();'
    assert left_by([made]) == ({'lakeproxy_f'}, {('lakeproxy_t', 'a'): ('after insert or update, row, at commit', 'lakeproxy_f')})
    assert left_by([made, 'ALTER TABLE a RENAME TO b;'])[1].keys() == {('lakeproxy_t', 'b')}
    for gone in ('DROP TRIGGER lakeproxy_t ON a;', 'DROP TABLE a;'):
        assert left_by([made, gone]) == ({'lakeproxy_f'}, {})
    assert left_by([made, 'DROP TRIGGER lakeproxy_t ON a; DROP FUNCTION IF EXISTS lakeproxy_f(text);']) == (set(), {})
    for other in ('ALTER FUNCTION lakeproxy_f RENAME TO g;', 'DROP FUNCTION lakeproxy_f CASCADE;', 'CREATE RULE r AS ON a DO NOTHING;'):
        with pytest.raises(AssertionError):
            left_by([made, other])


@pytest.mark.parametrize('title, most', (('LoadTable', 12), ('A commit that appends', 45)))
def test_a_request_can_be_followed_through_few_files(title, most):
    """That they exist the links' test says."""
    text = (ROOT / 'docs/life-of-a-request.md').read_text()
    listed = re.findall(r'^\d+\. \[(\S+)\]', text.split(f'**{title}**')[1].split('\n\n')[0], re.MULTILINE)
    assert 0 < len(set(listed)) == len(listed) <= most
