"""The partition value that a manifest gives a file is Iceberg's of its rows, of each transform and by whatever writer; a file whose rows
have several is in no partition."""
import datetime

import pyarrow as pa
import pytest
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import DateType, LongType, StringType

from agreement import assert_agree
from rest import Rest

COLUMNS = 'n BIGINT, s VARCHAR, day DATE, ts TIMESTAMP, tstz TIMESTAMPTZ'
# Around 1970, over the ends of months and years; some months, and some hours of the day, come again.
HOURS = "to_hours(((i % 20) * 29 + CASE WHEN i % 20 < 5 THEN i // 20 * 240 ELSE 0 END)::INTEGER)"
ROWS = f"""SELECT i AS n, 'k' || i % 5 AS s, DATE '1969-12-20' + (i * 7)::INTEGER AS day,
    TIMESTAMP '1969-11-30 22:59:59.999999' + {HOURS} AS ts, TIMESTAMPTZ '1969-12-20 23:30:00+00' + {HOURS} AS tstz FROM range(60) r(i)"""
HOUR_0 = "TIMESTAMP '1970-01-01'"


def calendar(unit, column):
    at_utc = f"{column} AT TIME ZONE 'UTC'" if column == 'tstz' else column
    return f"date_diff('{unit}', {HOUR_0}, date_trunc('{unit}', ({at_utc})::TIMESTAMP))"


def bucket(count, kind):
    transform = BucketTransform(count).transform(kind)
    return lambda value: transform((value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value)


# What DuckDB partitions by: Iceberg's value in SQL, and what else makes it of that.
KEYS = {
    'n': ('n', None), 's': ('s', None), 'day': ("day - DATE '1970-01-01'", None),
    'year(day)': (calendar('year', 'day'), None), 'month(day)': (calendar('month', 'day'), None), 'day(day)': (calendar('day', 'day'), None),
    'year(ts)': (calendar('year', 'ts'), None), 'month(ts)': (calendar('month', 'ts'), None),
    'day(ts)': (calendar('day', 'ts'), None), 'hour(ts)': (calendar('hour', 'ts'), None),
    'month(tstz)': (calendar('month', 'tstz'), None), 'hour(tstz)': (calendar('hour', 'tstz'), None),
    'bucket(4, n)': ('n', bucket(4, LongType())), 'bucket(3, s)': ('s', bucket(3, StringType())),
    'bucket(5, day)': ('day', bucket(5, DateType())),
}
# Those of which every file has one value, since DuckDB's parts are finer or the same.
WHOLE = {'n', 's', 'day', 'year(day)', 'year(ts)', 'bucket(4, n)', 'bucket(3, s)', 'bucket(5, day)'}


def plain(value):
    return (value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value


def assert_values(duck, loaded, spec_id, expression, made=None, wants_all=True):
    """Each file is of that spec with the one value of its rows, or of a spec without fields, where the rows have several. How many are so and so."""
    counts = {True: 0, False: 0}
    for task in loaded.scan().plan_files():
        found = duck.execute(f"SELECT DISTINCT {expression} FROM read_parquet('{task.file.file_path}', hive_partitioning = false)").fetchall()
        values = {value if made is None or value is None else made(value) for value, in found}
        is_partitioned = task.file.spec_id == spec_id
        counts[is_partitioned] += 1
        if is_partitioned:
            assert [plain(part) for part in task.file.partition] == list(values), task.file.file_path
        else:
            assert not loaded.specs()[task.file.spec_id].fields and (len(values) > 1 or not wants_all), (values, task.file.file_path)
    return counts[True], counts[False]


@pytest.mark.parametrize('key', KEYS)
def test_of_files_that_duckdb_partitions(duck, catalog, schema, key):
    name = f'{schema}.parts'
    duck.execute(f'CREATE TABLE lake.{name} ({COLUMNS})')
    duck.execute(f'ALTER TABLE lake.{name} SET PARTITIONED BY ({key})')
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => 'parts', schema => '{schema}')")
    try:
        duck.execute("SET TimeZone = 'Asia/Kathmandu'")
        duck.execute(f'INSERT INTO lake.{name} {ROWS}')
    finally:
        duck.execute("SET TimeZone = 'UTC'")
    duck.execute(f'INSERT INTO lake.{name} (s) SELECT NULL FROM range(12)')
    expression, made = KEYS[key]
    loaded = catalog.load_table(name)
    partitioned, flat = assert_values(duck, loaded, loaded.spec().spec_id, expression, made)
    assert partitioned > 1
    assert flat == 0 or key not in WHOLE, 'every file has one value'


@pytest.mark.parametrize('column, width, expression', [('s', 2, 'left(s, 2)'), ('n', 7, 'n - ((n % 7) + 7) % 7')])
def test_of_files_in_a_table_truncated_by_a_client(lake, duck, truth, readers, catalog, schema, column, width, expression):
    """The lake does not know the transform: DuckDB's files have a value of it where their bounds are cut to one, those of clients have theirs."""
    name = f'{schema}.cut'
    duck.execute(f'CREATE TABLE lake.{name} (n BIGINT, s VARCHAR)')
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => 'cut', schema => '{schema}')")
    fields = [{'source-id': {'n': 1, 's': 2}[column], 'transform': f'truncate[{width}]', 'name': 'part'}]
    answer = Rest.of(lake).post(f'namespaces/{schema}/tables/cut', {'requirements': [], 'updates': [
        {'action': 'add-spec', 'spec': {'fields': fields}}, {'action': 'set-default-spec', 'spec-id': -1}]})
    assert answer.status_code == 200, answer.text
    loaded = catalog.load_table(name)
    spec = loaded.spec().spec_id
    assert spec != 0
    duck.execute(f"INSERT INTO lake.{name} SELECT 4 + i, 'ab' || i FROM range(2) r(i)")
    duck.execute(f"INSERT INTO lake.{name} SELECT i, chr(97 + i::INTEGER) || 'x' FROM range(20) r(i)")
    assert assert_values(duck, catalog.load_table(name), spec, expression) == (1, 1)
    duck.execute(f'INSERT INTO lake.{name} SELECT NULL, NULL FROM range(20)')
    assert assert_values(duck, catalog.load_table(name), spec, expression) == (2, 1)
    # A file stays where it stands when rows of it go, and when the default is another.
    duck.execute(f"DELETE FROM lake.{name} WHERE n = 4 OR s = 'fx'")
    assert_agree(truth, readers, name)
    set_default = {'requirements': [], 'updates': [{'action': 'set-default-spec', 'spec-id': 0}]}
    assert Rest.of(lake).post(f'namespaces/{schema}/tables/cut', set_default).status_code == 200
    duck.execute(f"INSERT INTO lake.{name} SELECT 4 + i, 'ab' || i FROM range(2) r(i)")
    duck.execute(f"DELETE FROM lake.{name} WHERE n = 6")
    loaded = catalog.load_table(name)
    assert assert_values(duck, loaded, spec, expression, wants_all=False) == (2, 2)
    assert_agree(truth, readers, name)
    set_default['updates'][0]['spec-id'] = spec
    assert Rest.of(lake).post(f'namespaces/{schema}/tables/cut', set_default).status_code == 200
    loaded = catalog.load_table(name)
    loaded.append(pa.table({'n': [-15, -1, 0, 30, None], 's': ['abc', 'abd', 'zy', 'z', None]}, schema=loaded.schema().as_arrow()))
    partitioned, flat = assert_values(duck, catalog.load_table(name), spec, expression, wants_all=False)
    assert partitioned >= 6 and flat == 2
    assert_agree(truth, readers, name)
