"""Runs random histories until the time is up or one fails; ./dev oracle starts it."""
import argparse
import random
import sys
import time

from lake_clients.lake import Lake
from oracle import history, operations  # noqa: F401  registers them
from oracle.shrink import shrink
from oracle.steps import steps_of
from oracle.tally import Tally
from oracle.world import World


ENOUGH_STEPS = 1500


def parse(arguments):
    parser = argparse.ArgumentParser(prog='./dev oracle')
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--seed', type=int, default=None, help='of the run; a failure prints its history')
    parser.add_argument('--first', type=int, default=0, help='the number of the first history of that seed')
    parser.add_argument('--histories', type=int, default=None, help='so many at most')
    return parser.parse_args(arguments)


def explore(world, seed, tally, ends, first=0, most=None):
    """The failure that was found, shrunk, or None."""
    number = first
    while time.monotonic() < ends and (most is None or number < first + most):
        schema = f'oracle_{number}'
        failure = history.run(world, schema, steps_of(seed, number), tally)
        if failure:
            print(f'history {number} of seed {seed} fails; looking for a shorter one', flush=True)
            print(failure, flush=True)
            return shrink(world, failure, schema)
        number += 1
    return None


def main():
    options = parse(sys.argv[1:])
    seed = random.getrandbits(32) if options.seed is None else options.seed
    print(f'seed {seed}', flush=True)
    tally = Tally()
    ends = time.monotonic() + 60 * options.minutes
    failure = explore(World(Lake.from_environment()), seed, tally, ends, options.first, options.histories)
    if failure:
        print(f'\n== the shortest history that was found\n{failure}')
    # A short run may well miss an operation; one that goes on for long may not.
    faults = tally.faults() if tally.steps >= ENOUGH_STEPS else []
    print('\n'.join([*faults, tally.summary()]))
    sys.exit(1 if failure or faults else 0)


if __name__ == '__main__':
    main()
