"""Where no readable copies are made, a table that Iceberg's readers would misread is refused with the column, and disturbs nothing."""
import pytest

from own_lake import compact_path, own_stack, snapshots
from rest import Rest, assert_error, table_body
from stack.process import wait_until

SECONDS = 60

# Type: what the lake calls it.
REFUSED = {
    'UTINYINT': 'uint8', 'USMALLINT': 'uint16', 'UINTEGER': 'uint32', 'UBIGINT': 'uint64', 'TIMESTAMP_MS': 'timestamp_ms', 'INTERVAL': 'interval',
    'STRUCT(a INTEGER, b UBIGINT)': 'uint64', 'UINTEGER[]': 'uint32', 'MAP(VARCHAR, INTERVAL)': 'interval',
}
SHOWN = {'TINYINT': 'int', 'SMALLINT': 'int', 'HUGEINT': 'double', 'UHUGEINT': 'double', 'TIMETZ': 'time', 'TIMESTAMP_S': 'timestamp', 'JSON': 'string', 'UUID': 'uuid', 'BLOB': 'binary'}


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture(scope='module')
def without_copies():
    with own_stack('nocopies', LAKEPROXY_READABLE_COPIES='off', LAKEPROXY_DISABLE_NOTIFY='1') as own:
        yield own


def opens(rest, schema):
    """Once copies are made, if it needs some."""
    answer = rest.get(f'namespaces/{schema}/tables/t')
    assert wait_until(lambda: rest.get(f'namespaces/{schema}/tables/t').status_code != 503, SECONDS), answer.text
    return rest.get(f'namespaces/{schema}/tables/t')


@pytest.mark.parametrize('place, kind', list(enumerate(REFUSED)))
def test_a_type_that_cannot_be_shown_is_refused_by_name(without_copies, place, kind):
    rest, duck, schema = without_copies.rest, without_copies.duck, f's{place}'
    duck.execute(f'CREATE SCHEMA lake.{schema}')
    duck.execute(f'CREATE TABLE lake.{schema}.odd (fine BIGINT, "the column" {kind})')
    duck.execute(f'CREATE TABLE lake.{schema}.other AS SELECT 1 AS a')
    answer = rest.get(f'namespaces/{schema}/tables/odd')
    assert_error(answer, 501)
    message = answer.json()['error']['message']
    assert 'the column' in message and REFUSED[kind] in message
    assert rest.get(f'namespaces/{schema}/tables/other').status_code == 200
    names = {each['name'] for each in rest.get(f'namespaces/{schema}/tables').json()['identifiers']}
    assert names == {'odd', 'other'}
    # A change of it is refused as well, and changes nothing.
    change = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'k': 'v'}}]}
    last = snapshots(duck)[-1]
    assert_error(rest.post(f'namespaces/{schema}/tables/odd', change), 501)
    assert_error(rest.post(compact_path(f'{schema}.odd')), 501)
    assert snapshots(duck)[-1] == last, 'what no client could be told of is not begun'
    assert duck.execute(f'SELECT count(*) FROM lake.{schema}.odd').fetchone() == (0,)
    # It is shown once the column is gone.
    duck.execute(f'ALTER TABLE lake.{schema}.odd DROP COLUMN "the column"')
    shown = rest.get(f'namespaces/{schema}/tables/odd')
    assert shown.status_code == 200, shown.text
    assert [field['name'] for field in shown.json()['metadata']['schemas'][-1]['fields']] == ['fine']


def test_a_type_that_is_right_under_another_name_is_shown(rest, duck, schema):
    columns = ', '.join(f'c{n} {kind}' for n, kind in enumerate(SHOWN))
    duck.execute(f'CREATE TABLE lake.{schema}.t ({columns})')
    metadata = rest.get(f'namespaces/{schema}/tables/t').json()['metadata']
    assert [field['type'] for field in metadata['schemas'][-1]['fields']] == list(SHOWN.values())


FILE = 'INSERT INTO {t} SELECT n AS a FROM range(40) r(n)'
ROWS_OF = {'default first': ("ALTER TABLE {t} ADD COLUMN b VARCHAR DEFAULT 'x'", 'INSERT INTO {t} SELECT n, NULL FROM range(40) r(n)'),
           'default last': (FILE, "ALTER TABLE {t} ADD COLUMN b VARCHAR DEFAULT 'x'"),
           'inlined': ('INSERT INTO {t} VALUES (1)', "ALTER TABLE {t} ADD COLUMN b VARCHAR DEFAULT 'x'"),
           'type last': (FILE, 'ALTER TABLE {t} ALTER a TYPE DOUBLE')}


@pytest.mark.parametrize('version', (2, 3))
@pytest.mark.parametrize('case', ROWS_OF)
def test_files_older_than_a_column_of_their_own_transaction(rest, duck, catalog, schema, case, version):
    """They begin at the same snapshot, and readers would take NULL for the default, or refuse the file's type."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER)')
    rest.post(f'namespaces/{schema}/tables/t', {'requirements': [], 'updates': [
        {'action': 'upgrade-format-version', 'format-version': version}]}).raise_for_status()
    duck.execute('BEGIN')
    for statement in ROWS_OF[case]:
        duck.execute(statement.format(t=f'lake.{table}'))
    duck.execute('COMMIT')
    assert opens(rest, schema).status_code == 200
    rows = duck.execute(f'FROM lake.{table} ORDER BY ALL').fetchall()
    shown = catalog.load_table(table).scan().to_arrow().to_pylist()
    assert sorted((tuple(row.values()) for row in shown), key=str) == sorted(rows, key=str)


CHANGES = {"ADD COLUMN b VARCHAR DEFAULT 'x'": 'b', 'ALTER a TYPE DOUBLE': 'a'}


@pytest.mark.parametrize('place, change', list(enumerate(CHANGES)))
def test_a_change_that_older_files_do_not_follow_is_refused_by_name(without_copies, place, change):
    rest, duck, schema = without_copies.rest, without_copies.duck, f'changed{place}'
    duck.execute(f'CREATE SCHEMA lake.{schema}')
    duck.execute(f'CREATE TABLE lake.{schema}.t AS SELECT n::INTEGER AS a FROM range(40) r(n)')
    assert rest.get(f'namespaces/{schema}/tables/t').status_code == 200
    duck.execute(f'ALTER TABLE lake.{schema}.t {change}')
    answer = rest.get(f'namespaces/{schema}/tables/t')
    assert_error(answer, 501)
    assert f"column '{CHANGES[change]}'" in answer.json()['error']['message']
    duck.execute(f'CREATE OR REPLACE TABLE lake.{schema}.t AS FROM lake.{schema}.t')
    assert rest.get(f'namespaces/{schema}/tables/t').status_code == 200


def test_a_geography_that_duckdb_writes_into_is_refused_by_name(without_copies):
    rest, duck, schema = without_copies.rest, without_copies.duck, 'geo'
    duck.execute(f'CREATE SCHEMA lake.{schema}')
    kinds = {'a': 'long', 'g': 'geography'}
    rest.post(f'namespaces/{schema}/tables', table_body('t', properties={'format-version': '3'}, schema={'type': 'struct', 'fields': [
        {'id': n, 'name': name, 'type': kind, 'required': False} for n, (name, kind) in enumerate(kinds.items(), 1)]})).raise_for_status()
    shown = rest.get(f'namespaces/{schema}/tables/t')
    assert shown.status_code == 200, shown.text
    duck.execute(f"INSERT INTO lake.{schema}.t SELECT n, 'POINT(1 2)'::GEOMETRY FROM range(40) r(n)")
    answer = rest.get(f'namespaces/{schema}/tables/t')
    assert_error(answer, 501)
    assert "column 'g' is a geography" in answer.json()['error']['message']
    # A geometry is what DuckDB says.
    duck.execute(f"CREATE TABLE lake.{schema}.plain AS SELECT 'POINT(1 2)'::GEOMETRY AS g FROM range(40)")
    assert rest.get(f'namespaces/{schema}/tables/plain').status_code == 200
    duck.execute(f'TRUNCATE lake.{schema}.t')
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    shown = rest.get(f'namespaces/{schema}/tables/t')
    assert shown.status_code == 200, shown.text


def test_a_default_that_is_gone_leaves_no_trace(rest, duck, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} AS SELECT n AS a FROM range(40) r(n)')
    duck.execute(f"ALTER TABLE lake.{table} ADD COLUMN b VARCHAR DEFAULT 'x'")
    with_it = duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0]
    duck.execute(f'ALTER TABLE lake.{table} DROP COLUMN b')
    assert opens(rest, schema).status_code == 200
    assert catalog.load_table(table).scan().to_arrow().to_pylist() == [{'a': n} for n in range(40)]
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{with_it}])")
    assert opens(rest, schema).status_code == 200
    assert catalog.load_table(table).scan().to_arrow().num_rows == 40
