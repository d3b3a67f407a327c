"""Runs one history, with a look at the lake after each step."""
import dataclasses
import secrets
import traceback

from oracle.steps import Difference, Skip
from policy_oracle import authoring, changes, objects  # noqa: F401  registers the operations
from policy_oracle.checks import Checker
from policy_oracle.steps import OPERATIONS, written


@dataclasses.dataclass
class Failure:
    steps: list
    check: str
    text: str
    log: list

    def __str__(self):
        return '\n'.join((f'-- {self.check} --', self.text, '-- the history --', *self.log,
                          '-- to be replayed --', f"--steps '{written(self.steps)}'"))


def run(world, schema, steps, tally, end=True):
    """None, or the Failure that ended it. `end`: whether what it made is removed."""
    world.begin(f'{schema}_{secrets.token_hex(3)}')
    checker = Checker(world, tally)
    for position, step in enumerate(steps):
        tally.tell()
        try:
            if take(world, step, tally):
                checker.check(step.random('check'))
        except Difference as difference:
            return Failure(steps[:position + 1], difference.check, str(difference), list(world.log))
        except Exception as fault:
            told = ''.join(traceback.format_exception(fault, limit=-4)).split('\nStack Trace:')[0]
            return Failure(steps[:position + 1], type(fault).__name__, told, list(world.log))
    if end:
        world.end()
    tally.histories += 1
    return None


def take(world, step, tally):
    """Whether something happened."""
    world.note(f'-- {step.name}')
    world.turn = step.random('servers')
    try:
        OPERATIONS[step.name].apply(world, step.random('operation'))
    except Skip as reason:
        world.note(f'-- skipped: {reason}')
        tally.skipped[step.name] += 1
        return False
    for table, who in world.unseen:
        if world.rules.may_commit(table, world.roles(who)):
            raise Difference('a change that cannot be shown', f'{who} sees {table.place}')
    world.unseen = []
    tally.done[step.name] += 1
    tally.steps += 1
    return True
