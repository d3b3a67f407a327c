"""The same call by the same caller, at nine doors: natively by the clients in Python, C++ and TypeScript, over MCP (two revisions of HTTP, and
stdio), as the step of a workflow, through a peer and through a bridge. Each gives the decision that the model gives, says the same to the caller and leaves
the same record. docs/assurance.md, "The same at every door".

DOORS_ROUNDS=N makes N times as many cases, each round of another seed and on services of its own; DOORS_SEED begins with another."""
import collections
import contextlib
import os

import pytest
from door_cases import QUARANTINED, TOOLS, principals
from door_model import Rules, before_a_run, detail_sets, expected, is_name, listed, recorded
from door_records import Call, Trails, allowed_to_differ, in_own_words, is_bound_over_mcp, opens, without_times
from door_world import DOORS, GATE, OWN, Issuer, World, named
from doors import through
from scp.canonical import canonical
from test_guard import reload

SEED = int(os.environ.get('DOORS_SEED', 20261127))
ROUNDS = int(os.environ.get('DOORS_ROUNDS', 1))
DEFAULT = 'DOORS_SEED' not in os.environ and ROUNDS == 1  # whose cases are known to have something of each rule
CALLS = 20  # of a principal: as many as may be refused early and yet have a line each (section 16.5)
PEOPLE = {'simple': (90, ['key', 'key', 'token', 'token', 'bound']), 'enterprise': (50, ['role']), 'encrypted': (20, ['key', 'token', 'bound'])}
# What mode encrypted promises of each message MCP has no place for, so it is off there.
NATIVE = ['python', 'cpp', 'typescript', 'workflow', 'peer']
# What the model may forget, and the cases must notice.
RULES = ['scope', 'describe', 'details', 'within', 'pattern', 'min', 'max', 'values', 'tables', 'optional', 'unnamed', 'schema', 'pin', 'argument rules', 'guard', 'consent',
         'one select', 'paths', 'sizes', 'output guard']


class Found:
    """What was told and recorded of the calls of `people` at `doors`."""

    def __init__(self, mode, world, people, came):
        self.mode, self.people, self.doors = mode, people, list(came)
        self.told, self.listed, self.large = ({door: one[at] for door, one in came.items()} for at in (0, 1, 2))
        self.trails = Trails(world)
        self.last = {(door, person.name): self.trails.of(door, person, self.told[door][person.name]) for door in self.doors for person in people if opens(person, door)}

    def cases(self, door='python'):
        """(principal, number, tool, arguments) of each."""
        return ((person, number, *call) for person in self.people if opens(person, door) for number, call in enumerate(person.calls))


@contextlib.contextmanager
def running(folder, mode, authority, people):
    issuer = Issuer(folder / 'provider', authority) if mode == 'enterprise' else None
    world = World(folder / 'world', mode, authority, people, issuer)
    try:
        yield world.start()
    finally:
        world.stop()
        if issuer:
            issuer.stop()


@pytest.fixture(scope='module', params=[(mode, number) for number in range(ROUNDS) for mode in PEOPLE], ids=lambda value: f'{value[0]}-{value[1]}')
def found(request, tmp_path_factory, authority):
    mode, number = request.param
    count, kinds = PEOPLE[mode]
    people = principals(f'{SEED}-{mode}-{number}', count, CALLS, kinds)
    with running(tmp_path_factory.mktemp(f'doors-{mode}'), mode, authority, people) as world:
        came = through(world, people, NATIVE if mode == 'encrypted' else DOORS)
    return Found(mode, world, people, came)


def call_of(person, tool):
    has_tables = any('tables' in rule for one in detail_sets(person, tool) for asked in one for rule in asked.values())
    return Call(tool, not is_name(tool), has_tables, tool == QUARANTINED)


def unlike_the_model(found, rules=Rules(), doors=None):
    """Each (door, principal, call, what the model says, what came) in which a door is not as the model has it."""
    for door in doors or found.doors:
        way = DOORS[door][1]
        for person, number, tool, arguments in found.cases(door):
            told, last = found.told[door][person.name][number], found.last[door, person.name][number]
            wanted = expected(person, tool, arguments, way, rules)
            if last is None:  # A workflow is looked through before it begins, with its tools and scopes; MCP has no call without a name.
                if told.word != before_a_run(person, tool) or not wanted.code or not (door == 'workflow' or tool == ''):
                    yield door, person, tool, arguments, wanted, told
                continue
            record = found.trails.record(door, last)
            came = record['stage'], record['code'], record['status']
            if came != (wanted.stage, wanted.code, wanted.status) or last[0] != at_node(wanted) or not says(told, wanted):
                yield door, person, tool, arguments, wanted, (came, told)
            elif record['args'] is not None and recorded(arguments) != recorded(record['args']):
                yield door, person, tool, arguments, recorded(arguments), record['args']


def at_node(wanted):
    return GATE if wanted.node == 'gate' else OWN


def says(told, wanted):
    """Whether what is told is what the tool answers, as far as the model knows it."""
    if told.word != 'ok':
        return True
    return wanted.text in (None, told.content[0][1]) and wanted.rows in (None, (told.structured or {}).get('rows'))


def test_every_door_decides_as_the_model_says(found):
    wrong = list(unlike_the_model(found))
    assert not wrong, '\n'.join(f'{len(wrong)} differ' if not number else f'{one[0]} {one[1].name} {one[2]} {one[3]}: {one[4]} and not {one[5]}; {one[1].scopes} {one[1].details}'
                                for number, one in enumerate([None, *wrong[:10]]))
    decided = collections.Counter(expected(person, tool, arguments).told for person, _, tool, arguments in found.cases())
    print(f'{sum(decided.values())} cases of mode {found.mode} at {len(found.doors)} doors:', dict(decided.most_common()))
    assert {'ok', 'tool_error', 'E_SHAPE', 'E_TOOL', 'E_SCOPE', 'E_POLICY', 'E_PIN', 'E_CONSENT', 'E_LIMIT'} <= set(decided)


def test_every_door_says_and_records_the_same(found):
    wrong = []
    for person, number, tool, arguments in found.cases():
        call = call_of(person, tool)
        first = in_one(found, 'python', person, number)
        for door in found.doors:
            way = DOORS[door][1]
            other = in_one(found, door, person, number) if opens(person, door) else None
            if other is None:
                continue
            free = allowed_to_differ(door, expected(person, tool, arguments, way), call)
            unlike = {field: (first[field], other[field]) for field in first.keys() - free if first[field] != other[field]}
            if unlike:
                wrong.append((door, person.name, tool, arguments, unlike))
    assert not wrong, f'{len(wrong)} differ\n' + '\n'.join(map(str, wrong[:10]))


def test_the_digests_in_the_trail_tell_arguments_apart(found):
    """Equal ones are equal arguments, and others are others: so the comparison of digests means something."""
    pairs = set()
    for person, number, _, arguments in found.cases():
        if digest := in_one(found, 'python', person, number)['args_mac']:
            pairs.add((digest, canonical(arguments)))
    assert len(pairs) == len({one for one, _ in pairs}) == len({one for _, one in pairs}) > 50


def in_one(found, door, person, number):
    """All that is compared of one call at one door; None where there was no call."""
    told, last = found.told[door][person.name][number], found.last[door, person.name][number]
    if last is None:
        return None
    return {**found.trails.record(door, last), 'told': told.word, 'message': in_own_words(told.message, door), 'content': told.content, 'structured': without_times(told.structured)}


def test_a_credential_with_a_flaw_opens_no_door(found):
    wanted = collections.Counter()
    for person in found.people:
        for door in found.doors:
            node = DOORS[door][0]
            told = found.told[door][person.name][0]
            is_refused = bool(person.flaw) or is_bound_over_mcp(person, door)
            assert told.word.startswith('login') == is_refused, (person.name, person.kind, person.flaw, door, told)
            if is_refused:
                code = 'E_EXPIRED' if person.flaw == 'ended' else 'E_AUTH'
                wanted[node, code] += 1
                assert told.word in ('login', f'login {code}'), (person, door, told)
    for node in (OWN, GATE):
        counted = found.trails.logins_refused(node)
        assert counted == {code: count for (at, code), count in wanted.items() if at == node}, node


def test_every_door_shows_the_same_tools(found):
    for door in found.doors:
        for person in found.people:
            if opens(person, door):
                known = {named(tool, DOORS[door][1]): tool for tool in TOOLS}  # There are more of files and sql.
                assert {known[one] for one in found.listed[door][person.name] if one in known} == listed(person), (door, person.name)


def test_a_message_that_is_too_large_is_no_call(found):
    for door, told in found.large.items():
        # That it left no line was seen when the lines were counted.
        assert told is None or told.word not in ('ok', 'tool_error'), (door, told)


def test_a_rule_that_the_model_forgets_is_missed(found):
    """So there are cases of each rule, and a service without it would be found."""
    unseen = [rule for rule in RULES if not any(True for _ in unlike_the_model(found, Rules(rule), ['python']))]
    # The tools behind the rules are the same in every mode; the smaller worlds need not try each again.
    if DEFAULT:
        assert not unseen if found.mode == 'simple' else len(unseen) < len(RULES) / 2, unseen
    if found.mode == 'enterprise':
        assert any(True for _ in unlike_the_model(found, Rules('roles'), ['python']))


def test_a_service_that_forgets_a_rule_at_one_door_is_found(tmp_path, authority):
    people = principals(f'{SEED}-changed', 12, CALLS, ['token'])
    with running(tmp_path, 'simple', authority, people) as world:
        came = through(world, people, ['python'])
        rules = world.folder / 'doors.toml'
        rules.write_text(rules.read_text().replace('"deny"', '"note"'))
        reload(world.nodes[OWN])
        came |= through(world, people, ['mcp'])
    found = Found('simple', world, people, came)
    assert not list(unlike_the_model(found, doors=['python']))
    missed = list(unlike_the_model(found, doors=['mcp']))
    assert missed and {wanted.stage for *_, wanted, _ in missed} == {'rules'}, missed
