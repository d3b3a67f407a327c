"""A fixed budget of random histories of governance. ./dev oracle --governance runs on; docs/oracle.md tells how to read a failure."""
import os

import pytest

from lake_clients.lake import Lake
from oracle.shrink import shortest
from oracle.steps import Difference, Step
from policy_oracle import access_paths, clients, history
from policy_oracle.checks import Checker
from policy_oracle.rules import Attachment, Mask
from policy_oracle.steps import steps_of
from policy_oracle.tally import Tally
from policy_oracle.world import World
from stack.stack import Stack

SEEDS = (1, 2, 3)
LONGEST = 36  # Steps of a history, after those that begin each; all together take about a minute.
SHRINK_SECONDS = 60


@pytest.fixture(scope='module')
def world():
    stack = Stack.load(os.environ.get('LAKE_STACK', 'test'))
    with clients.servers(stack) as servers:
        yield World(Lake.of(stack.variables()), stack, servers)


@pytest.fixture(scope='module')
def tally():
    return Tally()


@pytest.mark.parametrize('seed', SEEDS)
def test_the_catalog_says_what_the_rules_say(world, tally, seed):
    schema = f'policies_{seed}'
    failure = history.run(world, schema, steps_of(seed, 0, LONGEST), tally)
    if failure:
        found = shortest(failure, lambda steps: history.run(world, schema, steps, Tally()), SHRINK_SECONDS)
        pytest.fail(f'seed {seed}\n{found}', pytrace=False)


def test_every_kind_of_read_was_seen(tally):
    """What was never asked is not shown by the histories above."""
    print(tally.summary())
    assert all(tally.loads[kind] for kind in ('raw', 'cooperative', 'file_mask'))
    assert tally.probes and tally.views and tally.effective


# Faults that are put in: each is found by the checks that follow a step.

@pytest.fixture
def masked(world):
    """A world in which one table has a mask in its files, and its Checker."""
    begin(world)
    yield world
    world.end()


def begin(world):
    steps = [Step('duck.create', 1), Step('duck.insert', 7), Step('duck.insert', 8)]
    assert history.run(world, 'policies_mutated', steps, Tally(), end=False) is None
    table = world.rules.live[0]
    body = {'name': 'm1', 'signature': '(v VARCHAR)', 'body': "'***'", 'unmasked-roles': ['owner'], 'file-layer-masking': True}
    assert world.govern('POST', 'masking-policies', body) == 200
    column = table.column('region')
    place = {'target-kind': 'column', 'schema': table.schema, 'object': table.name, 'column': 'region'}
    assert world.govern('POST', 'policy-attachments', {'policy-kind': 'masking', 'policy-name': 'm1', **place}) == 200
    world.rules.masks['m1'] = Mask('m1', 'VARCHAR', "'***'", frozenset({'owner'}), True)
    world.rules.attachments.append(Attachment('m1', column))


FAULTS = {
    'an attachment that is lost': 'DELETE FROM lakeproxy_policy_attachment',
    'a body that is another one': "UPDATE lakeproxy_masking_policy SET compiled = replace(compiled::text, '***', '+++')::jsonb",
    'a role that lifts it': "INSERT INTO lakeproxy_role_grant (role, principal) VALUES ('owner', 'bob')",
    'a mask that is not in the files': 'UPDATE lakeproxy_masking_policy SET file_layer_masking = false',
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_is_found(masked, fault):
    checker, table, source = Checker(masked, Tally()), masked.rules.live[0], Step('check', 5).random('check')
    checker.effective(table, 'bob', source)
    checker.load(table, 'bob', source)
    masked.stack.postgres.query('lake', FAULTS[fault])
    with pytest.raises(Difference):
        checker.effective(table, 'bob', source)
        checker.load(table, 'bob', source)


def test_a_grant_that_is_lost_is_found(world):
    """By what a login is shown, which nothing else asks."""
    steps = [Step('duck.create', 1), Step('duck.create', 2), Step('view.create', 3)]
    assert history.run(world, 'policies_granted', steps, Tally(), end=False) is None
    first, second = world.rules.live
    grant = {'object-kind': 'table', 'schema': first.schema, 'object': first.name, 'privilege': 'select', 'role': 'analyst'}
    assert world.govern('POST', 'object-grants', grant) == 200
    world.rules.object_grants.add((first, 'select', 'analyst'))
    for table in (first, second):
        for who in ('ana', 'bob', 'admin'):
            access_paths.login(world, table, who, 'raw')
    world.stack.postgres.query('lake', 'DELETE FROM lakeproxy_object_grant')
    with pytest.raises(Difference, match='what a login sees'):
        access_paths.login(world, second, 'bob', 'raw')
    world.end()
