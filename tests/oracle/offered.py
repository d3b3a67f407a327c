"""What the catalog refuses today, each with the reason. Everything else is offered: its refusal is a failure.

An operation that stands here and is done without a refusal in a whole run fails that run as well: the list
may only shrink.
"""
import re

from oracle.steps import Difference

# Operations of the oracle, and what the refusal must say.
REFUSED = {
    'rest.position_deletes': 'delete files are not supported',
}

# Tables that are not shown, and so not changed either, by what the refusal must say.
NOT_SHOWN = {
    'default': 'a column with a default needs format version 3 while older files lack it',
    'without field ids': 'files that were added as they are have no field ids, and readers find columns by them',
}


def reason_of_load(message):
    for pattern, reason in NOT_SHOWN.items():
        if re.search(pattern, message):
            return reason
    raise Difference('refusal', f'the table is refused for no reason that is known: {message}')


def may_refuse(name, message):
    patterns = [*NOT_SHOWN, REFUSED[name]] if name in REFUSED else NOT_SHOWN
    return any(re.search(pattern, message) for pattern in patterns)
