"""Snapshots whose own members cannot be: refused with the member's name, and nothing changes."""
import pytest

from by_hand import COLUMNS, Table, appending, assert_refused, rows_of
from oracle import commits


@pytest.fixture(scope='module')
def table(lake, catalog, duck):
    duck.execute('DROP SCHEMA IF EXISTS lake.hostile_snapshots CASCADE')
    duck.execute('CREATE SCHEMA lake.hostile_snapshots')
    made = catalog.create_table('hostile_snapshots.t', COLUMNS)
    made.append(rows_of(made, range(5)))
    return Table(lake, catalog, duck, 'hostile_snapshots.t')


def said(**changes):
    """The update with other members; None takes one away."""
    def make(table):
        updates = appending(table).updates()
        added = updates[0]['snapshot']
        for name, value in changes.items():
            name = name.replace('_', '-')
            added.pop(name, None) if value is None else added.update({name: value})
        return updates
    return make


def main_elsewhere(table):
    updates = appending(table).updates()
    return [updates[0], commits.main_is(12345)]


def twice(table):
    updates = appending(table).updates()
    return [updates[0], *updates]


REFUSED = {
    'no id': (said(snapshot_id=None), 400, 'snapshot-id'),
    'an id of text': (said(snapshot_id='7'), 400, 'snapshot-id'),
    'an id of a fraction': (said(snapshot_id=7.5), 400, 'snapshot-id'),
    'an id beyond 64 bits': (said(snapshot_id=2**63), 400, 'snapshot-id'),
    'no list': (said(manifest_list=None), 400, 'manifest-list'),
    'a list of no text': (said(manifest_list=['x']), 400, 'manifest-list'),
    'manifests of format version 1': (said(manifest_list=None, manifests=['s3://x']), 400, 'manifest'),
    'no summary': (said(summary=None), 400, 'summary'),
    'a summary of no operation': (said(summary={}), 400, 'operation'),
    'an operation of no meaning': (said(summary={'operation': 'explode'}), 400, 'operation'),
    'a summary of numbers': (said(summary={'operation': 'append', 'added-records': 2}), 400, 'added-records'),
    'a summary with a zero': (said(summary={'operation': 'append', 'k': 'a\0b'}), 400, 'u0000'),
    'a key with a zero': (said(summary={'operation': 'append', 'a\0': 'b'}), 400, 'u0000'),
    'no time': (said(timestamp_ms=None), 400, 'timestamp-ms'),
    'a time of text': (said(timestamp_ms='now'), 400, 'timestamp-ms'),
    'a parent that is not there': (said(parent_snapshot_id=77), 409, '77'),
    'a parent of text': (said(parent_snapshot_id='x'), 400, 'parent-snapshot-id'),
    'main on another snapshot': (main_elsewhere, 400, '12345'),
    'the same snapshot twice': (twice, 400, 'added twice'),
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_is_refused_changes_nothing(table, case):
    assert_refused(table, *REFUSED[case])
