"""Delta debugging: the shortest part of a history that still fails in the same way."""
import time

from oracle import history, spark_sample
from oracle.tally import Tally

SECONDS = 120


def shrink(world, failure, schema, spark=None, seconds=SECONDS):
    def again(steps):
        return history.run(world, schema, steps, Tally(), thorough=True, spark=spark_sample.Sample(1) if spark else None)
    return shortest(failure, again, seconds)


def shortest(failure, again, seconds=SECONDS):
    """`again` runs steps, and gives the failure that ended them or None."""
    ends = time.monotonic() + seconds
    best = failure

    def fails(steps):
        found = again(steps)
        return found if found and kind_of(found) == kind_of(failure) else None

    part = max(len(best.steps) // 2, 1)
    while part and time.monotonic() < ends:
        shorter = without_a_part(best.steps, part, fails, ends)
        if shorter is None:
            part //= 2
        else:
            best = shorter
            part = min(part, max(len(best.steps) // 2, 1))
    return best


def without_a_part(steps, part, fails, ends):
    """From the end, since the last steps matter least but one: the last is the one that showed it."""
    for start in range(len(steps) - part, -1, -part):
        if time.monotonic() > ends:
            return None
        found = fails(steps[:start] + steps[start + part:])
        if found:
            return found
    return None


def kind_of(failure):
    """The check without its numbers and values."""
    return failure.check.split(' at snapshot')[0].split(' at the head')[0].split(':')[0]
