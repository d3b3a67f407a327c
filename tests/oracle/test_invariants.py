"""An id that changes its meaning is found, whichever it is."""
import copy

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from oracle.invariants import Told
from oracle.steps import Difference

FIRST = {
    'format-version': 2, 'table-uuid': '00000000-0000-4000-8000-000000000001', 'location': 's3://l/t', 'last-updated-ms': 9,
    'last-sequence-number': 1, 'last-column-id': 2, 'last-partition-id': 1000, 'current-schema-id': 0, 'default-spec-id': 1,
    'default-sort-order-id': 1, 'current-snapshot-id': 7,
    'schemas': [{'schema-id': 0, 'type': 'struct', 'fields': [{'id': 1, 'name': 'a', 'type': 'int', 'required': False},
                                                              {'id': 2, 'name': 'b', 'type': 'int', 'required': False}]},
                {'schema-id': 1, 'type': 'struct', 'fields': [{'id': 1, 'name': 'a', 'type': 'int', 'required': False}]}],
    'partition-specs': [{'spec-id': 0, 'fields': []},
                        {'spec-id': 1, 'fields': [{'source-id': 1, 'field-id': 1000, 'transform': 'identity', 'name': 'a'}]}],
    'sort-orders': [{'order-id': 0, 'fields': []},
                    {'order-id': 1, 'fields': [{'source-id': 1, 'transform': 'identity', 'direction': 'asc',
                                                'null-order': 'nulls-first'}]}],
    'snapshots': [{'snapshot-id': 7, 'sequence-number': 1, 'timestamp-ms': 8, 'manifest-list': 's3://l/m', 'schema-id': 0,
                   'summary': {'operation': 'append'}}],
}


def metadata(**changes):
    return TableMetadataUtil.parse_obj({**copy.deepcopy(FIRST), **changes})


def told():
    memory = Told()
    memory.check(metadata())
    return memory


def put(path, value):
    """FIRST with another value at the path."""
    made = copy.deepcopy(FIRST)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return TableMetadataUtil.parse_obj(made)


@pytest.mark.parametrize('changes', [
    {},
    {'table-uuid': '00000000-0000-4000-8000-000000000002', 'schemas': FIRST['schemas'][1:], 'current-schema-id': 1},
    {'schemas': [*FIRST['schemas'], {**FIRST['schemas'][0], 'schema-id': 2}], 'current-schema-id': 2},
    {'partition-specs': FIRST['partition-specs'][1:]},
    {'last-column-id': 3, 'last-partition-id': 1001},
], ids=['nothing', 'another table', 'a further schema', 'a spec removed', 'ids go on'])
def test_what_may_change(changes):
    told().check(metadata(**changes))


@pytest.mark.parametrize(('path', 'value', 'finds'), [
    (('schemas', 0, 'fields', 0, 'name'), 'z', 'schema 0 '),
    (('schemas', 1, 'fields', 0, 'type'), 'long', 'schema 1 '),
    (('partition-specs', 1, 'fields', 0, 'name'), 'z', 'spec 1 '),
    (('partition-specs', 1, 'fields', 0, 'source-id'), 2, ' 1'),
    (('sort-orders', 1, 'fields', 0, 'direction'), 'desc', 'sort order 1 '),
    (('snapshots', 0, 'schema-id'), 1, 'schema of snapshot 7 '),
    (('last-partition-id',), 999, 'last_partition_id '),
])
def test_what_may_not(path, value, finds):
    with pytest.raises(Difference, match=finds):
        told().check(put(path, value))


def test_an_id_that_was_away_still_means_the_same():
    memory = told()
    memory.check(metadata(**{'partition-specs': FIRST['partition-specs'][1:]}))
    other = {'spec-id': 0, 'fields': [{'source-id': 2, 'field-id': 1001, 'transform': 'identity', 'name': 'b'}]}
    with pytest.raises(Difference, match='spec 0 '):
        memory.check(metadata(**{'partition-specs': [other, FIRST['partition-specs'][1]]}))
