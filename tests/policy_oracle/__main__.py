"""Runs random histories of governance until the time is up or one differs; ./dev oracle --governance starts it."""
import argparse
import math
import os
import random
import sys
import time

from lake_clients.lake import Lake
from oracle.shrink import SECONDS, shortest
from policy_oracle import clients, history, steps
from policy_oracle.tally import Tally
from policy_oracle.world import World
from stack.stack import Stack


ENOUGH_STEPS = 1500


def parse(arguments):
    parser = argparse.ArgumentParser(prog='./dev oracle --governance')
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--seed', type=int, default=None, help='of the run; a failure prints its history')
    parser.add_argument('--first', type=int, default=0, help='the number of the first history of that seed')
    parser.add_argument('--histories', type=int, default=None, help='so many at most')
    parser.add_argument('--steps', default=None, help='one history, as a failure prints it')
    parser.add_argument('--shrink', type=float, default=SECONDS, metavar='SECONDS', help='spent on a shorter history')
    return parser.parse_args(arguments)


def explore(world, options, seed, tally):
    """The failure that was found, shrunk, or None."""
    ends = time.monotonic() + 60 * options.minutes
    last = math.inf if options.histories is None else options.first + options.histories
    number = options.first
    while time.monotonic() < ends and number < last:
        schema = f'policies_{number}'
        taken = steps.read(options.steps) if options.steps else steps.steps_of(seed, number)
        failure = history.run(world, schema, taken, tally)
        if failure:
            print(f'history {number} of seed {seed} differs; looking for a shorter one\n{failure}', flush=True)
            return shortest(failure, lambda part: history.run(world, schema, part, Tally()), options.shrink)
        if options.steps:
            return None
        number += 1
    return None


def main():
    options = parse(sys.argv[1:])
    seed = random.getrandbits(32) if options.seed is None else options.seed
    print(f'seed {seed}', flush=True)
    tally = Tally()
    with clients.servers(Stack.load(os.environ.get('LAKE_STACK', 'oracle'))) as servers:
        world = World(Lake.from_environment(), Stack.load(os.environ.get('LAKE_STACK', 'oracle')), servers)
        failure = explore(world, options, seed, tally)
    if failure:
        print(f'\n== the shortest history that was found\n{failure}')
    faults = tally.faults() if tally.steps >= ENOUGH_STEPS else []
    print('\n'.join([*faults, tally.summary()]), flush=True)
    sys.exit(1 if failure or faults else 0)


if __name__ == '__main__':
    main()
