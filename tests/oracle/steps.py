"""What a history is made of: named operations, each with a seed of its own.

A step decides everything from its seed and from the lake as it finds it. Any step can therefore be left
out of a history and the rest still runs, which is what makes shrinking simple.
"""
import dataclasses
import itertools
import random

LONGEST = 26


class Skip(Exception):
    """The lake has nothing that the operation could be done to."""


class Difference(Exception):
    """The two access paths disagree, or one of them breaks a rule of its format."""

    def __init__(self, check, text):
        super().__init__(f'{check}: {text}')
        self.check = check


@dataclasses.dataclass(frozen=True)
class Operation:
    name: str
    weight: int
    apply: object


OPERATIONS = {}


def operation(name, weight=1):
    def register(function):
        OPERATIONS[name] = Operation(name, weight, function)
        return function
    return register


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    seed: int

    def random(self, purpose):
        return random.Random(f'{self.seed} {purpose}')


def deck(seed, number):
    """Every operation as often as its weight, in some order: none is forgotten for long."""
    cards = [name for name in sorted(OPERATIONS) for _ in range(OPERATIONS[name].weight)]
    random.Random(f'{seed} deck {number}').shuffle(cards)
    return cards


def steps_of(seed, number):
    """The history `number` of a seed: a table first, then what the decks deal it."""
    lengths = [random.Random(f'{seed} length {n}').randint(4, LONGEST) for n in range(number + 1)]
    dealt = itertools.chain.from_iterable(deck(seed, n) for n in itertools.count())
    names = list(itertools.islice(dealt, sum(lengths[:-1]), sum(lengths)))
    source = random.Random(f'{seed} {number}')
    first = source.choice(('duck.create', 'duck.create', 'pyiceberg.create'))
    return [Step(name, source.getrandbits(48)) for name in (first, *names)]


MIGRATE = 'lake.migrate'


def steps_with_migration(seed, number):
    """The history as it would be in a lake that stays what it is, with the migration of the lake among its first steps."""
    steps = steps_of(seed, number)
    at = random.Random(f'{seed} migration {number}').randint(1, len(steps) * 2 // 3)
    return [*steps[:at], Step(MIGRATE, seed), *steps[at:]]


# What an operation finds nothing to do without.
NEEDS = {'rest.take_back_deletes': ('rest.position_deletes', 'rest.upgrade', 'rest.deletion_vectors', 'rest.position_deletes'),
         'rest.deletion_vectors': ('rest.upgrade', 'rest.upgrade'), 'rest.add_column_with_default': ('rest.upgrade', 'rest.upgrade'),
         'duck.add_column_of_version_3': ('rest.upgrade', 'rest.upgrade'),
         'rest.remove_schemas': ('pyiceberg.add_column', 'duck.add_column', 'duck.add_column', 'pyiceberg.add_column'),
         'rest.remove_partition_specs': ('duck.partition', 'duck.partition', 'pyiceberg.change_spec', 'duck.partition')}


def steps_for(name, seed):
    """A short history that gives one operation its chance."""
    source = random.Random(f'{name} {seed}')
    before = ('duck.create', 'pyiceberg.create', 'duck.insert_file', 'pyiceberg.append', 'pyiceberg.append')
    return [Step(step, source.getrandbits(48)) for step in (*before, *NEEDS.get(name, ()), name, name, name, name)]
