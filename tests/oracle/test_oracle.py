"""A fixed budget of random histories. ./dev oracle runs on; docs/oracle.md tells how to read a failure."""
import os

import pytest

from lake_clients.lake import Lake
from oracle import history, operations  # noqa: F401  registers them
from oracle.migrated import MigratedWorld
from oracle.shrink import shrink
from oracle.steps import MIGRATE, steps_for
from oracle.tally import Tally
from oracle.world import World
from stack.stack import Stack

SEEDS = range(1, 4)
SEEDS_OF_1_1 = (4,)  # in lakes that are migrated on the way
HISTORIES = 3  # of each seed; all together take about two minutes on an idle machine
CHANCES = 20  # for an operation that chance left out


@pytest.fixture(scope='module')
def lake():
    return Lake.of(Stack.load(os.environ.get('LAKE_STACK', 'test')).variables())


@pytest.fixture(scope='module')
def world(lake):
    return World(lake)


@pytest.fixture(scope='module')
def tally():
    return Tally()


def run(world, tally, schema, steps, name):
    failure = history.run(world, schema, steps, tally)
    if failure:
        pytest.fail(f'{name}\n{shrink(world, failure, schema)}', pytrace=False)


def run_all(world, tally, seed):
    for number in range(HISTORIES):
        run(world, tally, f'oracle_{seed}_{number}', world.steps_of(seed, number), f'history {number} of seed {seed}')


@pytest.mark.parametrize('seed', SEEDS)
def test_both_access_paths_show_the_same(world, tally, seed):
    run_all(world, tally, seed)


@pytest.mark.parametrize('seed', SEEDS_OF_1_1)
def test_they_do_when_the_lake_becomes_one_of_1_1(lake, tally, seed):
    run_all(MigratedWorld(lake), tally, seed)
    assert tally.done[MIGRATE] == HISTORIES


def test_every_offered_operation_was_done(world, tally):
    """What was never done is not shown by the histories above."""
    for name in tally.never_done():
        for seed in range(CHANCES):
            if not tally.done[name]:
                run(world, tally, 'oracle_chance', steps_for(name, seed), f'{name} with seed {seed}')
    print(tally.summary())
    assert not tally.faults()
