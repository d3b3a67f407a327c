"""Snapshots, refs, statistics, schemas and partition specs that clients add and take away. Each thing that is allowed
stands beside what is refused, and DuckDB reads everything as before."""
import datetime

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile
from pyiceberg.table.update.snapshot import ManageSnapshots
from pyiceberg.transforms import BucketTransform, IdentityTransform

from agreement import assert_agree, assert_agree_always
from iceberg_tables import NUMBERED, numbers
from rest import Rest, assert_error


@pytest.fixture
def commit(lake, schema):
    """Sends updates to the table t; returns the answer."""
    http = Rest.of(lake)

    def send(*updates, requirements=()):
        return http.post(f'namespaces/{schema}/tables/t', {'requirements': list(requirements), 'updates': list(updates)})
    return send


@pytest.fixture
def metadata(lake, schema):
    """The table's metadata as the catalog gives it."""
    return lambda: Rest.of(lake).get(f'namespaces/{schema}/tables/t').json()['metadata']


@pytest.fixture
def table(catalog, schema):
    """With three appends of ten rows."""
    made = catalog.create_table(f'{schema}.t', NUMBERED)
    for first in (0, 10, 20):
        made.append(numbers(made, range(first, first + 10)))
    return made


def ids(metadata):
    return [snapshot['snapshot-id'] for snapshot in metadata['snapshots']]


def log(metadata):
    return [entry['snapshot-id'] for entry in metadata['snapshot-log']]


def remove(*snapshots):
    return {'action': 'remove-snapshots', 'snapshot-ids': list(snapshots)}


def ref(name, snapshot, kind='tag', **retention):
    return {'action': 'set-snapshot-ref', 'ref-name': name, 'type': kind, 'snapshot-id': snapshot, **retention}


def at(name, snapshot):
    return {'type': 'assert-ref-snapshot-id', 'ref': name, 'snapshot-id': snapshot}


def assert_refused(answer, status, *words):
    assert_error(answer, status)
    for word in words:
        assert str(word) in answer.json()['error']['message'], answer.text


def test_pyiceberg_expires_snapshots(table, commit, metadata, catalog, duck, truth, readers, lake, schema):
    name = f'{schema}.t'
    duck.execute(f"INSERT INTO lake.{name} VALUES (100, 'inlined')")
    before = metadata()
    first, second, third, now = ids(before)
    catalog.load_table(name).maintenance.expire_snapshots().by_ids([first, third]).commit()
    after = metadata()
    assert ids(after) == [second, now]
    assert log(after) == [now]
    assert [s['parent-snapshot-id'] for s in after['snapshots']] == [first, third]
    assert after['last-sequence-number'] == before['last-sequence-number']
    assert assert_agree_always(truth, readers, catalog, name) == 31
    for snapshot, rows in ((first, 10), (third, 30)):
        assert duck.execute(f'SELECT count(*) FROM lake.{name} AT (VERSION => {snapshot})').fetchone() == (rows,)
        assert_error(Rest.of(lake).get(f'namespaces/{schema}/tables/t?snapshot-id={snapshot}'), 404)
        assert_refused(commit(ref('main', snapshot, 'branch')), 400, snapshot)
    # What is built anew does not bring them back.
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 't')")
    duck.execute(f"CALL ducklake_merge_adjacent_files('lake', 't', schema => '{schema}')")
    table = catalog.load_table(name)
    table.append(numbers(table, [200]))
    assert ids(metadata())[:2] == [second, now]
    assert {first, third}.isdisjoint(ids(metadata()))
    assert assert_agree_always(truth, readers, catalog, name) == 32
    assert duck.execute(f'SELECT count(*) FROM lake.{name} AT (VERSION => {first})').fetchone() == (10,)


def test_snapshots_that_are_named_are_not_removed(table, commit, metadata, schema):
    first, second, now = ids(metadata())
    assert commit(ref('kept', first)).status_code == 200
    assert_refused(commit(remove(now)), 409, now)
    assert_refused(commit(remove(second, first)), 409, first, 'kept')
    assert ids(metadata()) == [first, second, now]
    # Ids that nobody knows are passed over, and refs may go in the same request.
    assert commit(remove(second, 9_999_999)).status_code == 200
    gone = commit(remove(first), {'action': 'remove-snapshot-ref', 'ref-name': 'kept'})
    assert gone.status_code == 200
    assert ids(gone.json()['metadata']) == ids(metadata()) == [now]
    assert commit(remove(first, second)).status_code == 200


def test_the_name_that_a_client_gave_its_snapshot_is_known(table, commit, metadata, catalog, schema):
    chosen = int(metadata()['snapshots'][0]['summary']['lakeproxy-client-snapshot-id'])
    first = ids(metadata())[0]
    assert commit(ref('v1', chosen), requirements=[at('v1', None)]).json()['metadata']['refs']['v1']['snapshot-id'] == first
    assert commit(ref('v1', chosen), requirements=[at('v1', chosen)]).status_code == 200
    assert commit({'action': 'remove-snapshot-ref', 'ref-name': 'v1'}, remove(chosen)).status_code == 200
    assert first not in ids(metadata())
    assert_refused(commit(ref('v1', chosen)), 400, chosen)


def test_a_uuid_is_assigned_in_vain(table, commit, metadata):
    before = metadata()
    answer = commit({'action': 'assign-uuid', 'uuid': '9c12d441-03fe-4693-9a96-a0705ddf69c1'})
    assert answer.status_code == 200
    assert answer.json()['metadata']['table-uuid'] == metadata()['table-uuid'] == before['table-uuid']
    assert ids(metadata()) == ids(before)


def test_tags_and_branches(table, metadata, catalog, spark, schema):
    name = f'{schema}.t'
    first, second, now = ids(metadata())
    with table.manage_snapshots() as change:
        change.create_tag(first, 'v1', max_ref_age_ms=86_400_000)
        change.create_branch(second, 'old', max_ref_age_ms=5, max_snapshot_age_ms=6, min_snapshots_to_keep=7)
    refs = metadata()['refs']
    assert refs['v1'] == {'snapshot-id': first, 'type': 'tag', 'max-ref-age-ms': 86_400_000}
    assert refs['old'] == {'snapshot-id': second, 'type': 'branch', 'max-ref-age-ms': 5, 'max-snapshot-age-ms': 6,
                           'min-snapshots-to-keep': 7}
    assert spark.sql(f"SELECT count(*) FROM lake.{name} VERSION AS OF 'v1'").collect()[0][0] == 10
    assert spark.sql(f"SELECT count(*) FROM lake.{name} VERSION AS OF 'old'").collect()[0][0] == 20
    loaded = catalog.load_table(name)
    assert loaded.scan().use_ref('old').to_arrow().num_rows == 20
    with pytest.raises(NotImplementedError, match='another branch'):
        loaded.append(numbers(loaded, [1]), branch='old')
    for write in ("INSERT INTO lake.{} VALUES (1, 'x')", 'DELETE FROM lake.{} WHERE n = 1', "INSERT OVERWRITE lake.{} VALUES (1, 'x')"):
        with pytest.raises(Exception, match='another branch'):
            spark.sql(write.format(f'{name}.branch_old'))
    assert metadata()['refs'] == refs and ids(metadata()) == [first, second, now]
    with table.manage_snapshots() as change:
        change.remove_tag('v1').remove_branch('old')
    assert set(metadata()['refs']) == {'main'}


def test_refs_change_only_where_they_were_expected(table, commit, metadata, schema):
    first, second, now = ids(metadata())
    assert commit(ref('b', first, 'branch'), requirements=[at('b', None)]).status_code == 200
    assert_refused(commit(ref('b', second, 'branch'), requirements=[at('b', None)]), 409, 'b')
    assert_refused(commit(ref('b', now, 'branch'), requirements=[at('b', second)]), 409, 'b')
    assert commit(ref('b', now, 'branch'), requirements=[at('b', first)]).status_code == 200
    assert metadata()['refs']['b']['snapshot-id'] == now
    assert_refused(commit(ref('b', 9_999_999, 'branch')), 400, 9_999_999)
    assert_refused(commit(ref('t', first, 'tag', **{'min-snapshots-to-keep': 1})), 400, 'tag')
    assert_refused(commit(ref('b', first, 'branch', **{'max-ref-age-ms': 0})), 400, 'max-ref-age-ms')
    assert_refused(commit(ref('main', first, 'tag')), 400, 'main')
    assert commit({'action': 'remove-snapshot-ref', 'ref-name': 'never there'}).status_code == 200


def test_main_keeps_what_it_says_of_its_snapshots(table, commit, metadata, catalog, duck, spark, schema):
    name = f'{schema}.t'
    now = ids(metadata())[-1]
    kept = {'min-snapshots-to-keep': 3, 'max-snapshot-age-ms': 60_000}
    assert commit(ref('main', now, 'branch', **kept)).status_code == 200
    assert metadata()['refs']['main'] == {'snapshot-id': now, 'type': 'branch', **kept}
    duck.execute(f"INSERT INTO lake.{name} VALUES (100, 'inlined')")
    spark.sql(f"INSERT INTO lake.{name} VALUES (101, 'file')")
    latest = metadata()
    assert latest['refs']['main'] == {'snapshot-id': ids(latest)[-1], 'type': 'branch', **kept}
    assert ids(latest)[-1] > now
    # A client that sets main without saying it takes it back, as the API has it.
    assert commit(ref('main', ids(latest)[-1], 'branch')).status_code == 200
    assert metadata()['refs']['main'] == {'snapshot-id': ids(latest)[-1], 'type': 'branch'}


def statistics(snapshot, path, **more):
    return {'snapshot-id': snapshot, 'statistics-path': f's3://nowhere/{path}', 'file-size-in-bytes': 42, **more}


def test_statistics_files_are_kept(table, commit, metadata, catalog, schema):
    first, second, now = ids(metadata())
    for snapshot in (first, now):
        blob = BlobMetadata(type='apache-datasketches-theta-v1', snapshot_id=snapshot, sequence_number=1, fields=[1],
                            properties={'ndv': '10'})
        file = StatisticsFile(snapshot_id=snapshot, statistics_path=f's3://nowhere/{snapshot}.puffin', file_size_in_bytes=42,
                              file_footer_size_in_bytes=7, blob_metadata=[blob])
        with table.update_statistics() as update:
            update.set_statistics(file)
    for snapshot in (second, now):
        assert commit({'action': 'set-partition-statistics',
                       'partition-statistics': statistics(snapshot, 'p')}).status_code == 200
    loaded = catalog.load_table(f'{schema}.t')
    assert [file.snapshot_id for file in loaded.metadata.statistics] == [first, now]
    assert loaded.metadata.statistics[0].blob_metadata[0].properties == {'ndv': '10'}
    assert metadata()['partition-statistics'] == [statistics(second, 'p'), statistics(now, 'p')]
    # A later one takes the place of that of the same snapshot.
    assert commit({'action': 'set-partition-statistics', 'partition-statistics': statistics(now, 'again')}).status_code == 200
    assert metadata()['partition-statistics'] == [statistics(second, 'p'), statistics(now, 'again')]
    # Those of a removed snapshot go with it.
    assert commit(remove(first, second)).status_code == 200
    assert [file['snapshot-id'] for file in metadata()['statistics']] == [now]
    assert metadata()['partition-statistics'] == [statistics(now, 'again')]
    with loaded.update_statistics() as update:
        update.remove_statistics(now)
    for action in ('remove-partition-statistics', 'remove-statistics'):
        assert commit({'action': action, 'snapshot-id': now}).status_code == 200
    assert metadata()['statistics'] == metadata()['partition-statistics'] == []


def test_statistics_that_do_not_fit_are_refused(table, commit, metadata, schema):
    first = ids(metadata())[0]
    whole = statistics(first, 's', **{'file-footer-size-in-bytes': 7, 'blob-metadata': []})
    for action, member in (('set-statistics', 'statistics'), ('set-partition-statistics', 'partition-statistics')):
        assert_refused(commit({'action': action, member: {**whole, 'snapshot-id': 9_999_999}}), 400, 9_999_999)
        assert_refused(commit({'action': action, member: {**whole, 'file-size-in-bytes': 'many'}}), 400, 'file-size-in-bytes')
    assert_refused(commit({'action': 'set-statistics', 'statistics': {**whole, 'blob-metadata': [{}]}}), 400, 'blob-metadata')
    assert metadata()['statistics'] == metadata()['partition-statistics'] == []


def schema_ids(metadata):
    return [shown['schema-id'] for shown in metadata['schemas']]


def test_unused_schemas_are_removed(table, commit, metadata, catalog, duck, truth, readers, schema):
    name = f'{schema}.t'
    for column in ('b', 'c'):
        with table.update_schema() as update:
            update.add_column(column, NUMBERED.find_type('n'))
    table.append(pa.table({'n': [1], 's': ['x'], 'b': [2], 'c': [3]}, schema=table.schema().as_arrow()))
    used, unused, current = schema_ids(metadata())
    assert_refused(commit({'action': 'remove-schemas', 'schema-ids': [current]}), 400, current)
    assert_refused(commit({'action': 'remove-schemas', 'schema-ids': [unused, used]}), 409, f'schema {used}')
    assert commit({'action': 'remove-schemas', 'schema-ids': [unused, 77]}).status_code == 200
    assert schema_ids(metadata()) == [used, current]
    assert_refused(commit({'action': 'set-current-schema', 'schema-id': unused}), 400, unused)
    old = [s['snapshot-id'] for s in metadata()['snapshots'] if s['schema-id'] == used]
    assert commit(remove(*old), {'action': 'remove-schemas', 'schema-ids': [used]}).status_code == 200
    assert schema_ids(metadata()) == [current]
    assert assert_agree_always(truth, readers, catalog, name) == 31
    assert duck.execute(f'SELECT * FROM lake.{name} AT (VERSION => {old[0]}) WHERE n = 3').fetchall() == [(3, 'x')]
    # DuckDB comes back to the columns of one that was removed: it is shown again, under its id.
    duck.execute(f'ALTER TABLE lake.{name} DROP COLUMN c')
    duck.execute(f"INSERT INTO lake.{name} VALUES (2, 'y', 3)")
    assert metadata()['current-schema-id'] == unused
    assert schema_ids(metadata()) == [unused, current]
    assert assert_agree_always(truth, readers, catalog, name) == 32


def nested(*fields):
    return {'id': 3, 'name': 'hollow', 'required': False, 'type': {'type': 'struct', 'fields': list(fields)}}


def test_what_duckdb_cannot_open_is_refused(lake, commit, metadata, duck, schema):
    """A table without columns, and a struct without fields, by a change or from the start."""
    inner = {'id': 4, 'name': 'x', 'type': 'int', 'required': False}
    plain = {'id': 1, 'name': 'n', 'type': 'long', 'required': False}
    duck.execute(f'CREATE TABLE lake.{schema}.t (n BIGINT)')
    before = metadata()

    def change(*fields):
        return commit({'action': 'add-schema', 'schema': {'type': 'struct', 'fields': list(fields)}, 'last-column-id': 4},
                      {'action': 'set-current-schema', 'schema-id': -1})
    assert_refused(change(), 501, 'without columns')
    assert_refused(change(plain, nested()), 501, 'hollow')
    http = Rest.of(lake)
    for fields, named in (([], 'without columns'), ([nested()], 'hollow')):
        answer = http.post(f'namespaces/{schema}/tables', {'name': 'u', 'schema': {'type': 'struct', 'fields': fields}})
        assert_refused(answer, 501, named)
    assert metadata() == before
    assert change(plain, nested(inner)).status_code == 200
    assert duck.execute(f'SELECT count(*) FROM lake.{schema}.t').fetchone() == (0,)
    assert_refused(change(plain, nested()), 501, 'hollow')


def spec_ids(metadata):
    return [spec['spec-id'] for spec in metadata['partition-specs']]


def test_unused_partition_specs_are_removed(commit, metadata, catalog, duck, truth, readers, schema):
    name = f'{schema}.t'
    by_name = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), 's'))
    table = catalog.create_table(name, NUMBERED, partition_spec=by_name)
    assert spec_ids(metadata()) == [0]
    table.append(numbers(table, range(10)))
    with table.update_spec() as update:
        update.add_field('n', BucketTransform(4))
    with table.update_spec() as update:
        update.remove_field('s')
    used, unused, current = spec_ids(metadata())
    assert_refused(commit({'action': 'remove-partition-specs', 'spec-ids': [unused, current]}), 400, current)
    assert_refused(commit({'action': 'remove-partition-specs', 'spec-ids': [unused, used]}), 409, f'spec {used}')
    assert commit({'action': 'remove-partition-specs', 'spec-ids': [unused, 77]}).status_code == 200
    assert spec_ids(metadata()) == [used, current]
    assert_refused(commit({'action': 'set-default-spec', 'spec-id': unused}), 400, unused)
    # Its rows are rewritten, and the snapshots that showed the old files go.
    table = catalog.load_table(name)
    table.overwrite(numbers(table, range(10)))
    old = ids(metadata())[:-1]
    assert commit(remove(*old), {'action': 'remove-partition-specs', 'spec-ids': [used]}).status_code == 200
    assert spec_ids(metadata()) == [current]
    assert assert_agree_always(truth, readers, catalog, name) == 10
    assert duck.execute(f'SELECT count(*) FROM lake.{name} AT (VERSION => {old[0]})').fetchone() == (10,)
    # A client takes the first one up again: it has its id, and files of DuckDB follow it.
    table = catalog.load_table(name)
    with table.update_spec() as update:
        update.remove_field(table.spec().fields[0].name)
        update.add_identity('s')
    assert metadata()['default-spec-id'] == used
    duck.execute(f"INSERT INTO lake.{name} SELECT i, 'by DuckDB' FROM range(20) r(i)")
    assert assert_agree_always(truth, readers, catalog, name) == 30


def test_a_spec_without_fields_is_made_when_rows_need_it(commit, metadata, catalog, duck, truth, readers, spark, schema):
    name = f'{schema}.t'
    spark.sql(f'CREATE TABLE lake.{name} (n BIGINT, s STRING) USING iceberg PARTITIONED BY (s)')
    assert spec_ids(metadata()) == [0]
    spark.sql(f"CREATE OR REPLACE TABLE lake.{name} USING iceberg PARTITIONED BY (bucket(2, n)) "
              "AS SELECT id AS n, 'a' AS s FROM range(10)")
    assert spec_ids(metadata()) == [0, 1], 'the id that Spark expects'
    assert assert_agree_always(truth, readers, catalog, name) == 10
    duck.execute(f"INSERT INTO lake.{name} VALUES (100, 'inlined')")
    assert spec_ids(metadata()) == [0, 1, 2]
    assert assert_agree_always(truth, readers, catalog, name) == 11
    assert_refused(commit({'action': 'remove-partition-specs', 'spec-ids': [2]}), 409, 'spec 2')
    duck.execute(f'DELETE FROM lake.{name} WHERE n = 100')
    spark.sql(f"INSERT INTO lake.{name} VALUES (200, 'b')")
    old = ids(metadata())[:-1]
    assert commit(remove(*old), {'action': 'remove-partition-specs', 'spec-ids': [0, 2]}).status_code == 200
    assert spec_ids(metadata()) == [1]
    duck.execute(f"INSERT INTO lake.{name} VALUES (101, 'inlined')")
    assert spec_ids(metadata()) == [1, 2]
    assert assert_agree_always(truth, readers, catalog, name) == 12


TRANSFORMS = {'identity': 's', 'year': 'ts', 'month': 'ts', 'day': 'ts', 'hour': 'ts', 'bucket[4]': 'n', 'truncate[3]': 's'}


@pytest.mark.parametrize('transform', TRANSFORMS)
def test_a_spec_with_each_transform(commit, metadata, catalog, duck, truth, readers, schema, transform):
    name = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{name} (n BIGINT, s VARCHAR, ts TIMESTAMP)')
    source = {'n': 1, 's': 2, 'ts': 3}[TRANSFORMS[transform]]
    field = {'source-id': source, 'transform': transform, 'name': 'part'}
    assert commit({'action': 'add-spec', 'spec': {'fields': [field]}},
                  {'action': 'set-default-spec', 'spec-id': -1}).status_code == 200
    shown = {spec['spec-id']: spec['fields'] for spec in metadata()['partition-specs']}
    assert shown[metadata()['default-spec-id']] == [{**field, 'field-id': 1000}]
    table = catalog.load_table(name)
    times = [datetime.datetime(2024, 2, 28 + n % 2, n) for n in range(12)]
    rows = {'n': list(range(12)), 's': [f'ab{n % 3}d' for n in range(12)], 'ts': times}
    table.append(pa.table(rows, schema=table.schema().as_arrow()))
    duck.execute(f"INSERT INTO lake.{name} SELECT i, 'xyz', TIMESTAMP '2024-03-01 05:00:00' FROM range(15) r(i)")
    assert assert_agree_always(truth, readers, catalog, name) == 27


TRUNCATED = {'alone': [(2, 'truncate[2]', 'start')], 'mixed': [(2, 'truncate[2]', 'start'), (1, 'identity', 'n')]}


@pytest.mark.parametrize('fields', TRUNCATED.values(), ids=TRUNCATED.keys())
def test_a_spec_with_truncate_comes_back(commit, metadata, catalog, duck, truth, readers, schema, fields):
    """The lake cannot hold it, and knows only that another one ends."""
    name = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{name} (n BIGINT, s VARCHAR)')

    def add(*fields):
        spec = {'fields': [{'source-id': source, 'transform': transform, 'name': part} for source, transform, part in fields]}
        return [{'action': 'add-spec', 'spec': spec}, {'action': 'set-default-spec', 'spec-id': -1}]

    def fill():
        default = metadata()['default-spec-id']
        table = catalog.load_table(name)
        assert table.spec().spec_id == default
        table.append(pa.table({'n': [1, 1, 2], 's': ['abc', 'abd', 'xyz']}, schema=table.schema().as_arrow()))
        duck.execute(f"INSERT INTO lake.{name} SELECT i % 2, 'by DuckDB' FROM range(15) r(i)")
        assert metadata()['default-spec-id'] == default
        return default
    assert commit(*add(*fields)).status_code == 200
    truncated = fill()
    assert commit(*add((1, 'bucket[4]', 'n_bucket'))).status_code == 200
    held = fill()
    def specs():
        return sorted(metadata()['partition-specs'], key=lambda spec: spec['spec-id'])
    shown = specs()
    flat = next(spec['spec-id'] for spec in shown if not spec['fields'])
    for spec in (truncated, flat, truncated, held, truncated):
        assert commit({'action': 'set-default-spec', 'spec-id': spec}).status_code == 200
        assert fill() == spec
    # Several in one commit, and with nothing between them: only the last one counts.
    back = [{'action': 'set-default-spec', 'spec-id': spec} for spec in (held, truncated)]
    assert commit(*back).status_code == commit(back[0]).status_code == commit(back[1]).status_code == 200
    assert fill() == truncated
    assert specs() == shown, 'no spec is new, and each means what it meant'
    assert assert_agree_always(truth, readers, catalog, name) == 8 * 18


def test_specs_and_orders_that_do_not_fit_are_refused(table, commit, metadata, schema):
    def spec(transform, source=1):
        return {'action': 'add-spec', 'spec': {'fields': [{'source-id': source, 'transform': transform, 'name': 'part'}]}}

    def order(transform, source=1):
        field = {'source-id': source, 'transform': transform, 'direction': 'asc', 'null-order': 'nulls-first'}
        return {'action': 'add-sort-order', 'sort-order': {'order-id': 5, 'fields': [field]}}
    assert_refused(commit(spec('void')), 501, 'void')
    assert_refused(commit(spec('day')), 400, 'day')
    assert_refused(commit(spec('identity', 77)), 400, 77)
    assert_refused(commit({'action': 'set-default-spec', 'spec-id': 77}), 400, 77)
    assert_refused(commit({'action': 'set-default-spec', 'spec-id': -1}), 400, 'partition spec')
    assert_refused(commit(order('identity', 77)), 400, 77)
    assert_refused(commit(order('day')), 400, 'day')
    assert_refused(commit({'action': 'set-default-sort-order', 'sort-order-id': 77}), 400, 77)
    assert_refused(commit({'action': 'set-default-sort-order', 'sort-order-id': -1}), 400, 'sort order')
    assert spec_ids(metadata()) == [0]
    assert [shown['order-id'] for shown in metadata()['sort-orders']] == [0]


def test_sort_orders_are_added_with_and_without_becoming_the_default(table, commit, metadata, duck, truth, readers, schema):
    def order(source, direction='asc', nulls='nulls-first'):
        field = {'source-id': source, 'transform': 'identity', 'direction': direction, 'null-order': nulls}
        return {'action': 'add-sort-order', 'sort-order': {'order-id': 9, 'fields': [field]}}
    assert commit(order(1)).status_code == 200
    assert metadata()['default-sort-order-id'] == 0
    assert commit(order(2, 'desc', 'nulls-last'), {'action': 'set-default-sort-order', 'sort-order-id': -1}).status_code == 200
    shown = metadata()
    assert [(o['order-id'], [(f['source-id'], f['direction'], f['null-order']) for f in o['fields']])
            for o in shown['sort-orders']] == [(0, []), (1, [(1, 'asc', 'nulls-first')]), (2, [(2, 'desc', 'nulls-last')])]
    assert shown['default-sort-order-id'] == 2
    assert commit({'action': 'set-default-sort-order', 'sort-order-id': 1}).status_code == 200
    assert metadata()['default-sort-order-id'] == 1
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (100, 'more')")
    assert assert_agree(truth, readers, f'{schema}.t') == 31


def test_clients_are_told_not_to_delete_files(table, metadata, spark, duck, schema):
    name = f'{schema}.t'
    assert metadata()['properties']['gc.enabled'] == 'false'
    with pytest.raises(Exception, match='GC is disabled'):
        spark.sql(f"CALL lake.system.expire_snapshots(table => '{name}', retain_last => 1)").collect()
    with pytest.raises(Exception, match='GC is disabled'):
        spark.sql(f"CALL lake.system.remove_orphan_files(table => '{name}')").collect()
    spark.sql(f"ALTER TABLE lake.{name} SET TBLPROPERTIES ('gc.enabled' = 'true')")
    assert metadata()['properties']['gc.enabled'] == 'true'
    spark.sql(f"ALTER TABLE lake.{name} UNSET TBLPROPERTIES ('gc.enabled')")
    assert metadata()['properties']['gc.enabled'] == 'false'
    duck.execute(f'CREATE TABLE lake.{schema}.by_duckdb (a BIGINT)')
    assert duck.execute(f'SELECT count(*) FROM lake.{name}').fetchone() == (30,)


def test_a_tag_comes_with_its_snapshot(table, commit, metadata, catalog, schema):
    """One request adds a snapshot to main and names it."""
    name = f'{schema}.t'
    loaded = catalog.load_table(name)
    with loaded.transaction() as both:
        both.append(numbers(loaded, [50]))
        chosen = both.table_metadata.current_snapshot_id
        ManageSnapshots(both).create_tag(chosen, 'made with it').commit()
    now = ids(metadata())[-1]
    assert metadata()['refs']['made with it'] == {'snapshot-id': now, 'type': 'tag'}
    with pytest.raises(CommitFailedException):
        with catalog.load_table(name).manage_snapshots() as change:
            change.create_tag(now, 'other')
            assert commit(ref('other', now)).status_code == 200
    assert catalog.load_table(name).scan().use_ref('made with it').to_arrow().num_rows == 31
