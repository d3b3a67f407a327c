"""What a client says wrongly and is the catalog's to say is put right; what it calls its own and is not, stays."""
import json

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import NestedField, TimestampType

from by_hand import COLUMNS, Table, appending, rows_of
from oracle import avro_files, commits
from rest import assert_error
from stack.process import wait_until

ROWS = 10  # of the table, in two files


@pytest.fixture
def table(lake, catalog, duck, watched, schema):
    made = catalog.create_table(f'{schema}.t', COLUMNS)
    for first in (0, 5):
        made.append(rows_of(made, range(first, first + 5)))
    return Table(lake, catalog, duck, f'{schema}.t', watched.uri())


def test_what_is_said_wrongly_and_is_ours_to_say_is_put_right(table):
    """Totals, sizes and sequence numbers: a client may have them from an older state of the table."""
    before = table.load().current_snapshot()
    snapshot = appending(table)
    listed = snapshot.manifests[-1]
    listed |= {'sequence_number': 9_999, 'min_sequence_number': 9_000}
    updates = snapshot.updates()
    added = updates[0]['snapshot']
    added |= {'sequence-number': 9_999, 'timestamp-ms': 1, 'schema-id': 77}
    wrong = {'total-records': '-5', 'total-data-files': 'many', 'total-delete-files': '9', 'total-files-size': '1',
             'added-files-size': '1', 'changed-partition-count': '1000', 'added-position-deletes': '3', 'engine': 'ours'}
    added['summary'] |= wrong
    answer = table.post(updates)
    assert answer.status_code == 200, answer.text
    shown = answer.json()['metadata']['snapshots'][-1]
    assert shown['schema-id'] == before.schema_id
    assert shown['sequence-number'] == before.sequence_number + 1 and shown['timestamp-ms'] > before.timestamp_ms
    assert shown['summary']['total-records'] == str(ROWS + 2) and shown['summary']['total-data-files'] == '3'
    assert shown['summary']['total-delete-files'] == '0' and shown['summary']['engine'] == 'ours'
    assert int(shown['summary']['added-files-size']) > 1 and int(shown['summary']['total-files-size']) > 1
    assert shown['summary'].get('added-position-deletes', '0') == '0'
    loaded = table.load()
    assert loaded.scan().to_arrow().num_rows == len(table.rows()) == ROWS + 2
    newest = avro_files.read_list(loaded, loaded.current_snapshot().manifest_list)
    assert max(row['sequence_number'] for row in newest) == before.sequence_number + 1
    loaded.delete('n >= 100')


def test_statistics_that_cannot_be_are_passed_over(table):
    """Of unknown columns, of the wrong length, below zero, with a zero byte, or not UTF-8: no bound, and no wrong rows."""
    def statistic(*pairs):
        return [{'key': key, 'value': value} for key, value in pairs]
    loaded = table.load()
    answer = table.post(appending(
        table, value_counts=statistic((1, -7), (2, 2), (99, 2)), null_value_counts=statistic((1, 2**62), (2, -1)),
        nan_value_counts=statistic((1, 2)), column_sizes=statistic((1, -1)),
        lower_bounds=statistic((1, b'123'), (2, b'a\0b'), (99, b'')), upper_bounds=statistic((1, b''), (2, b'\xff\xfe'))).updates())
    assert answer.status_code == 200, answer.text
    assert table.duck.execute(f'SELECT count(*), min(n), max(n), min(s) FROM lake.{table.name}').fetchone() == (
        ROWS + 2, 0, 101, 's0')
    assert table.duck.execute(f"SELECT count(*) FROM lake.{table.name} WHERE n = 101 OR s = 's100'").fetchone() == (2,)
    assert table.load().scan(row_filter="n == 101 or s == 's100'").to_arrow().num_rows == 2
    table.load().delete('n >= 100')
    assert loaded.scan().to_arrow().num_rows == ROWS


def test_a_partition_value_of_another_type_is_refused(lake, catalog, duck, watched, schema):
    by_day = PartitionSpec(PartitionField(1, 1000, DayTransform(), 'd'))
    made = catalog.create_table(f'{schema}.days', Schema(NestedField(1, 't', TimestampType(), required=False)),
                                partition_spec=by_day)
    table = Table(lake, catalog, duck, f'{schema}.days', watched.uri())
    before = table.state()
    fields = made.spec(), avro_files.entry_schema(made, made.spec())

    def commit(kind, value):
        snapshot = table.snapshot()
        avro = json.loads(json.dumps(fields[1]))
        commits.partition_fields(avro)[0]['type'] = ['null', kind]
        file = {'content': 0, 'file_path': f'{made.location()}/data/f.parquet', 'file_format': 'PARQUET', 'record_count': 2,
                'file_size_in_bytes': 500, 'partition': {'d': value}}
        snapshot.add([commits.Live(fields[0].spec_id, avro, commits.new_entry(file))])
        return table.post(snapshot.updates())
    for kind, value in (('string', "'); DROP"), ('long', 2**40), ('double', 0.5), ('boolean', True)):
        answer = commit(kind, value)
        assert_error(answer, 400)
        assert 'partition' in answer.json()['error']['message']
        assert table.state() == before
    assert commit('int', 19_000).status_code == 200


def test_the_client_may_not_have_what_the_catalog_made_removed(table, watched):
    """Its list is an older one that we published: behind the answer the client's own list and manifests are removed."""
    loaded = table.load()
    older = loaded.snapshots()[0]
    snapshot = table.snapshot('overwrite')
    updates = snapshot.updates()
    updates[0]['snapshot']['manifest-list'] = older.manifest_list
    answer = table.post(updates)
    assert answer.status_code == 200, answer.text
    table.load().append(rows_of(loaded, [7]))
    # What another commit leaves over goes with what this one does, or after it. Another event loop's may go
    # before, but not twice.
    for _ in range(2):
        append_and_see_a_removal(table, watched)
    assert loaded.io.new_input(older.manifest_list).exists()
    for row in avro_files.read_list(loaded, older.manifest_list):
        assert loaded.io.new_input(row['manifest_path']).exists()
    assert loaded.scan(snapshot_id=older.snapshot_id).to_arrow().num_rows == 5


def append_and_see_a_removal(table, watched):
    removals = len(removed(watched))
    assert table.post(appending(table).updates()).status_code == 200
    assert wait_until(lambda: len(removed(watched)) > removals, 30)


def removed(watched):
    """Requests that remove objects, each of several."""
    return [path for path in watched.wire.asked if path.endswith('?delete=')]
