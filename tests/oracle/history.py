"""Runs one history and compares after each step."""
import dataclasses
import traceback

from pyiceberg.exceptions import BadRequestError

from oracle import offered
from oracle.checks import Checker
from oracle.steps import OPERATIONS, Difference, Skip


@dataclasses.dataclass
class Failure:
    steps: list
    check: str
    text: str
    log: list

    def __str__(self):
        return '\n'.join((f'-- {self.check} --', self.text, '-- the history --', *self.log))


def run(world, schema, steps, tally, thorough=False, spark=None):
    """None, or the Failure that ended it. `spark` reads what the history leaves."""
    world.recover()
    world.begin(schema)
    checker = Checker(world, tally, thorough)
    for position, step in enumerate(steps):
        try:
            if take(world, step, tally):
                compare(world, step, checker, thorough)
        except Difference as difference:
            return Failure(steps[:position + 1], difference.check, str(difference), list(world.log))
        except Exception as fault:
            return Failure(steps[:position + 1], type(fault).__name__, told(fault), list(world.log))
    if spark:
        try:
            spark.check(world, tally, steps[-1].random('spark'))
        except Difference as difference:
            return Failure(steps, difference.check, str(difference), list(world.log))
    world.end()
    tally.histories += 1
    return None


def told(fault):
    """Where it was raised and what it says, but not the addresses that an internal error of DuckDB adds."""
    return ''.join(traceback.format_exception(fault, limit=-4)).split('\nStack Trace:')[0]


def take(world, step, tally):
    """Whether something happened."""
    world.note(f'-- {step.name}')
    try:
        with world.ready_for(step):
            OPERATIONS[step.name].apply(world, step.random('operation'))
    except Skip as reason:
        world.note(f'-- skipped: {reason}')
        tally.skipped[step.name] += 1
        return False
    except NotImplementedError as refusal:
        world.note(f'-- refused: {refusal}')
        if not offered.may_refuse(step.name, str(refusal), world.migrated):
            raise Difference('refusal', f'{step.name} is offered, and was refused: {refusal}') from refusal
        tally.refused[step.name] += 1
        return False
    except (RuntimeError, BadRequestError) as refusal:
        if not offered.may_not_add(str(refusal)):
            raise
        world.note(f'-- refused: {refusal}')
        tally.refused[step.name] += 1
        return False
    tally.done[step.name] += 1
    tally.steps += 1
    return True


def compare(world, step, checker, thorough):
    """One table after most steps, since most change one; all of them now and then."""
    world.check_rules()
    random_choice = step.random('check')
    if thorough or random_choice.random() < 0.2:
        checker.check_names()
    tables = world.tables if thorough or random_choice.random() < 0.3 else world.touched()
    for table in list(tables):
        checker.check(table, random_choice)
