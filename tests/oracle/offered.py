"""What the catalog refuses today, each with the reason. Everything else is offered: its refusal is a failure.

An operation that stands here and is done without a refusal in a whole run fails that run as well: the list
may only shrink.
"""
import re

from oracle.steps import Difference

# Operations of the oracle, and what the refusal must say.
REFUSED = {
    'rest.write_to_branch': 'a snapshot that main does not point to',
}

# Those of a lake of DuckLake 1.1 alone.
REFUSED_IN_1_1 = {
    'rest.compact': 'compact the table in DuckDB 2.0',
}

# Operations that the lake sometimes cannot do, and what the refusal must say then.
NOT_ALWAYS = {
    'rest.roll_back': 'rows would read otherwise now',
}

# Tables that are not shown, and so not changed either, by what the refusal must say.
NOT_SHOWN = {
    'stands in the path of': 'the value of a column stands in the path of an added file alone, and can be none of a partition',
}


# What no client may add, whatever the operation; with 400 or 501.
NOT_ADDED = {
    'do not say that each of its values is one': 'DuckDB holds the column as a narrower type, and a file without bounds may hold others',
    'is NOT NULL in the lake, and nothing says': 'DuckDB added a file with NULL in the column, and lets nobody write more of them',
    'files of this spec have no number of it': 'DuckDB partitions the table by a bucket and would not find rows without its number',
}


def reason_of_load(message):
    for pattern, reason in NOT_SHOWN.items():
        if re.search(pattern, message):
            return reason
    raise Difference('refusal', f'the table is refused for no reason that is known: {message}')


def may_not_add(message):
    return any(re.search(pattern, message) for pattern in NOT_ADDED)


def may_refuse(name, message, migrated):
    """`migrated`: whether the lake is one of DuckLake 1.1."""
    lists = (REFUSED, NOT_ALWAYS, REFUSED_IN_1_1) if migrated else (REFUSED, NOT_ALWAYS)
    patterns = [*NOT_SHOWN, *NOT_ADDED, *(refused[name] for refused in lists if name in refused)]
    return any(re.search(pattern, message) for pattern in patterns)
