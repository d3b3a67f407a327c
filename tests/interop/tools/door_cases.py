"""Random principals and calls, for every door of the service alike. A seed makes always the same ones.

A principal is written once, in the names that the tools have at their own node; each door gives it a credential of its own,
in the names that the tools have there (door_world.py). What must come of a call is in door_model.py, and in no part here."""
import dataclasses
import random

# What the tools are, where they are, and what is asked of their arguments.
FORM = [
    {'name': 'fill', 'description': 'Takes a form.', 'inputSchema': {
        'type': 'object', 'required': ['name'], 'additionalProperties': False, '$defs': {'short': {'type': 'string', 'maxLength': 3}},
        'properties': {
            'name': {'type': 'string', 'pattern': '^[a-z][a-z ]{0,9}$'}, 'count': {'type': 'integer', 'minimum': 0, 'maximum': 9},
            'share': {'type': 'number', 'exclusiveMinimum': 0, 'exclusiveMaximum': 1}, 'kind': {'enum': ['plain', 'fancy', 3, None]},
            'tags': {'type': 'array', 'items': {'type': 'string', 'maxLength': 4}, 'maxItems': 3, 'uniqueItems': True}, 'flag': {'type': 'boolean'},
            'where': {'type': 'object', 'properties': {'x': {'type': 'integer'}, 'y': {'type': 'number', 'multipleOf': 2}}, 'required': ['x'],
                      'additionalProperties': False},
            'note': {'anyOf': [{'type': 'string', 'minLength': 2}, {'type': 'null'}]}, 'one': {'oneOf': [{'type': 'integer'}, {'minimum': 5}]},
            'word': {'$ref': '#/$defs/short'}, 'not': {'not': {'type': 'string'}}},
        'if': {'properties': {'kind': {'const': 'fancy'}}, 'required': ['kind']}, 'then': {'required': ['tags']}}},
    {'name': 'any', 'description': 'Takes whatever comes.', 'inputSchema': {'type': 'object'}},
    {'name': 'ruled', 'description': 'Takes what the operator lets it have.', 'inputSchema': {
        'type': 'object', 'properties': {'path': {'type': 'string'}, 'level': {'type': 'integer'}, 'word': {'type': 'string'}}, 'required': ['path']}}]
# The operator's rules on arguments of form.ruled, as the configuration has them.
FORM_RULES = {'path': {'within': '.'}, 'level': {'min': 1, 'max': 5, 'optional': True}, 'word': {'values': ['yes', 'no'], 'optional': True}}
TOOLS = ['files.read', 'files.list', 'files.stat', 'files.write', 'sql.query', 'sql.describe', 'sql.list_tables', 'form.fill', 'form.any', 'form.ruled']
QUARANTINED = 'sql.list_tables'
NO_TOOLS = ['files.unknown', 'none.none', 'form.fil', 'sql.query2', 'files.delet']
# No name of a tool at all: capitals, letters of other alphabets that look Latin, characters that nobody sees.
NO_NAMES = ['Bad.Tool', 'sql', '', 'f\u0456les.read', 'files.re\u200bad', 'files.read ', 'files..read', 'files.read.read', 'FILES.READ', '\uff46iles.read',
            'x.' + 'y' * 65]

FILES = {'notes/welcome.txt': 'Hello from the file tool.\n', 'notes/other.txt': 'other', 'notes/bird.txt': 'the magpie sings\n', 'notes/grüße.txt': 'grüße\n',
         'reports/a.txt': 'a', 'reports/b/c.txt': 'c', 'reports/long.txt': 'x' * 3000}
READ_MOST = 2048
WRITTEN = ['out/one.txt', 'out/two.txt']
PATHS = [*FILES, 'reports', 'reports/', './reports/a.txt', 'reports//a.txt', 'reports/./b/c.txt', 'reports/b', 'notes', 'nowhere/at.txt', 'notes/none.txt',
         '../x.txt', '/etc/passwd', 'notes/../../etc/passwd', 'reports/../notes/other.txt', '/reports/a.txt', 'Reports/a.txt', 'reportsx/a.txt',
         'reports\\..\\notes/other.txt', 'reports/%2e%2e/notes/other.txt', 'reports%2fa.txt', '~/reports/a.txt', 'file:reports/a.txt', 'reports/\u0000/a.txt',
         '\uff52eports/a.txt', 'reports\u2215a.txt', 'notes/x.key', 'notes/.hidden.txt', 'notes/link.txt', 'linked/passwd.txt', 'notes/welcome.txt.',
         'notes/other.txt ', 'none', 'notes/welcome.txt/more.txt', 'reports/\u202etxt.a', '.', '..', 'notes/' + 'x' * 300 + '.txt']
# A word of each rule of the guard, and one that the person who is asked says no to.
DENIED, ASKED, HIDDEN, TAKEN_OUT, DISAGREED = 'nightjar', 'heron', 'wren', 'magpie', 'no-thanks'
WORDS = ['', 'a', 'grüße', '日本', '\u2028', '\x7f', '"\\/', '😀', '\u0000\u001f', '__proto__', 'constructor', '\ufb33']
# Statements, and the tables that they read. None: refused, whoever asks. False: no statement that the engine understands.
STATEMENTS = {
    'SELECT 1 AS one': (), 'SELECT count(*) AS n FROM sales': ('sales',), 'SELECT customer FROM SALES ORDER BY id': ('sales',),
    'SELECT count(*) AS n FROM sales, plans': ('sales', 'plans'), 'WITH plans AS (SELECT * FROM sales) SELECT count(*) AS n FROM plans': ('sales',),
    'SELECT (SELECT max(id) FROM "PLANS") AS most': ('plans',), 'SELECT * FROM nowhere': ('nowhere',), 'SELECT nothing FROM sales': ('sales',),
    'SELECT 1; SELECT 2': None, "ATTACH 'x.db'": None, "SELECT * FROM read_csv('orders.csv')": None, "SELECT * FROM 'orders.csv'": None, 'DROP TABLE sales': None,
    "COPY sales TO 'x.csv'": None, "SELECT getenv('HOME')": None, "SET memory_limit = '1GB'": None, 'INSERT INTO sales VALUES (1, 2, 3)': None,
    'PRAGMA version': None, "SELECT * FROM read_text('/etc/passwd')": None, 'SHOW TABLES': ('all of them',), 'SELECT * FROM': False, 'SELEC 1': False}


@dataclasses.dataclass
class Principal:
    """`kind` is key, token, bound (to a key of the client's) or role (of a provider). `flaw` says why its credential opens nothing,
    and is empty where it does. `scopes` and `details` are the credential's own, beside those of `roles`."""
    name: str
    kind: str
    flaw: str
    scopes: list
    details: list
    roles: list
    calls: list


# What each role of the provider opens: (scopes, details).
ROLES = {
    'readers': (['tool:invoke:files.read', 'tool:invoke:files.list'], []),
    'reporters': (['tool:invoke:files.read', 'tool:invoke:files.stat'], [{'tool': 'files.read', 'args': {'path': {'within': 'reports'}}}]),
    'analysts': (['tool:invoke:sql.*'], [{'tool': 'sql.query', 'args': {'sql': {'tables': ['sales']}, 'params': {'values': ['a', 'b'], 'optional': True}}}]),
    'writers': (['tool:invoke:files.*'], []),
    'clerks': (['tool:invoke:form.*', 'tool:describe:sql.query'], [{'tool': 'form.fill', 'args': {'count': {'max': 5, 'optional': True}}}])}


def any_number(rng):
    return rng.choice([rng.randint(-9, 9), rng.randint(-2**53 + 1, 2**53 - 1), rng.uniform(-1, 1), rng.random() * 10.0 ** rng.randint(-300, 300),
                       float(2 ** rng.randint(53, 80)), 0.0, 1e21, 5e-324, 1.7976931348623157e308, 5.0])


def any_value(rng, depth=0):
    kind = rng.choice(['number', 'text', 'literal'] + (['list', 'object'] if depth < 3 else []))
    if kind == 'number':
        return any_number(rng)
    if kind == 'text':
        return ''.join(rng.choices(WORDS, k=3))
    if kind == 'literal':
        return rng.choice([None, True, False])
    if kind == 'list':
        return [any_value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {f'{rng.choice(WORDS)}{n}': any_value(rng, depth + 1) for n in range(rng.randint(0, 4))}


FORM_VALUES = {
    'name': ['ada', 'ada b', 'abcdefghij', 'abcdefghijk', 'Ada', '', 7, 'a\n', '\u0430da', DENIED, HIDDEN, ASKED, f'{ASKED} ok'],
    'count': [0, 9, 10, -1, 5.0, 4.5, '5', True, None, 1e300], 'share': [0.5, 0, 1, 5e-324, 1 - 2**-53, '0.5', -0.5],
    'kind': ['plain', 'fancy', 3, 3.0, None, 'PLAIN', 4], 'tags': [[], ['a'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd'], ['a', 'a'], ['abcd'], ['abcde'], [1], 'a', ['grüß']],
    'flag': [True, False, 'true', 0, None], 'where': [{'x': 1}, {'x': 1, 'y': 4}, {'x': 1, 'y': 3}, {'y': 2}, {'x': 1, 'z': 1}, {'x': 1.5}, [], {}],
    'note': ['ab', 'a', None, 7, '\U0001f600', '\U0001f600a'], 'one': [1, 5, 5.5, 4.5, 'text'], 'word': ['abc', 'abcd', '\U0001f600\U0001f600\U0001f600', ''],
    'not': [1, 'text', None, ['text']], 'other': [1], '__proto__': [1], 'constructor': ['x']}


def form_call(rng):
    tool = rng.choice(['form.fill'] * 3 + ['form.any', 'form.ruled'])
    if tool == 'form.any':
        word = rng.choice(['', '', '', DENIED, ASKED, HIDDEN, f'{ASKED} {DISAGREED}'])
        made = {f'{rng.choice(WORDS[1:])}{n}': any_value(rng) for n in range(rng.randint(0, 3))}
        return tool, {**made, **({'said': f'the {word} calls'} if word else {})}
    if tool == 'form.ruled':
        return tool, {'path': rng.choice(PATHS), **pick(rng, 0.4, level=[0, 1, 5, 6, 5.5, '3'], word=['yes', 'no', 'YES', 'maybe', DENIED], more=[1])}
    good = {'name': ['ada', 'ada b', f'{HIDDEN}s', f'a {ASKED}', DENIED, f'{ASKED}'], 'count': [0, 9, 5.0, 2, 7], 'share': [0.5], 'kind': ['plain', 3], 'tags': [['a']], 'flag': [True]}
    if rng.random() < 0.5:  # one that the schema takes, but for one value at most
        made = {'name': rng.choice(good['name'][:1] * 4 + good['name']), **pick(rng, 0.6, **{name: values for name, values in good.items() if name != 'name'})}
        return tool, {**made, **(pick(rng, 0.1, **FORM_VALUES) if rng.random() < 0.5 else {})}
    return tool, pick(rng, 0.35, **FORM_VALUES)


def pick(rng, chance, **values):
    return {name: rng.choice(ones) for name, ones in values.items() if ones and rng.random() < chance}


def files_call(rng):
    tool = rng.choice(['files.read'] * 4 + ['files.list', 'files.stat'] + ['files.write'] * 2)
    path = rng.choice(PATHS if rng.random() < 0.6 else list(FILES))
    if tool == 'files.read':
        return tool, {'path': path, **pick(rng, 0.3, length=[0, 1, 2, 3, 5, 5.0, 7, 2047, 2048, 2049, -1, 2.5, '5'], offset=[0, 1, 2, 3, 7, 3000, 3001, 4000, 1e15],
                                           encoding=['text', 'base64', 'latin1'], more=['x'] if rng.random() < 0.2 else [])} if rng.random() < 0.95 else {}
    if tool == 'files.list':
        made = pick(rng, 0.8, path=[path, 'reports', 'notes']) | pick(rng, 0.4, recursive=[True, False, 'yes'], cursor=['!', ''] if rng.random() < 0.2 else [])
        # All that is below the root has the sizes of files that other calls write.
        return tool, {'path': 'reports', **made} if made.get('recursive') is True else made
    if tool == 'files.stat':
        return tool, {'path': path}
    content = ''.join(rng.choices(WORDS[1:8], k=3)) + rng.choice(['', '', f' {DISAGREED}', f' {DISAGREED}', f' {DENIED}', f' {HIDDEN}', f' {ASKED}'])
    # Nowhere where it would change what another call finds.
    return tool, {'path': rng.choice([*WRITTEN * 4, '../x.txt', '/etc/passwd', 'notes/x.key', 'notes/.hidden.txt', 'nowhere/at.txt', 'reports']), 'content': content, **pick(rng, 0.9, mode=['replace', 'replace', 'replace', 'append'])}


def sql_call(rng):
    tool = rng.choice(['sql.query'] * 7 + ['sql.describe', 'sql.list_tables'])
    if tool == 'sql.describe':
        return tool, {'table': rng.choice(['sales', 'SALES', 'plans', 'nowhere', 'sales; DROP', 's\u0430les', '', 7])}
    if tool == 'sql.list_tables':
        return tool, rng.choice([{}, {}, {'x': 1}])
    kind = rng.random()
    if kind < 0.15:
        a, b = rng.randint(-99, 99), rng.randint(-99, 99)
        return tool, {'sql': f'SELECT {a} + {b} AS total'}
    if kind < 0.35:
        text = ''.join(rng.choices(WORDS[:8], k=3)) + rng.choice(['', '', DENIED, ASKED, HIDDEN, TAKEN_OUT])
        return tool, {'sql': 'SELECT $1::VARCHAR AS t', 'params': rng.choice([[text], [text], ['a'], ['c'], [], [text, 1], [{}], text])}
    if kind < 0.45:
        return tool, rng.choice([{'sql': any_number(rng)}, {'statement': 'SELECT 1'}, {'sql': ''}, {'sql': 'SELECT 1', 'limit': 0}, {'sql': 'SELECT 1', 'limit': 10001},
                                 {'sql': 'SELECT 1', 'format': 'xml'}, {'sql': 'SELECT 1', 'limit': 1.5}, {'sql': 'SELECT 1 --' + 'x' * 66000}])
    return tool, {'sql': rng.choice(list(STATEMENTS)), **pick(rng, 0.4, limit=[1, 10000, 2.0, 100])}


def any_call(rng):
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(NO_TOOLS), {'x': any_value(rng)}
    if kind < 0.09:
        return rng.choice(NO_NAMES), {'x': rng.choice([1, 'y'])}
    tool, arguments = rng.choice([files_call, files_call, sql_call, form_call])(rng)
    # A refusal names the first member that breaks a rule, and not every client keeps their order.
    return tool, dict(sorted(arguments.items()))


def any_rule(rng, name):
    rules = {'path': [{'within': rng.choice(['reports', '.', 'reports/b', 'notes'])}, {'values': rng.sample(PATHS, 3)}, {'pattern': rng.choice(['[a-z/.]+', 'reports/.*', '.*txt'])}],
             'length': [{'min': rng.choice([0, 2])}, {'max': rng.choice([1, 5, 5.5])}, {'values': rng.sample([0, 1, 5, 7], 2)}], 'encoding': [{'values': ['text']}],
             'recursive': [{'values': [False]}], 'nothing': [{'min': 1}], 'sql': [{'tables': rng.choice([['sales'], ['Sales', 'plans'], ['plans']])}, {'pattern': 'SELECT [0-9 +a-z-]+'}],
             'name': [{'pattern': '[a-z]+'}, {'values': ['ada', 'ada b']}], 'count': [{'min': 1, 'max': 5}, {'max': 8}, {'min': 3}, {'values': [0, 9]}], 'tags': [{'pattern': '[a-c]'}, {'values': ['a', 'b']}],
             'table': [{'tables': ['sales']}], 'limit': [{'max': 100}, {'min': 2}], 'said': [{'pattern': 'the .* calls'}]}[name]
    made = {}
    for one in rng.sample(rules, rng.choice([1, 1, 2]) if len(rules) > 1 else 1):
        made |= one
    if made.get('min', 0) > made.get('max', 1e9):
        del made['min']  # No rule: it would refuse the credential.
    return {**made, **({'optional': True} if rng.random() < 0.6 else {})}


RULED = {'files.read': ['path', 'length', 'encoding', 'nothing'], 'files.list': ['path', 'recursive'], 'files.write': ['path'], 'sql.query': ['sql', 'limit'], 'sql.describe': ['table'],
         'form.fill': ['count', 'name', 'tags'], 'form.any': ['said'], 'form.ruled': ['path']}


def any_details(rng):
    return [{'tool': tool, 'args': {name: any_rule(rng, name) for name in RULED[tool] if rng.random() < (0.7 if name == RULED[tool][0] else 0.4)}}
            for tool in rng.choices(list(RULED), k=rng.choice([0, 1, 3, 6, 8]))]


def any_scopes(rng):
    made = [f'tool:invoke:{space}.*' for space in ('files', 'sql', 'form') if rng.random() < 0.75]
    made += [f'tool:{rng.choice(["invoke", "invoke", "describe"])}:{tool}' for tool in rng.sample(TOOLS, 3)]
    return made + ([f'tool:describe:{rng.choice(["files", "sql", "form"])}.*'] if rng.random() < 0.4 else [])


FLAWS = {'key': ['ended', 'unknown', 'another secret'], 'token': ['ended', 'denied', 'another audience', 'another secret', 'details'], 'bound': ['another holder', 'ended'],
         'role': ['ended', 'another audience', 'details', 'another secret']}


def principals(seed, count, calls, kinds):
    """`kinds` are those that the mode of the world has. One in twelve has a credential with a flaw."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        kind = rng.choice(kinds)
        flaw = rng.choice(FLAWS[kind]) if rng.random() < 1 / 12 else ''
        roles = rng.sample(list(ROLES), rng.choice([1, 2, 2, 3])) if kind == 'role' else []
        own = [] if kind == 'role' and rng.random() < 0.6 else any_scopes(rng)
        made.append(Principal(f'p{number}', kind, flaw, own, any_details(rng) if kind != 'role' or rng.random() < 0.4 else [], roles,
                              [any_call(rng) for _ in range(calls)] if not flaw else [('files.stat', {'path': 'notes'})]))
    return made
