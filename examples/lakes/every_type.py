"""A wide table with a column of every type that DuckDB keeps in a lake, and one whose columns were changed on the way.

Iceberg has no unsigned integers, no intervals, no 128-bit integers and no milliseconds. docs/lake/types.md says what its
clients read in their place. Spark refuses each table that has a time, so those two types have a table of their own.
"""
EXTENSIONS = ()
ROWS = 1000

# Each column by its name, type and value in row n.
WIDE = {
    'flag': ('BOOLEAN', 'n % 2 = 0'), 'tiny': ('TINYINT', 'n % 100'), 'small': ('SMALLINT', '-n'),
    'i': ('INTEGER', 'n * 1000'), 'big': ('BIGINT', 'n * 10_000_000_000'), 'huge': ('HUGEINT', 'n * 1_000_000_000_000_000'),
    'utiny': ('UTINYINT', 'n % 256'), 'usmall': ('USMALLINT', 'n % 65536'), 'u': ('UINTEGER', '4294967295 - n'),
    'ubig': ('UBIGINT', '18446744073709551615 - n'), 'uhuge': ('UHUGEINT', 'n * 1_000_000_000'),
    'f': ('FLOAT', 'n / 8'), 'd': ('DOUBLE', '-n / 3'), 'dec9': ('DECIMAL(9,2)', 'n / 100'),
    'dec18': ('DECIMAL(18,4)', 'n / 10'), 'dec38': ('DECIMAL(38,10)', '-n'), 'day': ('DATE', "DATE '1969-12-25' + n::INTEGER"),
    'ts': ('TIMESTAMP', "TIMESTAMP '1969-12-31 23:59:59.999999' + n * INTERVAL 1 HOUR"),
    'ts_s': ('TIMESTAMP_S', "TIMESTAMP '1969-12-31 23:59:59' + n * INTERVAL 1 HOUR"),
    'ts_ms': ('TIMESTAMP_MS', "TIMESTAMP '1969-12-31 23:59:59.999' + n * INTERVAL 1 HOUR"),
    'tstz': ('TIMESTAMPTZ', "TIMESTAMPTZ '2024-02-29 12:00:00+02' + n * INTERVAL 1 MINUTE"),
    'span': ('INTERVAL', 'INTERVAL (n) MONTH + INTERVAL (n) DAY + INTERVAL (n * 1000) MICROSECOND'),
    's': ('VARCHAR', "'ü' || n"), 'j': ('JSON', "'{\"n\": ' || n || '}'"), 'id': ('UUID', 'md5(n::VARCHAR)::UUID'),
    'raw': ('BLOB', "encode('b' || n)"), 'list': ('INTEGER[]', '[n, NULL, -n]'), 'ulist': ('UINTEGER[]', '[n, NULL]'),
    'pair': ('STRUCT(a INTEGER, u UBIGINT)', "{'a': n, 'u': n}"), 'dict': ('MAP(VARCHAR, BIGINT)', "MAP {'k' || n: n}"),
}
TIMES = {'time': ('TIME', "TIME '12:00:00' + n * INTERVAL 1 SECOND"), 'timetz': ('TIMETZ', "TIMETZ '12:00:00+02'")}
# What was done to the last table between its two loads.
CHANGES = ('ADD COLUMN added INTEGER DEFAULT 7', 'ALTER i TYPE DOUBLE', 'ALTER day TYPE TIMESTAMP', 'ALTER dec9 TYPE DECIMAL(14,4)',
           'RENAME s TO text', 'DROP COLUMN raw')
CHANGED = ('i', 'day', 'dec9', 's', 'raw', 'u')


def make(duck, schema='every_type', scale=1):
    """`scale` is in thousands of rows."""
    rows = round(ROWS * scale)
    create(duck, f'lake.{schema}.wide', WIDE, rows)
    yield f'{schema}.wide'
    create(duck, f'lake.{schema}.times', TIMES, rows)
    yield f'{schema}.times'
    table = f'lake.{schema}.changed'
    create(duck, table, {name: WIDE[name] for name in CHANGED}, rows)
    # Clients are not shown rows that PostgreSQL holds from before such a change.
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 'changed')")
    for change in CHANGES:
        duck.execute(f'ALTER TABLE {table} {change}')
    duck.execute(f"INSERT INTO {table} (i, text) SELECT n / 4, 'new' FROM range({rows}) r(n)")
    yield f'{schema}.changed'


def create(duck, table, columns, rows):
    kinds = ', '.join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
    values = ', '.join(value for _, value in columns.values())
    nothing = ', '.join('NULL' for _ in columns)
    duck.execute(f'CREATE TABLE {table} ({kinds})')
    duck.execute(f'INSERT INTO {table} SELECT {values} FROM range({rows}) r(n)')
    # Few enough to stay in PostgreSQL.
    duck.execute(f'INSERT INTO {table} SELECT {values} FROM range(3) r(n) UNION ALL SELECT {nothing}')
