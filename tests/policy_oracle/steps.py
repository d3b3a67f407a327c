"""What a history of governance is made of: named operations, each with a seed of its own, as in the oracle of rows.

A step decides everything from its seed, the model and the lake as it finds them, so any step can be left out.
"""
import dataclasses
import itertools
import random

from oracle.steps import Step

LEAST, MOST = 40, 120


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


def deck(seed, number):
    """Every operation as often as its weight, in some order: none is forgotten for long."""
    cards = [name for name in sorted(OPERATIONS) for _ in range(OPERATIONS[name].weight)]
    random.Random(f'{seed} governance deck {number}').shuffle(cards)
    return cards


def steps_of(seed, number, longest=MOST):
    """The history `number` of a seed: tables and some policies first, then what the decks deal."""
    source = random.Random(f'{seed} governance {number}')
    first = ('duck.create', 'duck.insert', 'policy.mask', 'policy.mask', 'policy.filter', 'tag.create', 'attach.column', 'attach.column',
             'attach.table', 'duck.create', 'duck.insert', 'attach.column')
    dealt = itertools.chain.from_iterable(deck(f'{seed} {number}', n) for n in itertools.count())
    names = [*first, *itertools.islice(dealt, source.randint(min(LEAST, longest), longest))]
    return [Step(name, source.getrandbits(48)) for name in names]


def written(steps):
    """In one line, to be replayed with --steps."""
    return ' '.join(f'{step.name}:{step.seed}' for step in steps)


def read(text):
    return [Step(name, int(seed)) for name, _, seed in (word.rpartition(':') for word in text.split())]
