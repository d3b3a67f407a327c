"""Tables that come back after a drop, and tables that another catalog has made."""
import json
import uuid

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from agreement import assert_agree
from foreign_catalog import ForeignCatalog
from lake_clients import iceberg as iceberg_client
from oracle import by_hand_deletes, commits
from oracle.avro_files import fetch, store
from rest import Rest, assert_error, table_body

SCHEMA = pa.schema([('a', pa.int64()), ('s', pa.string())])


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture
def foreign(lake, schema):
    """Another catalog that keeps its tables under our prefix."""
    storage = {key: value for key, value in iceberg_client.properties(lake).items() if key.startswith('s3.')}
    return ForeignCatalog(f'{lake.data_path}foreign/{schema}', **storage)


def rows(first, count):
    return pa.table({'a': list(range(first, first + count)), 's': [f's{n}' for n in range(first, first + count)]},
                    schema=SCHEMA)


def register(rest, schema, name, location, **more):
    return rest.post(f'namespaces/{schema}/register', {'name': name, 'metadata-location': location, **more})


def count(duck, table):
    return duck.execute(f'SELECT count(*), sum(a) FROM lake.{table}').fetchone()


def test_a_dropped_table_comes_back_as_it_was(rest, duck, catalog, schema):
    table = catalog.create_table(f'{schema}.t', SCHEMA, properties={'owner': 'me'})
    table.append(rows(0, 10))
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (10, 'inlined')")
    duck.execute(f'DELETE FROM lake.{schema}.t WHERE a = 3')
    duck.execute(f"INSERT INTO lake.{schema}.t SELECT n, 'x' FROM range(11, 40) r(n)")
    before = rest.get(f'namespaces/{schema}/tables/t').json()
    rows_before = duck.execute(f'SELECT rowid, * FROM lake.{schema}.t ORDER BY a').fetchall()
    there = newest(duck)
    catalog.drop_table(f'{schema}.t')
    gone = newest(duck)
    answer = register(rest, schema, 't', before['metadata-location'])
    assert answer.status_code == 200, answer.text
    after = answer.json()
    for member in ('table-uuid', 'location', 'schemas', 'snapshots', 'snapshot-log', 'current-snapshot-id',
                   'properties', 'partition-specs', 'refs'):
        assert after['metadata'][member] == before['metadata'][member], member
    assert duck.execute(f'SELECT rowid, * FROM lake.{schema}.t ORDER BY a').fetchall() == rows_before
    assert count(duck, f'{schema}.t AT (VERSION => {there})')[0] == len(rows_before)
    with pytest.raises(Exception, match='does not exist'):
        count(duck, f'{schema}.t AT (VERSION => {gone})')
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (50, 'small')")
    catalog.load_table(f'{schema}.t').append(rows(60, 5))
    seen = sorted(catalog.load_table(f'{schema}.t').scan().to_arrow()['a'].to_pylist())
    assert seen == sorted(n for n, in duck.execute(f'SELECT a FROM lake.{schema}.t').fetchall())
    assert len(seen) == len(rows_before) + 6


def newest(duck):
    return duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0]


def test_a_table_that_came_back_outlives_its_expired_past(rest, duck, catalog, schema):
    first = newest(duck) + 1
    catalog.create_table(f'{schema}.t', SCHEMA).append(rows(0, 10))
    location = catalog.load_table(f'{schema}.t').metadata_location
    last = newest(duck)
    catalog.drop_table(f'{schema}.t')
    assert register(rest, schema, 't', location).status_code == 200
    versions = ', '.join(map(str, range(first, last + 1)))
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{versions}])")
    duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert count(duck, f'{schema}.t') == (10, 45)
    assert catalog.load_table(f'{schema}.t').scan().to_arrow().num_rows == 10


def test_duckdb_reads_the_lake_while_the_table_was_away(rest, duck, catalog, truth, readers, schema):
    """Partitions and sort keys without their table keep DuckDB from reading any table at such a snapshot."""
    name = f'{schema}.t'
    catalog.create_table(name, SCHEMA)
    column = SCHEMA.names[0]
    duck.execute(f'ALTER TABLE lake.{name} SET PARTITIONED BY ({column})')
    duck.execute(f'ALTER TABLE lake.{name} SET SORTED BY ({column})')
    duck.execute(f'CREATE TABLE lake.{schema}.other AS SELECT 7 AS a')
    catalog.load_table(name).append(rows(0, 10))
    location = catalog.load_table(name).metadata_location
    catalog.drop_table(name)
    away = newest(duck)
    assert register(rest, schema, 't', location).status_code == 200
    assert duck.execute(f'FROM lake.{schema}.other AT (VERSION => {away})').fetchall() == [(7,)]
    assert assert_agree(truth, readers, name) == 10
    loaded = catalog.load_table(name)
    assert [field.source_id for field in loaded.spec().fields] == [1]
    assert [field.source_id for field in loaded.sort_order().fields] == [1]
    duck.execute(f'INSERT INTO lake.{name} FROM lake.{name}')
    assert assert_agree(truth, readers, name) == 20


def test_a_snapshot_without_the_table_stands_for_none_that_expired(rest, duck, catalog, truth, readers, schema):
    """The drop's own snapshot is the next after the one that expired, and has no such table."""
    name = f'{schema}.t'
    table = catalog.create_table(name, SCHEMA)
    table.append(rows(0, 10))
    table.append(rows(10, 10))
    expired = newest(duck)
    catalog.drop_table(name)
    gone = newest(duck)
    assert register(rest, schema, 't', table.metadata_location).status_code == 200
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{expired}])")
    shown = [snapshot.snapshot_id for snapshot in catalog.load_table(name).metadata.snapshots]
    assert gone not in shown and len(shown) == 2 and shown[-1] > gone
    for snapshot in shown:
        assert_agree(truth, readers, name, snapshot)


def test_what_the_lake_has_expired_does_not_come_back(rest, duck, catalog, schema):
    catalog.create_table(f'{schema}.t', SCHEMA).append(rows(0, 10))
    location = catalog.load_table(f'{schema}.t').metadata_location
    last = newest(duck)
    catalog.drop_table(f'{schema}.t')
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{last}])")
    assert_error(register(rest, schema, 't', location), 404, 409)
    assert rest.send('HEAD', f'namespaces/{schema}/tables/t').status_code == 404


def test_a_dropped_table_comes_back_under_another_name_beside_its_successor(rest, duck, catalog, schema):
    catalog.create_table(f'{schema}.t', SCHEMA).append(rows(0, 10))
    duck.execute(f'CREATE SCHEMA IF NOT EXISTS lake.{schema}_other')
    location = catalog.load_table(f'{schema}.t').metadata_location
    catalog.drop_table(f'{schema}.t')
    catalog.create_table(f'{schema}.t', SCHEMA).append(rows(0, 3))
    between = newest(duck)
    assert_error(register(rest, schema, 't', location), 409)
    assert register(rest, f'{schema}_other', 'old', location).status_code == 200
    assert count(duck, f'{schema}_other.old') == (10, 45)
    assert count(duck, f'{schema}.t') == (3, 3)
    assert count(duck, f'{schema}.t AT (VERSION => {between})') == (3, 3)
    assert catalog.load_table(f'{schema}_other.old').scan().to_arrow().num_rows == 10
    assert_error(register(rest, schema, 'twice', location), 409)


def test_a_table_takes_the_place_of_another(rest, duck, catalog, schema):
    catalog.create_table(f'{schema}.t', SCHEMA).append(rows(0, 10))
    location = catalog.load_table(f'{schema}.t').metadata_location
    catalog.drop_table(f'{schema}.t')
    catalog.create_table(f'{schema}.t', SCHEMA).append(rows(0, 3))
    before = newest(duck)
    assert register(rest, schema, 't', location, overwrite=True).status_code == 200
    assert count(duck, f'{schema}.t') == (10, 45)
    assert count(duck, f'{schema}.t AT (VERSION => {before})') == (3, 3)
    assert catalog.load_table(f'{schema}.t').scan().to_arrow().num_rows == 10


def test_pyiceberg_registers_a_table(duck, catalog, schema):
    catalog.create_table(f'{schema}.t', SCHEMA).append(rows(0, 10))
    location = catalog.load_table(f'{schema}.t').metadata_location
    catalog.drop_table(f'{schema}.t')
    assert catalog.register_table(f'{schema}.t', location).scan().to_arrow().num_rows == 10
    assert count(duck, f'{schema}.t') == (10, 45)


def test_a_foreign_table_is_registered_in_place(rest, duck, catalog, foreign, schema):
    made = Schema(NestedField(1, 'a', LongType(), required=False), NestedField(2, 's', StringType(), required=False))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), 's'))
    table = foreign.create_table('ns.t', made, partition_spec=spec, properties={'owner': 'them'})
    table.append(rows(0, 5))
    table.append(rows(5, 5))
    table.delete(EqualTo('s', 's3'))
    with table.update_schema() as update:
        update.add_column('later', LongType())
    answer = register(rest, schema, 't', table.metadata_location)
    assert answer.status_code == 200, answer.text
    metadata = answer.json()['metadata']
    assert metadata['location'] == table.location() and metadata['properties']['owner'] == 'them'
    assert len(metadata['snapshots']) == 1
    ours = catalog.load_table(f'{schema}.t')
    assert sorted(ours.scan().to_arrow()['a'].to_pylist()) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert ours.scan(row_filter=EqualTo('s', 's7')).to_arrow()['a'].to_pylist() == [7]
    assert {task.file.file_path for task in ours.scan().plan_files()} == {
        task.file.file_path for task in table.scan().plan_files()}, 'nothing was copied'
    assert count(duck, f'{schema}.t') == (9, 42)
    assert duck.execute(f"SELECT a FROM lake.{schema}.t WHERE s = 's7'").fetchall() == [(7,)]
    ours.append(pa.table({'a': [10], 's': ['s10'], 'later': [1]}))
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (11, 's11', 2)")
    assert count(duck, f'{schema}.t')[0] == catalog.load_table(f'{schema}.t').scan().to_arrow().num_rows == 11
    assert_error(register(rest, schema, 'again', table.metadata_location), 409)


def by_hand(foreign, table, snapshot):
    added, main = snapshot.updates()
    foreign.commit_table(table, (), (AddSnapshotUpdate.model_validate(added), SetSnapshotRefUpdate.model_validate(main)))
    return foreign.load_table(table.name())


def twice(foreign, name):
    """A table in which one data file of five rows stands twice."""
    made = Schema(NestedField(1, 'a', LongType(), required=False), NestedField(2, 's', StringType(), required=False))
    table = foreign.create_table(f'ns.{name}', made)
    table.append(rows(0, 5))
    table = foreign.load_table(table.name())
    file, = commits.live(table)[0]
    again = commits.Snapshot(table, 'append')
    again.add([commits.Live(file.spec_id, file.schema, commits.new_entry(dict(file.file)))])
    return by_hand(foreign, table, again), file


def position_delete(table, file, positions):
    snapshot = commits.Snapshot(table, 'delete')
    snapshot.add(by_hand_deletes.position_delete_files(by_hand_deletes.Target(None, table, [file], []), {file.path: positions}))
    return snapshot


def test_a_data_file_that_stands_twice_comes_with_its_deletes(rest, duck, catalog, truth, readers, foreign, schema):
    table, file = twice(foreign, 't')
    table = by_hand(foreign, table, position_delete(table, file, [1, 3]))
    answer = register(rest, schema, 't', table.metadata_location)
    assert answer.status_code == 200, answer.text
    assert sorted(duck.execute(f'SELECT a FROM lake.{schema}.t').fetchall()) == [(0,), (0,), (2,), (2,), (4,), (4,)]
    assert assert_agree(truth, readers, f'{schema}.t') == 6


def test_a_data_file_that_stands_twice_with_other_deletes_is_copied(rest, duck, catalog, truth, readers, foreign, schema):
    """Readers apply what deletes rows of a path to all of its places."""
    made = Schema(NestedField(1, 'a', LongType(), required=False), NestedField(2, 's', StringType(), required=False))
    table = foreign.create_table('ns.t', made)
    table.append(rows(0, 5))
    table = foreign.load_table(table.name())
    file, = commits.live(table)[0]
    for positions in ([1], [2, 3]):
        table = by_hand(foreign, table, position_delete(table, file, positions))
        again = commits.Snapshot(table, 'append')
        again.add([commits.Live(file.spec_id, file.schema, commits.new_entry(dict(file.file)))])
        table = by_hand(foreign, table, again)
    answer = register(rest, schema, 't', table.metadata_location)
    assert answer.status_code == 200, answer.text
    # The oldest has lost rows 1, 2 and 3, the next one 2 and 3, the last none.
    assert duck.execute(f'SELECT a, count(*) FROM lake.{schema}.t GROUP BY a ORDER BY a').fetchall() == [(0, 3), (1, 2), (2, 1), (3, 1), (4, 3)]
    assert assert_agree(truth, readers, f'{schema}.t') == 10
    paths = [task.file.file_path for task in catalog.load_table(f'{schema}.t').scan().plan_files()]
    assert file.path in paths and len(set(paths)) == 3 and all(path.startswith(table.location()) for path in paths)
    duck.execute(f'DELETE FROM lake.{schema}.t WHERE a = 0')
    assert assert_agree(truth, readers, f'{schema}.t') == 7
    catalog.load_table(f'{schema}.t').delete(EqualTo('a', 1))
    assert assert_agree(truth, readers, f'{schema}.t') == 5


def test_a_data_file_that_is_to_be_copied_and_is_gone_is_refused(rest, stack, lake, foreign, schema):
    made = Schema(NestedField(1, 'a', LongType(), required=False), NestedField(2, 's', StringType(), required=False))
    table = foreign.create_table('ns.t', made)
    table.append(rows(0, 5))
    table = foreign.load_table(table.name())
    file, = commits.live(table)[0]
    table = by_hand(foreign, table, position_delete(table, file, [1]))
    again = commits.Snapshot(table, 'append')
    again.add([commits.Live(file.spec_id, file.schema, commits.new_entry(dict(file.file)))])
    table = by_hand(foreign, table, again)
    stack.store.client().remove_object(lake.s3_bucket, file.path.removeprefix(f's3://{lake.s3_bucket}/'))
    answer = register(rest, schema, 't', table.metadata_location)
    assert_error(answer, 400)
    assert file.path in answer.json()['error']['message']
    assert rest.send('HEAD', f'namespaces/{schema}/tables/t').status_code == 404


def test_a_foreign_table_without_snapshots_is_registered(rest, duck, foreign, schema):
    table = foreign.create_table('ns.t', SCHEMA)
    assert register(rest, schema, 't', table.metadata_location).status_code == 200
    assert count(duck, f'{schema}.t') == (0, None)


def moved(table, location):
    """A copy of the metadata file that gives the table another folder; where it stands."""
    text = json.loads(fetch(table, table.metadata_location))
    text['location'] = location
    place = f'{table.location()}/metadata/moved-{uuid.uuid4()}.metadata.json'
    store(table, place, json.dumps(text).encode())
    return place


def test_a_foreign_table_lies_in_no_other_tables_folder(rest, catalog, foreign, schema):
    table = foreign.create_table('ns.t', SCHEMA)
    own = catalog.create_table(f'{schema}.own', SCHEMA).location()
    for location in (own, own + '/', f'{own}/data', f'{own}/data/deep', own.rsplit('/', 1)[0], own.rsplit('/', 2)[0],
                     own.replace('s3://', 's3a://') + '/metadata'):
        assert_error(register(rest, schema, 't', moved(table, location)), 409)
    beside = f'{own}-beside'
    assert register(rest, schema, 't', moved(table, beside)).status_code == 200
    assert_error(register(rest, schema, 'again', moved(table, f'{beside}/inside')), 409)


def test_a_foreign_table_brings_no_files_of_another_table(rest, catalog, foreign, schema):
    victim = catalog.create_table(f'{schema}.own', SCHEMA)
    victim.append(rows(0, 3))
    theirs, = commits.live(catalog.load_table(f'{schema}.own'))[0]
    table = foreign.create_table('ns.t', SCHEMA)
    snapshot = commits.Snapshot(table, 'append')
    snapshot.add([commits.Live(theirs.spec_id, theirs.schema, commits.new_entry(dict(theirs.file)))])
    table = by_hand(foreign, table, snapshot)
    answer = register(rest, schema, 't', table.metadata_location)
    assert_error(answer, 400)
    assert 'LAKEPROXY_FILE_PREFIXES' in answer.json()['error']['message']
    assert rest.send('HEAD', f'namespaces/{schema}/tables/t').status_code == 404


def test_what_is_no_table_is_refused(lake, rest, duck, foreign, schema):
    table = foreign.create_table('ns.t', SCHEMA)
    table.append(rows(0, 2))
    own = rest.post(f'namespaces/{schema}/tables', table_body('own')).json()['metadata-location']
    manifests = table.current_snapshot().manifest_list
    cases = {
        'elsewhere': (f's3://{lake.s3_bucket}/other/metadata/1.metadata.json', 400),
        'another bucket': ('s3://other/data/1.metadata.json', 400),
        'out of the prefix': (f'{lake.data_path}../other/1.metadata.json', 400),
        'a local file': ('file:///etc/passwd', 400),
        'nothing': ('', 400),
        'missing': (f'{lake.data_path}none/metadata/1.metadata.json', 400),
        'no JSON': (manifests, 400),
        'of a table that is there': (own, 409),
    }
    for name, (location, status) in cases.items():
        answer = register(rest, schema, 't', location)
        assert answer.status_code == status, (name, answer.text)
        assert_error(answer, status)
    assert_error(register(rest, schema, '__mask_t', table.metadata_location), 400)
    assert_error(register(rest, 'nowhere', 't', table.metadata_location), 404)
    assert_error(rest.post(f'namespaces/{schema}/register', {'name': 't'}), 400)
    assert rest.send('HEAD', f'namespaces/{schema}/tables/t').status_code == 404


def test_a_table_is_unregistered_with_all_that_was_committed(rest, duck, catalog, schema):
    catalog.create_table(f'{schema}.t', SCHEMA).append(rows(0, 10))
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (10, 'unseen')")
    path = f'namespaces/{schema}/tables/t'
    answer = rest.post(f'{path}/unregister')
    assert answer.status_code == 200, answer.text
    assert len(answer.json()['metadata']['snapshots']) == 2
    assert rest.send('HEAD', path).status_code == 404
    assert_error(rest.post(f'{path}/unregister'), 404)
    assert register(rest, schema, 't', answer.json()['metadata-location']).status_code == 200
    assert count(duck, f'{schema}.t') == (11, 55)
