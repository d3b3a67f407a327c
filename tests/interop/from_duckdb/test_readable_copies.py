"""Tables of DuckDB's whose files not every Iceberg client reads right open through copies of these files."""
import decimal

import pytest

from copies import newest, opened
from rest import Rest

ROWS = 1000


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def rows_of(table, **scan):
    return table.scan(**scan).to_arrow().to_pylist()


VALUES = {
    'UTINYINT': ('(n % 256)::UTINYINT', 'int', lambda n: n % 256),
    'USMALLINT': ('(n * 65)::USMALLINT', 'int', lambda n: n * 65),
    'UINTEGER': ('(4294967295 - n)::UINTEGER', 'long', lambda n: 4294967295 - n),
    'UBIGINT': ('(18446744073709551615 - n)::UBIGINT', 'decimal(20, 0)', lambda n: decimal.Decimal(18446744073709551615 - n)),
}


@pytest.mark.parametrize('kind', VALUES)
def test_unsigned_numbers_are_found_by_filters(rest, duck, duck_iceberg, catalog, schema, kind):
    expression, shown, value = VALUES[kind]
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} AS SELECT n, {expression} AS u FROM range({ROWS}) r(n)')
    metadata = opened(rest, table)
    assert metadata['schemas'][-1]['fields'][1]['type'] == shown
    loaded = catalog.load_table(table)
    assert [row['u'] for row in sorted(rows_of(loaded), key=lambda row: row['n'])] == [value(n) for n in range(ROWS)]
    for n in (0, 7, ROWS - 1):
        expected = {m for m in range(ROWS) if value(m) == value(n)}
        assert {row['n'] for row in rows_of(loaded, row_filter=f'u = {value(n)}')} == expected
        assert {row['n'] for row in rows_of(loaded, row_filter=f'u >= {value(n)}')} == {m for m in range(ROWS) if value(m) >= value(n)}
        found = duck_iceberg.execute(f'SELECT n FROM ice.{table} WHERE u = {value(n)}').fetchall()
        assert {row[0] for row in found} == expected
    # One more file, one more copy.
    duck.execute(f'INSERT INTO lake.{table} SELECT n + {ROWS}, {expression} FROM range({ROWS}) r(n)')
    opened(rest, table, newest(duck))
    assert len(rows_of(catalog.load_table(table))) == 2 * ROWS
    paths = [task.file.file_path for task in catalog.load_table(table).scan().plan_files()]
    assert len(paths) == 2 and all('/metadata/lake/copy-' in path for path in paths)


def test_deletes_of_both_sides_count(rest, duck, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} AS SELECT n, n::UINTEGER AS u FROM range({ROWS}) r(n)')
    opened(rest, table)
    duck.execute(f'DELETE FROM lake.{table} WHERE n % 10 = 0')
    opened(rest, table, newest(duck))
    left = {n for n in range(ROWS) if n % 10}
    assert {row['n'] for row in rows_of(catalog.load_table(table))} == left
    duck.execute(f'DELETE FROM lake.{table} WHERE n = 11')  # kept in PostgreSQL
    opened(rest, table, newest(duck))
    left -= {11}
    assert {row['n'] for row in rows_of(catalog.load_table(table))} == left
    catalog.load_table(table).delete('u = 13')  # copy on write: the copy goes, a client's file comes
    left -= {13}
    assert {row['n'] for row in rows_of(catalog.load_table(table))} == left
    assert {row[0] for row in duck.execute(f'SELECT n FROM lake.{table}').fetchall()} == left
    assert duck.execute(f'SELECT n FROM lake.{table} WHERE u = 17').fetchall() == [(17,)]
    duck.execute(f'DELETE FROM lake.{table} WHERE u < 500')
    opened(rest, table, newest(duck))
    left = {n for n in left if n >= 500}
    assert {row['n'] for row in rows_of(catalog.load_table(table))} == left


def test_appends_of_clients_are_read_by_duckdb(rest, duck, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} AS SELECT n, n::UINTEGER AS u FROM range({ROWS}) r(n)')
    opened(rest, table)
    loaded = catalog.load_table(table)
    more = loaded.scan(row_filter='n < 100').to_arrow()
    loaded.append(more)
    assert duck.execute(f'SELECT count(*), sum(u), max(u) FROM lake.{table}').fetchone() == (
        ROWS + 100, sum(range(ROWS)) + sum(range(100)), ROWS - 1)
    assert len(rows_of(catalog.load_table(table))) == ROWS + 100


INTERVALS = {
    "INTERVAL '1 year 2 months 3 days 04:05:06.007'": 'P1Y2M3DT4H5M6.007S',
    "INTERVAL '0 seconds'": 'PT0S', "INTERVAL '-1 month'": 'P-1M', "INTERVAL '-1 day'": 'P-1D',
    "INTERVAL '30 days'": 'P30D', "INTERVAL '14 months'": 'P1Y2M', "INTERVAL '36 hours'": 'PT36H',
    'NULL::INTERVAL': None,
}


@pytest.mark.parametrize('rows', (1, 20))  # kept in PostgreSQL, and in a file
def test_intervals_are_texts(rest, duck, catalog, schema, rows):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (n BIGINT, d INTERVAL, l INTERVAL[])')
    # DuckDB writes no negative interval into a file.
    shown = {value: text for value, text in INTERVALS.items() if rows == 1 or '-' not in value}
    values = ' UNION ALL '.join(f'SELECT {n} AS n, {value} AS d, [{value}] AS l' for n, value in enumerate(shown))
    duck.execute(f'INSERT INTO lake.{table} SELECT n + 100 * m, d, l FROM ({values}), range({rows}) r(m)')
    opened(rest, table)
    found = {row['n'] % 100: (row['d'], row['l']) for row in rows_of(catalog.load_table(table))}
    assert found == {n: (text, [text]) for n, text in enumerate(shown.values())}


def test_milliseconds_and_nested_parts(rest, duck, duck_iceberg, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f"""CREATE TABLE lake.{table} AS SELECT n, (TIMESTAMP '2024-02-29' + n * INTERVAL 1 MILLISECOND)::TIMESTAMP_MS AS t,
      CASE WHEN n % 3 > 0 THEN [4294967295::UINTEGER, n::UINTEGER, NULL] END AS l,
      CASE WHEN n % 3 > 0 THEN {{'a': n::UBIGINT, 'b': 'x'}} END AS s, MAP {{'k': n::UINTEGER}} AS m FROM range({ROWS}) r(n)""")
    opened(rest, table)
    rows = {row['n']: row for row in rows_of(catalog.load_table(table))}
    assert len(rows) == ROWS
    assert rows[3]['l'] is None and rows[3]['s'] is None
    assert rows[4]['l'] == [4294967295, 4, None] and rows[4]['s'] == {'a': 4, 'b': 'x'} and dict(rows[4]['m']) == {'k': 4}
    assert rows[7]['t'].isoformat() == '2024-02-29T00:00:00.007000'
    found = rows_of(catalog.load_table(table), row_filter="t = '2024-02-29T00:00:00.007'")
    assert [row['n'] for row in found] == [7]
    assert duck_iceberg.execute(f"SELECT n FROM ice.{table} WHERE t = TIMESTAMP '2024-02-29 00:00:00.007'").fetchall() == [(7,)]


ALTERS = {
    'ALTER TABLE {t} ADD COLUMN d INTEGER DEFAULT 7': ('n', 'd'),
    'ALTER TABLE {t} ALTER n TYPE DOUBLE': ('n',),
}


@pytest.mark.parametrize('statement', ALTERS)
@pytest.mark.parametrize('published', (True, False))
def test_an_alter_swaps_older_files_for_copies(rest, duck, catalog, schema, statement, published):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} AS SELECT n::INTEGER AS n FROM range({ROWS}) r(n)')
    before = opened(rest, table)['current-snapshot-id'] if published else None
    duck.execute(statement.format(t=f'lake.{table}'))
    changed = newest(duck)
    metadata = opened(rest, table, changed)
    loaded = catalog.load_table(table)
    expected = [dict(zip(ALTERS[statement], row)) for row in duck.execute(f'FROM lake.{table} ORDER BY n').fetchall()]
    assert sorted(rows_of(loaded), key=lambda row: row['n']) == expected
    if not published:
        return
    current = [each for each in metadata['snapshots'] if each['snapshot-id'] == changed]
    assert current[0]['summary']['operation'] == 'replace'
    assert [row['n'] for row in rows_of(loaded, snapshot_id=before)] == list(range(ROWS))
    old = [task.file.file_path for task in loaded.scan(snapshot_id=before).plan_files()]
    new = [task.file.file_path for task in loaded.scan().plan_files()]
    assert all(path.endswith('.parquet') for path in old) and all('/metadata/lake/copy-' in path for path in new)
    duck.execute(f'INSERT INTO lake.{table} SELECT * FROM lake.{table}')
    opened(rest, table, newest(duck))
    assert len(rows_of(catalog.load_table(table))) == 2 * ROWS


@pytest.mark.parametrize('before, after', [('INTEGER', 'DOUBLE'), ('SMALLINT', 'FLOAT')])
def test_a_column_that_outgrew_its_partition_transform(rest, duck, duck_iceberg, catalog, schema, spark, before, after):
    """Readers in Java refuse a table for one spec with a transform that does not take its column."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (n INTEGER, c {before})')
    duck.execute(f'INSERT INTO lake.{table} SELECT n, n FROM range({ROWS}) r(n)')
    unpartitioned = opened(rest, table)['current-snapshot-id']
    duck.execute(f'ALTER TABLE lake.{table} SET PARTITIONED BY (bucket(3, c))')
    duck.execute(f'INSERT INTO lake.{table} SELECT n + 1000, n FROM range({ROWS}) r(n)')
    assert any(spec['fields'] for spec in opened(rest, table, newest(duck))['partition-specs'])
    duck.execute(f'ALTER TABLE lake.{table} ALTER c TYPE {after}')
    duck.execute(f'DELETE FROM lake.{table} WHERE n % 10 = 3')
    metadata = opened(rest, table, newest(duck))
    assert [spec['fields'] for spec in metadata['partition-specs']] == [[]]
    assert unpartitioned not in [one['snapshot-id'] for one in metadata['snapshots']]
    expected = duck.execute(f'SELECT n, c::VARCHAR FROM lake.{table} ORDER BY n').fetchall()
    assert len(expected) == 2 * ROWS * 9 // 10
    assert duck_iceberg.execute(f'SELECT n, c::VARCHAR FROM ice.{table} ORDER BY n').fetchall() == expected
    found = sorted(rows_of(catalog.load_table(table)), key=lambda row: row['n'])
    assert [row['n'] for row in found] == [n for n, _ in expected]
    assert spark.sql(f'SELECT count(*), sum(n) FROM lake.{table}').collect()[0][:] == (len(expected), sum(n for n, _ in expected))
    # A client goes on with it.
    loaded = catalog.load_table(table)
    loaded.delete('n >= 1000')
    assert len(rows_of(catalog.load_table(table))) == ROWS * 9 // 10
    assert duck.execute(f'SELECT count(*) FROM lake.{table}').fetchone()[0] == ROWS * 9 // 10


CHANGES = {  # the partition, the type before, what is written, the type after; whether the values are the same
    'scale': ('c', 'DECIMAL(9,2)', '(n % 3)::DECIMAL(9,2) / 4', 'DECIMAL(18,4)', False),
    'double': ('c', 'INTEGER', 'n % 3', 'DOUBLE', False),
    'decimal': ('c', 'INTEGER', 'n % 3', 'DECIMAL(12,2)', False),
    'time': ('c', 'DATE', "DATE '2024-02-28' + (n % 3)::INTEGER", 'TIMESTAMP', False),
    'bucket': ('bucket(3, c)', 'INTEGER', 'n % 3', 'DECIMAL(12,2)', False),
    'year': ('year(c)', 'DATE', "DATE '2024-12-30' + (n % 3)::INTEGER", 'TIMESTAMP', True),
    'precision': ('c', 'DECIMAL(9,2)', '(n % 3)::DECIMAL(9,2) / 4', 'DECIMAL(12,2)', True),
}


@pytest.mark.parametrize('writer', ('duckdb', 'client'))
@pytest.mark.parametrize('case', CHANGES)
def test_a_partition_column_of_another_type(rest, duck, duck_iceberg, catalog, schema, spark, case, writer):
    """What the partition of a file says that was there before, whoever wrote it."""
    partition, before, value, after, same = CHANGES[case]
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (n BIGINT, c {before})')
    duck.execute(f'ALTER TABLE lake.{table} SET PARTITIONED BY ({partition})')
    rows = f'SELECT n, ({value})::{before} AS c FROM range({ROWS}) r(n)'
    if writer == 'duckdb':
        duck.execute(f'INSERT INTO lake.{table} {rows}')
        opened(rest, table)
    else:
        opened(rest, table)
        catalog.load_table(table).append(duck.execute(rows).to_arrow_table())
    published = opened(rest, table)['current-snapshot-id']
    duck.execute(f'ALTER TABLE lake.{table} ALTER c TYPE {after}')
    duck.execute(f'DELETE FROM lake.{table} WHERE n % 10 = 3')
    metadata = opened(rest, table, newest(duck))
    expected = duck.execute(f'SELECT n, c::VARCHAR FROM lake.{table} ORDER BY n').fetchall()
    assert len(expected) == ROWS * 9 // 10
    assert duck_iceberg.execute(f'SELECT n, c::VARCHAR FROM ice.{table} ORDER BY n').fetchall() == expected
    loaded = catalog.load_table(table)
    found = sorted(rows_of(loaded), key=lambda row: row['n'])
    assert [row['n'] for row in found] == [n for n, _ in expected]
    assert spark.sql(f'SELECT count(*), sum(n), count(DISTINCT c) FROM lake.{table}').collect()[0][:] == (len(expected), sum(n for n, _ in expected), 3)
    for one in {c for _, c in expected}:
        some = [n for n, c in expected if c == one]
        assert [row[0] for row in spark.sql(f"SELECT n FROM lake.{table} WHERE c = CAST('{one}' AS {after}) ORDER BY n").collect()] == some
        literal = f"'{one.replace(' ', 'T')}'" if after == 'TIMESTAMP' else one
        assert sorted(row['n'] for row in rows_of(loaded, row_filter=f'c = {literal}')) == some
    # An older state is shown where its manifests say what the partition says now.
    assert (published in [each['snapshot-id'] for each in metadata['snapshots']]) == same
    if same:
        assert len(rows_of(loaded, snapshot_id=published)) == ROWS
        assert spark.sql(f'SELECT count(*), count(DISTINCT c) FROM lake.{table} VERSION AS OF {published}').collect()[0][:] == (ROWS, 3)
    # A client goes on with it.
    loaded.delete('n >= 500')
    assert len(rows_of(catalog.load_table(table))) == ROWS * 9 // 20
    assert duck.execute(f'SELECT count(*) FROM lake.{table}').fetchone()[0] == ROWS * 9 // 20


def test_copies_outlive_duckdbs_upkeep(rest, duck, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} AS SELECT n, n::UINTEGER AS u FROM range({ROWS}) r(n)')
    before = opened(rest, table)['current-snapshot-id']
    duck.execute(f'INSERT INTO lake.{table} SELECT n, n::UINTEGER FROM range({ROWS}) r(n)')
    opened(rest, table, newest(duck))
    duck.execute("CALL ducklake_delete_orphaned_files('lake', older_than => now() + INTERVAL 1 DAY)")
    duck.execute(f"CALL ducklake_merge_adjacent_files('lake', '{'t'}', schema => '{schema}')")
    opened(rest, table, newest(duck))
    duck.execute("CALL ducklake_delete_orphaned_files('lake', older_than => now() + INTERVAL 1 DAY)")
    loaded = catalog.load_table(table)
    assert len(rows_of(loaded)) == 2 * ROWS
    assert len(rows_of(loaded, snapshot_id=before)) == ROWS


def test_a_file_that_a_rollback_brings_back_has_its_copy_at_once(rest, duck, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} AS SELECT (4294967295 - n)::UINTEGER AS u FROM range({ROWS}) r(n)')
    before = opened(rest, table)['current-snapshot-id']
    catalog.load_table(table).delete('u >= 0')
    emptied = catalog.load_table(table)
    assert rows_of(emptied) == []
    # The answer to this commit names the copies: a 500 would say that nobody knows what became of it.
    answer = rest.post(f'namespaces/{schema}/tables/t', {
        'requirements': [{'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': emptied.current_snapshot().snapshot_id}],
        'updates': [{'action': 'set-snapshot-ref', 'ref-name': 'main', 'type': 'branch', 'snapshot-id': before}]})
    assert answer.status_code == 200, answer.text[:500]
    assert len(rows_of(catalog.load_table(table))) == ROWS
