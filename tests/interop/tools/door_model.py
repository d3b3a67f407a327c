"""What must come of a call: a second reading of docs/wire-3.0.md (sections 6.4, 6.7, 13), docs/tools/access.md, connectors.md and guard.md
that shares no code with the service. All doors that agree on a wrong answer disagree with this.

A call passes one node or two: its tools' own, and before that, where it came through a bridge or a peer, the gate's."""
import base64
import dataclasses
import json
import re

from door_cases import (
    ASKED, DENIED, DISAGREED, FILES, FORM, FORM_RULES, HIDDEN, QUARANTINED, READ_MOST, ROLES, STATEMENTS, TAKEN_OUT, TOOLS, WRITTEN,
)
from jsonschema import Draft202012Validator

PATH = {'type': 'string', 'minLength': 1, 'maxLength': 1024}
COUNT = {'type': 'integer', 'minimum': 0}


def one_of(*words):
    return {'type': 'string', 'enum': list(words)}


def closed(required=(), **properties):
    return {'type': 'object', 'properties': properties, 'required': list(required), 'additionalProperties': False}


SCHEMAS = {
    'files.read': closed(['path'], path=PATH, offset=COUNT, length=COUNT, encoding=one_of('text', 'base64')),
    'files.list': closed(path=PATH, recursive={'type': 'boolean'}, cursor={'type': 'string'}), 'files.stat': closed(['path'], path=PATH),
    'files.write': closed(['path', 'content'], path=PATH, content={'type': 'string'}, encoding=one_of('text', 'base64'), mode=one_of('create', 'replace')),
    'sql.query': closed(['sql'], sql={'type': 'string', 'minLength': 1, 'maxLength': 65536}, format=one_of('json', 'arrow'),
                        limit={'type': 'integer', 'minimum': 1, 'maximum': 10000},
                        params={'type': 'array', 'maxItems': 256, 'items': {'type': ['null', 'boolean', 'number', 'string'], 'maxLength': 65536}}),
    'sql.describe': closed(['table'], table={'type': 'string', 'pattern': '^[A-Za-z_][A-Za-z0-9_]{0,62}$'}), 'sql.list_tables': closed(),
    **{f'form.{one["name"]}': one['inputSchema'] for one in FORM}}
VALIDATORS = {tool: Draft202012Validator(schema) for tool, schema in SCHEMAS.items()}
TABLES = {'sales', 'plans'}
LINKS = ('notes/link.txt', 'linked/passwd.txt')  # A link that leads out, and a file behind one.


class Rules:
    """The rules in force: all, or all but one, so that a test can take one away and see that the cases notice."""

    def __init__(self, without=''):
        self.without = without

    def on(self, name):
        return name != self.without


@dataclasses.dataclass
class Expected:
    """`node` had the last word, in `stage`: `code` is that of its refusal, or empty. `status` is how the tool ended, where it ran.
    `text` and `rows` are what it answers, where the model knows."""
    stage: str
    code: str = ''
    status: str = ''
    node: str = 'own'
    text: str | None = None
    rows: list | None = None

    @property
    def told(self):
        """What the caller is told, in one word."""
        return self.code or self.status


# Who may what.

def grants_of(principal):
    """(scopes, details) of each, the credential's own first."""
    return [(principal.scopes, []), *(ROLES[role] for role in principal.roles)]


def opens(scopes, verb, tool):
    space = tool.split('.')[0]
    return any(scope in (f'tool:{one}:{tool}', f'tool:{one}:{space}.*') for one in ({'invoke'} if verb == 'invoke' else {'invoke', 'describe'}) for scope in scopes)


def detail_sets(principal, tool, rules=Rules()):
    """Of each set one must be fulfilled. The roles' grants of one tool are alternatives; where one has no detail, the tool is free."""
    sets = [[one['args'] for one in principal.details if one['tool'] == tool]]
    granted = [[one['args'] for one in details if one['tool'] == tool] for scopes, details in grants_of(principal) if opens(scopes, 'invoke', tool)]
    if granted and all(granted) and rules.on('roles'):
        sets.append([args for one in granted for args in one])
    return [one for one in sets if one]


# What details and the operator's rules ask of arguments.

def is_inside(path, folder):
    if not path or re.search(r'[\x00-\x1f\x7f\\]|%(2e|2f|5c|25|00)', path, re.IGNORECASE) or path.startswith('/'):
        return False
    parts = [part for part in path.split('/') if part not in ('', '.')]
    first = parts[0] if parts else ''
    wanted = [part for part in folder.split('/') if part != '.']
    return '..' not in parts and not first.startswith('~') and ':' not in first and parts[:len(wanted)] == wanted


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(one, other):
    return one == other and is_number(one) == is_number(other) and isinstance(one, bool) == isinstance(other, bool)


CHECKS = {'within': lambda value, limit: isinstance(value, str) and is_inside(value, limit), 'min': lambda value, limit: is_number(value) and value >= limit,
          'max': lambda value, limit: is_number(value) and value <= limit, 'values': lambda value, limit: any(same(one, value) for one in limit),
          'pattern': lambda value, limit: isinstance(value, str) and re.fullmatch(limit, value) is not None}


def keeps(rule, value, tool, rules, own):
    for name, limit in rule.items():
        if name == 'tables' and rules.on('tables') and not (own and reads_only(tool, value, limit)):
            return False
        if name in CHECKS and rules.on(name) and not all(CHECKS[name](one, limit) for one in (value if isinstance(value, list) else [value])):
            return False
    return True


def fulfils(asked, tool, arguments, rules, own=True):
    if asked and not arguments.keys() <= SCHEMAS[tool].get('properties', {}).keys() and rules.on('unnamed'):
        return False
    return all(keeps(rule, arguments[name], tool, rules, own) if arguments.get(name) is not None else rule.get('optional', False) or not rules.on('optional')
               for name, rule in asked.items())


def reads_only(tool, value, tables):
    """Whether a statement, or a name, reads no other tables."""
    tables = {one.lower() for one in tables}
    if tool == 'sql.describe':
        return value.lower() in tables
    reads = reads_of(value)
    return bool(reads is not None and reads is not False and set(reads) <= tables)


def reads_of(sql):
    return STATEMENTS[sql] if sql in STATEMENTS else ()


# The pipeline of one node.

def is_name(tool):
    return re.fullmatch(r'[a-z][a-z0-9_-]{0,63}\.[a-z][a-z0-9_-]{0,63}', tool) is not None


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts(one)
        if isinstance(value, dict):
            yield from value


def says(word, arguments):
    return any(word in text for text in texts(arguments))


def refusal(principal, tool, arguments, rules, node, way):
    """(stage, code) of the first stage that refuses, before the tool runs; or nothing."""
    own = node == 'own'
    scopes = [scope for scopes, _ in grants_of(principal) for scope in scopes]
    if not is_name(tool):
        return 'shape', 'E_SHAPE'
    granted = own and way in ('peer', 'bridge')  # The gate asks for it, and may; what narrows its caller was looked at there.
    hidden = not own and tool == QUARANTINED
    if tool not in TOOLS or hidden or not (granted or opens(scopes, 'describe', tool) or not rules.on('describe')):
        return 'shape', 'E_TOOL'
    if rules.on('schema') and not VALIDATORS[tool].is_valid(arguments):
        return 'shape', 'E_SHAPE'
    if own and tool == QUARANTINED and rules.on('pin'):
        return 'pin', 'E_PIN'
    if not granted and not opens(scopes, 'invoke', tool) and rules.on('scope'):
        return 'authorise', 'E_SCOPE'
    if not granted and not all(any(fulfils(asked, tool, arguments, rules, own) for asked in one) for one in detail_sets(principal, tool, rules)) and rules.on('details'):
        return 'authorise', 'E_POLICY'
    if own and tool == 'form.ruled' and rules.on('argument rules') and not fulfils(FORM_RULES, tool, arguments, Rules()):
        return 'argument_rules', 'E_POLICY'
    if own and says(DENIED, arguments) and rules.on('guard'):
        return 'rules', 'E_POLICY'
    is_asked = tool == 'files.write' or says(ASKED, arguments)
    if own and is_asked and says(DISAGREED, arguments) and rules.on('consent'):
        return 'consent', 'E_CONSENT'
    return None


def listed(principal):
    """The tools that it is shown."""
    scopes = [scope for scopes, _ in grants_of(principal) for scope in scopes]
    return {tool for tool in TOOLS if opens(scopes, 'describe', tool) and tool != QUARANTINED}


def before_a_run(principal, tool):
    """The code for a workflow of one step that is refused before anything runs: its tools and scopes are looked at, then the arguments."""
    scopes = [scope for scopes, _ in grants_of(principal) for scope in scopes]
    if not is_name(tool):
        return 'E_SHAPE'
    if tool not in listed(principal):
        return 'E_TOOL'
    return 'E_SHAPE' if opens(scopes, 'invoke', tool) else 'E_SCOPE'


def expected(principal, tool, arguments, way='here', rules=Rules()):
    """`way` is here, peer or bridge."""
    for node in (['gate'] if way in ('peer', 'bridge') else []) + ['own']:
        refused = refusal(principal, tool, arguments, rules, node, way)
        if refused:
            return Expected(*refused, node=node)
    if not VALIDATORS[tool].is_valid(arguments):  # Only without that rule.
        return done()
    return {'files': of_files, 'sql': of_sql, 'form': of_form}[tool.split('.')[0]](tool, arguments, rules)


# The tools.

def done(text=None, rows=None):
    return Expected('output_schema', status='ok', text=text, rows=rows)


def failed(text=None):
    return Expected('output_schema', status='tool_error', text=text)


def refused_by_tool(code):
    return Expected('execute', code, status=code)


def of_form(tool, arguments, rules):
    def flat(value):
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)
        if isinstance(value, (list, dict)):
            return [flat(one) for one in value] if isinstance(value, list) else {name: flat(one) for name, one in value.items()}
        return value

    return done(f'{tool.split(".")[1]} {json.dumps(flat(arguments), sort_keys=True)}')


def of_sql(tool, arguments, rules):
    if tool == QUARANTINED:  # Only without that rule.
        return done()
    if tool == 'sql.describe':
        return done() if arguments['table'].lower() in TABLES else failed()
    sql, params = arguments['sql'], arguments.get('params', [])
    reads = reads_of(sql)
    if reads is None and rules.on('one select'):
        return refused_by_tool('E_POLICY')
    if reads is False or 'nowhere' in (reads or ()) or 'nothing' in sql:
        return failed()
    if len(params) != sql.count('$1'):
        return failed()
    if total := re.fullmatch(r'SELECT (-?\d+) \+ (-?\d+) AS total', sql):
        return done(rows=[[int(total[1]) + int(total[2])]])
    if params:
        return done(rows=[[params[0].replace(TAKEN_OUT, '[redacted]')]])
    counts = {'SELECT 1 AS one': 1, 'SELECT (SELECT max(id) FROM "PLANS") AS most': 3, 'SELECT count(*) AS n FROM sales, plans': 9}
    rows = [['plans'], ['sales']] if sql == 'SHOW TABLES' else [['ada'], ['bob'], ['ada']] if 'customer' in sql else [[counts.get(sql, 3)]]
    return done(rows=rows[:int(arguments.get('limit', 10000))])


def place_of(path, of_files_alone):
    """'refused', 'missing', 'folder' or the content of the file. Refusals are of names, whatever stands there."""
    parts = path.split('/')
    # Characters that look like '/' or turn the direction, of those that the cases have.
    strange = re.search('[\x00-\x1f\x7f\\\\\u2215\u202e]|%[0-9a-fA-F]{2}', path)
    if strange or len(path) > 1024 or any(one in ('', '.') or one.startswith('.') or one.endswith(('.', ' ')) or len(one.encode()) > 255 for one in parts):
        return 'refused'
    if path in LINKS:
        return 'refused'
    folders = {'/'.join(file.split('/')[:depth]) for file in [*FILES, *WRITTEN] for depth in range(1, file.count('/') + 1)}
    if path in folders and not of_files_alone:
        return 'folder'
    if not re.search(r'.\.(txt|csv)$', parts[-1]):
        return 'refused'
    return (FILES[path],) if path in FILES else ('written',) if path in WRITTEN else 'missing'


def of_files(tool, arguments, rules):
    path = arguments.get('path')
    if tool == 'files.list':
        return of_list(path, arguments)
    place = place_of(path, of_files_alone=tool != 'files.stat')
    if place == 'refused' and rules.on('paths'):
        return refused_by_tool('E_POLICY')
    if tool == 'files.write':
        if arguments.get('mode', 'create') == 'create' and path in WRITTEN:
            return failed()
        return done(f'replaced {path} ({len(arguments["content"].encode())} bytes)') if path in WRITTEN else failed()
    if place in ('missing', 'refused'):
        return failed()
    if tool == 'files.stat':
        return done(f'{path}/' if place == 'folder' else f'{path} ({len(place[0].encode())} bytes)' if place != ('written',) else None)
    return of_read(place[0].encode(), arguments, rules)


def of_list(path, arguments):
    if path in LINKS or path is not None and place_of(f'{path}/x.txt', of_files_alone=True) == 'refused':
        return refused_by_tool('E_POLICY')
    if arguments.get('cursor') is not None:
        return Expected('execute', 'E_SHAPE', status='E_SHAPE')
    if path is not None and place_of(path, of_files_alone=False) != 'folder':
        return failed()
    return done()


def of_read(whole, arguments, rules):
    offset, as_text = int(arguments.get('offset', 0)), arguments.get('encoding', 'text') == 'text'
    if offset > len(whole):
        return failed()
    rest = whole[offset:offset + int(arguments.get('length', len(whole)))]
    if len(rest) > READ_MOST and rules.on('sizes'):
        return Expected('execute', 'E_LIMIT', status='E_LIMIT')
    if as_text:
        text = text_of(rest, offset + len(rest) >= len(whole))
        return failed() if text is None else done(text.replace(TAKEN_OUT, '[redacted]'))
    if TAKEN_OUT.encode() in rest and rules.on('output guard'):
        return Expected('output_rules', 'E_POLICY', status='E_POLICY')
    return done(base64.b64encode(rest).decode())


def text_of(part, is_end):
    """Of a range: its last character may be cut, and is then left for the next range; its first one may not."""
    begun = re.search(rb'(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})$', part)
    kept = part[:begun.start()] if begun and not is_end else part
    if part and not kept:
        return None
    try:
        return kept.decode()
    except UnicodeDecodeError:
        return None


def recorded(arguments):
    """The arguments as the trail may have them: a text with what is kept out of it goes out whole. Numbers are doubles, however long they are written."""
    def masked(value):
        if is_number(value):
            return float(value)
        if isinstance(value, str):
            return '[redacted]' if HIDDEN in value else value
        if isinstance(value, list):
            return [masked(one) for one in value]
        return {name: masked(one) for name, one in value.items()} if isinstance(value, dict) else value

    return masked(arguments)
