"""Scans that the server plans: the same rows and files as a client finds that reads the manifests itself."""
import datetime
import decimal
import re

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import BadRequestError, NoSuchTableError
from pyiceberg.expressions import (AlwaysFalse, AlwaysTrue, And, EqualTo, GreaterThan, GreaterThanOrEqual, In, IsNaN,
                                   IsNull, LessThan, LessThanOrEqual, Not, NotEqualTo, NotIn, NotNaN, NotNull,
                                   NotStartsWith, Or, StartsWith)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import (BucketTransform, DayTransform, HourTransform, IdentityTransform, MonthTransform,
                                  TruncateTransform, YearTransform)

import iceberg_tables
from by_hand import Watched
from iceberg_tables import every_value, rows
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from lake_clients import spark as spark_client
from rest import Rest, assert_error

MOMENT = datetime.datetime(1970, 1, 2, 12)
FILTERS = [
    AlwaysTrue(), AlwaysFalse(),
    EqualTo('i', 7), NotEqualTo('i', 7), LessThan('i', 20), LessThanOrEqual('i', 20), GreaterThan('i', 95),
    GreaterThanOrEqual('i', 95), In('i', {3, 50, 1000}), NotIn('i', {3, 50}), IsNull('i'), NotNull('i'),
    EqualTo('big', 5 * 10**12), GreaterThan('big', 98 * 10**12), LessThan('big', -1),
    EqualTo('f', 2.5), LessThan('f', 1.0), EqualTo('d', -1.25), LessThan('d', -12.0), IsNaN('d'), NotNaN('d'),
    EqualTo('dec9', decimal.Decimal('0.07')), GreaterThan('dec9', decimal.Decimal('0.90')),
    LessThan('dec38', decimal.Decimal('-900000000000.0000000000')),
    EqualTo('day', datetime.date(1970, 1, 2)), GreaterThan('day', datetime.date(1970, 1, 4)),
    LessThan('ts', MOMENT), GreaterThanOrEqual('ts', MOMENT),
    LessThan('tstz', MOMENT.replace(tzinfo=datetime.timezone.utc)),
    EqualTo('s', 'ü7'), StartsWith('s', 'ü9'), NotStartsWith('s', 'ü'), GreaterThan('s', 'ü98'), In('s', {'ü1', 'x'}),
    EqualTo('raw', bytes([7, 255])), EqualTo('flag', True),
    EqualTo('pair.a', 7), IsNull('pair.b'),
    And(GreaterThan('i', 10), LessThan('i', 12)), Or(EqualTo('i', 1), EqualTo('s', 'ü99')),
    Not(LessThan('i', 90)), Not(And(NotNull('i'), GreaterThan('big', 0))),
]
# PyIceberg keeps a file of which each row is what they rule out.
NEGATIVE = NotEqualTo, NotIn, NotStartsWith
SPECS = {
    'none': [],
    'identity': [('i', IdentityTransform())],
    'bucket': [('big', BucketTransform(4)), ('s', BucketTransform(3))],
    'truncate': [('i', TruncateTransform(10)), ('s', TruncateTransform(2))],
    'time': [('ts', DayTransform())],
    'hour': [('tstz', HourTransform())],
    'coarse': [('day', MonthTransform())],
    'year': [('ts', YearTransform())],
}


@pytest.fixture(scope='session')
def planned(lake):
    """PyIceberg whose scans are planned by the server."""
    catalog = load_catalog('planned', **{**iceberg_client.properties(lake), 'scan-planning-mode': 'server'})
    assert catalog.supports_server_side_planning()
    return catalog


@pytest.fixture(scope='session')
def rest(lake):
    return Rest.of(lake)


def files_of(scan):
    """The data files of a scan, each with its delete files."""
    return {task.file.file_path: {file.file_path for file in task.delete_files} for task in scan.plan_files()}


def texts(table):
    return sorted(map(str, table.to_pylist()))


def assert_same(catalog, planned, name, filters=FILTERS, **scan):
    """Of each filter; returns how many files the filters leave out together."""
    local, remote = catalog.load_table(name), planned.load_table(name)
    whole = len(files_of(local.scan(**scan)))
    left_out = 0
    for row_filter in filters:
        by_manifests = local.scan(row_filter=row_filter, **scan)
        by_server = remote.scan(row_filter=row_filter, **scan)
        seen, known = files_of(by_server), files_of(by_manifests)
        if isinstance(row_filter, NEGATIVE):
            assert set(seen) <= set(known), f'files of {row_filter}'
        else:
            assert set(seen) == set(known), f'files of {row_filter}'
        # PyIceberg takes the vectors of a whole partition for each of its files, and reads the right one of them.
        assert all(seen[file] <= known[file] for file in seen), f'deletes of {row_filter}'
        assert texts(by_server.to_arrow()) == texts(by_manifests.to_arrow()), f'rows of {row_filter}'
        left_out += whole - len(files_of(by_server))
    return left_out


def values(table, first, count):
    """Without a row of nulls: PyIceberg 0.12 reads no NULL of a partition from a plan."""
    made = [every_value(n) for n in range(first, first + count)]
    return pa.Table.from_pylist(made, schema=table.schema().as_arrow())


@pytest.mark.parametrize('kind', SPECS)
def test_every_filter_finds_the_same_rows_and_files(catalog, planned, schema, kind):
    columns = iceberg_tables.every_type()
    fields = [PartitionField(columns.find_field(column).field_id, 1000 + number, transform, f'p{number}')
              for number, (column, transform) in enumerate(SPECS[kind])]
    name = f'{schema}.t'
    table = catalog.create_table(name, columns, partition_spec=PartitionSpec(*fields))
    for first in (0, 40, 80):
        table.append(values(table, first, 20))
    if kind == 'none':
        table.append(rows(table, every_value, 200, 3))
    assert assert_same(catalog, planned, name) > 60


@pytest.fixture
def changed(duck, rest, schema, request):
    """A table of DuckDB's with files, deletes, inlined rows and deletes, and a changed schema."""
    name = f'{schema}.t'
    fields = [{'id': number, 'name': column, 'type': kind, 'required': False}
              for number, (column, kind) in enumerate((('n', 'long'), ('day', 'date'), ('s', 'string')), 1)]
    body = {'name': 't', 'schema': {'type': 'struct', 'fields': fields},
            'properties': {'format-version': str(getattr(request, 'param', 2))}}
    assert rest.post(f'namespaces/{schema}/tables', body).status_code == 200
    duck.execute(f'ALTER TABLE lake.{name} SET PARTITIONED BY (day)')
    for first in (0, 100, 200):
        duck.execute(f"INSERT INTO lake.{name} SELECT n, DATE '2020-01-01' + (n % 4)::INT, 's' || n "
                     f'FROM range({first}, {first + 100}) r(n)')
    duck.execute(f'DELETE FROM lake.{name} WHERE n BETWEEN 10 AND 60')
    duck.execute(f"INSERT INTO lake.{name} VALUES (1000, '2020-01-03', 'inlined'), (1001, '2020-01-09', 'too')")
    duck.execute(f'DELETE FROM lake.{name} WHERE n IN (150, 1001)')
    duck.execute(f'ALTER TABLE lake.{name} ADD COLUMN later INTEGER')
    duck.execute(f'ALTER TABLE lake.{name} RENAME COLUMN s TO text')
    duck.execute(f'INSERT INTO lake.{name} (n, day, text, later) '
                 f"SELECT n, DATE '2020-02-01', 'z' || n, n FROM range(300, 400) r(n)")
    return name


CHANGED_FILTERS = [AlwaysTrue(), EqualTo('n', 15), GreaterThan('n', 290), EqualTo('day', '2020-01-03'),
                   In('day', {'2020-01-01', '2020-02-01'}), Not(LessThan('day', '2020-02-01'))]
NOW_FILTERS = [*CHANGED_FILTERS, NotNull('later'), StartsWith('text', 'inl'),
               And(EqualTo('day', '2020-01-03'), StartsWith('text', 's1'))]


@pytest.mark.parametrize('changed', [2, 3], indirect=True)
def test_deleted_inlined_and_evolved_tables_agree_now_and_then(catalog, planned, changed):
    assert assert_same(catalog, planned, changed, NOW_FILTERS) > 20
    assert any(files_of(planned.load_table(changed).scan()).values())
    for snapshot in catalog.load_table(changed).snapshots():
        assert_same(catalog, planned, changed, CHANGED_FILTERS, snapshot_id=snapshot.snapshot_id)


@pytest.mark.parametrize('changed', [3], indirect=True)
def test_deletion_vectors_are_told_with_their_places(rest, duck, changed):
    found = plan(rest, changed)
    vectors = found['delete-files']
    assert vectors and {file['file-format'] for file in vectors} == {'puffin'}
    assert all({'content-offset', 'content-size-in-bytes', 'referenced-data-file'} <= set(file) for file in vectors)
    by_path = {task['data-file']['file-path']: task for task in found['file-scan-tasks']}
    for number, vector in enumerate(vectors):
        assert by_path[vector['referenced-data-file']]['delete-file-references'] == [number]
    assert all('first-row-id' in task['data-file'] for task in found['file-scan-tasks'])
    live = sum(task['data-file']['record-count'] for task in found['file-scan-tasks'])
    live -= sum(vector['record-count'] for vector in vectors)
    assert live == duck.execute(f'SELECT count(*) FROM lake.{changed}').fetchone()[0]


def table_path(name):
    namespace, table = name.split('.')
    return f'namespaces/{namespace}/tables/{table}'


def plan(rest, name, **request):
    answer = rest.post(f'{table_path(name)}/plan', request)
    assert answer.status_code == 200, answer.text[:500]
    found = answer.json()
    assert found['status'] == 'completed'
    return found


def plans_made(lake):
    counted = re.search(r'lakeproxy_http_requests_total\{operation="planTableScan",status="2xx"\} (\d+)',
                        requests.get(f'{lake.uri}/metrics', timeout=30).text)
    return int(counted[1]) if counted else 0


@pytest.fixture(scope='session')
def spark_planned(lake, spark):
    """A second catalog of the session, whose scans are planned by the server."""
    for key, value in spark_client.catalog_settings(lake, 'spark.sql.catalog.planned').items():
        if key != 'spark.sql.extensions':
            spark.conf.set(key, value)
    spark.conf.set('spark.sql.catalog.planned.scan-planning-mode', 'server')
    return spark


SPARK_FILTERS = ['true', 'n = 15', 'n > 290', "day = DATE '2020-01-03'", "day IN (DATE '2020-01-01', DATE '2020-02-01')",
                 'later IS NOT NULL', "text LIKE 's1%'", 'n IS NULL', "text = 'inlined' OR n BETWEEN 100 AND 105",
                 'n IN (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)', 'NOT (n < 390)']


@pytest.mark.parametrize('changed', [2, 3], indirect=True)
def test_spark_finds_the_same_rows(spark_planned, lake, changed):
    before = plans_made(lake)
    snapshot = spark_planned.sql(f'SELECT min(snapshot_id) FROM lake.{changed}.snapshots').collect()[0][0]
    for where in SPARK_FILTERS:
        wanted = spark_planned.sql(f'SELECT * FROM lake.{changed} WHERE {where}').toArrow()
        found = spark_planned.sql(f'SELECT * FROM planned.{changed} WHERE {where}').toArrow()
        assert texts(found) == texts(wanted), where
    wanted = spark_planned.sql(f'SELECT * FROM lake.{changed} VERSION AS OF {snapshot} WHERE n < 50').toArrow()
    found = spark_planned.sql(f'SELECT * FROM planned.{changed} VERSION AS OF {snapshot} WHERE n < 50').toArrow()
    assert texts(found) == texts(wanted)
    assert plans_made(lake) >= before + len(SPARK_FILTERS)


def test_spark_reads_null_partitions_and_what_was_appended_since(spark_planned, duck, schema):
    name = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{name} (n BIGINT, part VARCHAR)')
    duck.execute(f'ALTER TABLE lake.{name} SET PARTITIONED BY (part)')
    for first in (0, 20):
        duck.execute(f"INSERT INTO lake.{name} SELECT n, CASE WHEN n % 2 = 0 THEN 'even' END "
                     f'FROM range({first}, {first + 20}) r(n)')
    for where in ('part IS NULL', "part = 'even'", "part <> 'even' OR part IS NULL", 'n < 5'):
        wanted = spark_planned.sql(f'SELECT * FROM lake.{name} WHERE {where}').toArrow()
        found = spark_planned.sql(f'SELECT * FROM planned.{name} WHERE {where}').toArrow()
        assert texts(found) == texts(wanted) and wanted.num_rows
    ids = [row[0] for row in spark_planned.sql(f'SELECT snapshot_id FROM lake.{name}.snapshots ORDER BY 1').collect()]
    since = spark_planned.read.option('start-snapshot-id', ids[-2]).option('end-snapshot-id', ids[-1])
    assert sorted(row.n for row in since.table(f'planned.{name}').collect()) == list(range(20, 40))


# What the API says besides.

@pytest.fixture
def numbered(catalog, schema):
    table = catalog.create_table(f'{schema}.t', iceberg_tables.NUMBERED)
    for first in (0, 10, 20):
        table.append(iceberg_tables.numbers(table, range(first, first + 10)))
    return f'{schema}.t'


def counts(found):
    return [task['data-file']['record-count'] for task in found['file-scan-tasks']]


def test_incremental_scans_tell_what_was_appended(rest, catalog, numbered):
    ids = [snapshot.snapshot_id for snapshot in catalog.load_table(numbered).snapshots()]
    assert len(plan(rest, numbered)['file-scan-tasks']) == 3
    assert len(plan(rest, numbered, **{'snapshot-id': ids[0]})['file-scan-tasks']) == 1
    since = plan(rest, numbered, **{'start-snapshot-id': ids[0], 'end-snapshot-id': ids[2]})
    assert len(since['file-scan-tasks']) == 2
    nothing = plan(rest, numbered, **{'start-snapshot-id': ids[2], 'end-snapshot-id': ids[2]})
    assert nothing['file-scan-tasks'] == []
    backwards = rest.post(f'{table_path(numbered)}/plan', {'start-snapshot-id': ids[2], 'end-snapshot-id': ids[0]})
    assert_error(backwards, 400)


def test_a_table_without_snapshots_has_no_files(rest, catalog, schema):
    catalog.create_table(f'{schema}.t', iceberg_tables.NUMBERED)
    found = plan(rest, f'{schema}.t', filter={'type': 'eq', 'term': 'n', 'value': 1})
    assert found['file-scan-tasks'] == [] and found['delete-files'] == []


def test_statistics_are_told_of_the_columns_that_are_asked_for(rest, numbered):
    assert 'lower-bounds' not in plan(rest, numbered)['file-scan-tasks'][0]['data-file']
    file = plan(rest, numbered, **{'stats-fields': ['n'], 'select': ['n', 's']})['file-scan-tasks'][0]['data-file']
    assert file['value-counts'] == {'keys': [1], 'values': [10]}
    assert file['lower-bounds']['keys'] == [1]
    lowest = int.from_bytes(bytes.fromhex(file['lower-bounds']['values'][0]), 'little')
    assert lowest in (0, 10, 20)


def test_rows_that_are_enough_end_a_plan(rest, numbered):
    assert counts(plan(rest, numbered, **{'min-rows-requested': 11})) == [10, 10]
    assert counts(plan(rest, numbered, **{'min-rows-requested': 0})) == []
    filtered = plan(rest, numbered, **{'min-rows-requested': 1, 'filter': {'type': 'gt-eq', 'term': 'n', 'value': 0}})
    assert counts(filtered) == [10, 10, 10]


def test_the_schema_of_then_is_taken_when_it_is_asked_for(rest, catalog, numbered):
    table = catalog.load_table(numbered)
    first = table.snapshots()[0].snapshot_id
    with table.update_schema() as change:
        change.rename_column('n', 'number')
    then = {'snapshot-id': first, 'use-snapshot-schema': True}
    old, new = ({'type': 'eq', 'term': column, 'value': 1} for column in ('n', 'number'))
    assert len(plan(rest, numbered, filter=old, **then)['file-scan-tasks']) == 1
    assert len(plan(rest, numbered, filter=new, **{'snapshot-id': first})['file-scan-tasks']) == 1
    for wrong in ({'filter': new, **then}, {'filter': old, 'snapshot-id': first}):
        assert_error(rest.post(f'{table_path(numbered)}/plan', wrong), 400)


def test_a_plan_is_told_again_until_it_is_cancelled(rest, numbered):
    found = plan(rest, numbered)
    path = f'{table_path(numbered)}/plan/{found["plan-id"]}'
    assert rest.get(path).json() == found
    assert rest.send('DELETE', path).status_code == 204
    for method in ('GET', 'DELETE'):
        answer = rest.send(method, path)
        assert_error(answer, 404)
        assert answer.json()['error']['type'] == 'NoSuchPlanIdException'


# Residuals of this make a page of few tasks.
LONG = {'type': 'or', 'left': {'type': 'gt-eq', 'term': 'n', 'value': 0},
        'right': {'type': 'in', 'term': 's', 'values': [f'{n:01000}' for n in range(900)]}}


def test_a_large_plan_is_fetched_in_parts(rest, catalog, schema):
    table = catalog.create_table(f'{schema}.t', iceberg_tables.NUMBERED)
    catalog.create_table(f'{schema}.other', iceberg_tables.NUMBERED)
    for first in range(14):
        table.append(iceberg_tables.numbers(table, [first]))
    found = plan(rest, f'{schema}.t', filter=LONG)
    tasks = f'{table_path(schema + ".t")}/tasks'
    names = {task['data-file']['file-path'] for task in found['file-scan-tasks']}
    assert 1 <= len(names) < 14
    for task in found['plan-tasks']:
        assert len(task) < 64
        assert_error(rest.post(f'{table_path(schema + ".other")}/tasks', {'plan-task': task}), 404)
        answer = rest.post(tasks, {'plan-task': task})
        assert answer.status_code == 200 and answer.json() == rest.post(tasks, {'plan-task': task}).json()
        more = {task['data-file']['file-path'] for task in answer.json()['file-scan-tasks']}
        assert more and not more & names
        names |= more
    assert names == files_of(catalog.load_table(f'{schema}.t').scan()).keys()
    rest.send('DELETE', f'{table_path(schema + ".t")}/plan/{found["plan-id"]}')
    assert_error(rest.post(tasks, {'plan-task': found['plan-tasks'][0]}), 404)


def test_a_client_fetches_the_parts_of_a_large_plan(catalog, planned, schema):
    table = catalog.create_table(f'{schema}.t', iceberg_tables.NUMBERED)
    for first in range(14):
        table.append(iceberg_tables.numbers(table, [first]))
    wide = Or(GreaterThanOrEqual('n', 0), In('s', {f'{n:01000}' for n in range(900)}))
    found = planned.load_table(f'{schema}.t').scan(row_filter=wide)
    assert len(files_of(found)) == 14
    assert sorted(found.to_arrow()['n'].to_pylist()) == list(range(14))


def test_a_plan_of_another_table_is_none(rest, catalog, numbered, schema):
    catalog.create_table(f'{schema}.other', iceberg_tables.NUMBERED)
    found = plan(rest, numbered)
    assert_error(rest.get(f'{table_path(schema + ".other")}/plan/{found["plan-id"]}'), 404)
    assert rest.get(f'{table_path(numbered)}/plan/{found["plan-id"]}').status_code == 200


def test_a_plan_ends_with_its_table(rest, catalog, numbered):
    found = plan(rest, numbered)
    catalog.drop_table(numbered)
    answer = rest.get(f'{table_path(numbered)}/plan/{found["plan-id"]}')
    assert_error(answer, 404)
    assert answer.json()['error']['type'] == 'NoSuchTableException'


def nested(levels):
    condition = {'type': 'eq', 'term': 'n', 'value': 1}
    for _ in range(levels):
        condition = {'type': 'not', 'child': condition}
    return condition


REFUSED = {
    'no predicate': ({'filter': {'type': 'like', 'term': 'n', 'value': 1}}, 'filter.type'),
    'no column': ({'filter': {'type': 'not', 'child': {'type': 'is-null', 'term': 'x'}}}, 'filter.child.term'),
    'another case': ({'filter': {'type': 'is-null', 'term': 'N'}}, 'filter.term'),
    'another type': ({'filter': {'type': 'in', 'term': 'n', 'values': [1, 'x']}}, 'filter.values[1]'),
    'too deep': ({'filter': nested(201)}, 'levels'),
    'deeper than JSON': ({'filter': nested(400)}, 'body'),
    'no snapshot': ({'snapshot-id': 987654321}, 'snapshot-id'),
    'half a range': ({'start-snapshot-id': 1}, 'end-snapshot-id'),
    'point and range': ({'snapshot-id': 1, 'start-snapshot-id': 1, 'end-snapshot-id': 2}, 'snapshot-id'),
    'no selected column': ({'select': ['n', 'x']}, 'select[1]'),
    'no column with statistics': ({'stats-fields': ['x']}, 'stats-fields[0]'),
    'no number': ({'min-rows-requested': 'all'}, 'min-rows-requested'),
}


@pytest.mark.parametrize('kind', REFUSED)
def test_what_is_no_scan_is_refused_by_its_place(rest, numbered, kind):
    body, place = REFUSED[kind]
    answer = rest.post(f'{table_path(numbered)}/plan', body)
    assert_error(answer, 400)
    assert place in answer.json()['error']['message']


def test_what_is_allowed_stands_beside_it(rest, numbered):
    plan(rest, numbered, filter=nested(200))
    plan(rest, numbered, filter={'type': 'is-null', 'term': 'N'}, **{'case-sensitive': False})
    plan(rest, numbered, **{'select': ['n', 's'], 'stats-fields': ['s']})


def test_a_body_over_the_bound_is_refused(rest, numbered):
    filter_of = {'type': 'in', 'term': 's', 'values': ['x' * 1000] * 1100}
    assert_error(rest.post(f'{table_path(numbered)}/plan', {'filter': filter_of}), 413)


def test_unknown_tables_tasks_and_plans_are_404(rest, numbered):
    path = table_path(numbered)
    for task in ('x', '272d8652-037c-4c46-8c1c-96a67730ff4c.1', plan(rest, numbered)['plan-id'] + '.1'):
        answer = rest.post(f'{path}/tasks', {'plan-task': task})
        assert_error(answer, 404)
        assert answer.json()['error']['type'] == 'NoSuchPlanTaskException'
    assert_error(rest.post(f'{path}/tasks', {}), 400)
    assert_error(rest.post(f'{path}none/plan', {}), 404)
    assert_error(rest.get(f'{path}/plan/x'), 404)


def test_a_client_hears_why(planned, numbered):
    with pytest.raises(BadRequestError, match='filter.term'):
        planned.load_table(numbered).scan(row_filter=EqualTo('x', 1)).plan_files()
    table = planned.load_table(numbered)
    planned.drop_table(numbered)
    with pytest.raises(NoSuchTableError):
        table.scan().plan_files()


def test_planning_is_announced_and_nobody_is_made_to_use_it(rest, lake, numbered):
    endpoints = requests.get(f'{lake.uri}/v1/config', timeout=30).json()['endpoints']
    table = '/v1/{prefix}/namespaces/{namespace}/tables/{table}'
    assert {f'POST {table}/plan', f'GET {table}/plan/{{plan-id}}', f'DELETE {table}/plan/{{plan-id}}',
            f'POST {table}/tasks'} <= set(endpoints)
    assert 'scan-planning-mode' not in rest.get(table_path(numbered)).json()['config']


@pytest.mark.parametrize('mode', ['server', 'client'])
def test_who_must_plan_is_told_where_the_operator_says_so(stack, lake, numbered, mode):
    with Watched.beside(stack, LAKEPROXY_SCAN_PLANNING=mode) as server:
        loaded = Rest(server.uri(), lake.warehouse).get(table_path(numbered)).json()
        assert loaded['config']['scan-planning-mode'] == mode


def test_a_plan_is_the_same_without_room_for_manifests_and_is_known_where_it_was_made(stack, lake, rest, numbered):
    with Watched.beside(stack, LAKEPROXY_MANIFEST_CACHE_MAX_BYTES='64KiB') as server:
        other = Rest(server.uri(), lake.warehouse)
        found = [plan(catalog, numbered, filter={'type': 'lt', 'term': 'n', 'value': 15}) for catalog in (rest, other, other)]
        assert len(found[0]['file-scan-tasks']) == 2
        assert found[0]['file-scan-tasks'] == found[1]['file-scan-tasks'] == found[2]['file-scan-tasks']
        assert other.get(f'{table_path(numbered)}/plan/{found[1]["plan-id"]}').status_code == 200
        assert_error(rest.get(f'{table_path(numbered)}/plan/{found[1]["plan-id"]}'), 404)


def test_a_namespace_has_no_functions(rest, schema):
    assert rest.get(f'namespaces/{schema}/functions').json()['identifiers'] == []
    answer = rest.get(f'namespaces/{schema}/functions/f')
    assert_error(answer, 404)
    assert answer.json()['error']['type'] == 'NoSuchFunctionException'
    for path in ('functions', 'functions/f'):
        answer = rest.get(f'namespaces/{schema}none/{path}')
        assert_error(answer, 404)
        assert answer.json()['error']['type'] == 'NoSuchNamespaceException'


def test_macros_are_no_functions_since_what_one_returns_is_told_by_who_calls_it(rest, duck, lake, schema, stack):
    """A function of Iceberg's has one type of result for ever. DuckLake records the types of a macro's parameters alone, and DuckDB
    looks up each name in its body when it is called: among the tables of then, and the macros of the caller's session."""
    duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER)')
    duck.execute(f'CREATE MACRO lake.{schema}.plain(x) AS x + 1')
    duck.execute(f'CREATE MACRO lake.{schema}.several(x INTEGER) AS x + 1, (x VARCHAR) AS x')
    duck.execute(f'CREATE MACRO lake.{schema}.rows(n INTEGER) AS TABLE SELECT a FROM lake.{schema}.t WHERE a < n')
    duck.execute(f'CREATE MACRO lake.{schema}.highest(x INTEGER) AS (SELECT max(a) FROM lake.{schema}.t)')
    duck.execute(f'CREATE MACRO lake.{schema}.shout(x VARCHAR) AS upper(x)')
    assert rest.get(f'namespaces/{schema}/functions').json()['identifiers'] == []
    for name in ('plain', 'several', 'rows', 'highest', 'shout'):
        assert_error(rest.get(f'namespaces/{schema}/functions/{name}'), 404)

    def returned(connection, call):
        return connection.execute(f'SELECT typeof(lake.{schema}.{call})').fetchone()[0]

    before = returned(duck, 'highest(1)')
    duck.execute(f'ALTER TABLE lake.{schema}.t ALTER a TYPE BIGINT')
    assert (before, returned(duck, 'highest(1)')) == ('INTEGER', 'BIGINT')
    session = duckdb_client.connect_lake(lake)
    session.execute('CREATE TEMP MACRO upper(x) AS 42')
    assert (returned(duck, "shout('a')"), returned(session, "shout('a')")) == ('VARCHAR', 'INTEGER')
    columns = stack.postgres.query('lake', "SELECT column_name FROM information_schema.columns WHERE table_name = 'ducklake_macro_impl'")
    assert set(columns.split()) == {'macro_id', 'impl_id', 'dialect', 'sql', 'type'}  # scalar or table, which is no type of a result
