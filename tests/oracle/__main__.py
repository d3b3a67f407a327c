"""Runs random histories until the time is up or one fails; ./dev oracle starts it."""
import argparse
import math
import os
import random
import sys
import time

from lake_clients.lake import Lake
from oracle import history, operations, spark_sample  # noqa: F401  registers them
from oracle.migrated import MigratedWorld
from oracle.shrink import SECONDS, shrink
from oracle.tally import Tally
from oracle.world import World


ENOUGH_STEPS = 1500
WORLDS = {'1.0': (World,), '1.1': (MigratedWorld,), 'both': (World, MigratedWorld)}


def parse(arguments):
    parser = argparse.ArgumentParser(prog='./dev oracle')
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--seed', type=int, default=None, help='of the run; a failure prints its history')
    parser.add_argument('--first', type=int, default=0, help='the number of the first history of that seed')
    parser.add_argument('--histories', type=int, default=None, help='so many at most')
    parser.add_argument('--shrink', type=float, default=SECONDS, metavar='SECONDS', help='spent on a shorter history')
    parser.add_argument('--lakes', choices=WORLDS, default='both',
                        help='1.0: the lake stays one; 1.1: each history migrates a lake of its own; both: in turn')
    parser.add_argument('--spark', type=float, default=0, metavar='SHARE',
                        help='of the histories on a lake of 1.0 whose end Spark reads, too; 0.1 is every tenth')
    return parser.parse_args(arguments)


def explore(worlds, options, seed, tally):
    """The failure that was found, shrunk, or None."""
    number = options.first
    ends = time.monotonic() + 60 * options.minutes
    last = math.inf if options.histories is None else options.first + options.histories
    spark = spark_sample.Sample(options.spark) if options.spark else None
    while time.monotonic() < ends and number < last:
        schema = f'oracle_{number}'
        world = worlds[number % len(worlds)]
        read_by = None if isinstance(world, MigratedWorld) else spark
        failure = history.run(world, schema, world.steps_of(seed, number), tally, spark=read_by)
        if failure:
            print(f'history {number} of seed {seed} fails; looking for a shorter one', flush=True)
            print(failure, flush=True)
            return shrink(world, failure, schema, read_by, options.shrink)
        number += 1
    return None


def main():
    options = parse(sys.argv[1:])
    seed = random.getrandbits(32) if options.seed is None else options.seed
    print(f'seed {seed}', flush=True)
    tally = Tally()
    worlds = [of(Lake.from_environment()) for of in WORLDS[options.lakes]]
    failure = explore(worlds, options, seed, tally)
    if failure:
        print(f'\n== the shortest history that was found\n{failure}')
    # A short run may well miss an operation; one that goes on for long may not.
    faults = tally.faults() if tally.steps >= ENOUGH_STEPS else []
    print('\n'.join([*faults, tally.summary()]), flush=True)
    code = 1 if failure or faults else 0
    if any(world.dead for world in worlds):  # their destructors would end the process otherwise
        os._exit(code)
    sys.exit(code)


if __name__ == '__main__':
    main()
