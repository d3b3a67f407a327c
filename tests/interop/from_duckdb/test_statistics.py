"""The counts and bounds in the manifests of each file that DuckDB wrote are those of the file, in Iceberg's binary form."""
import struct
import uuid

import pytest

from oracle.avro_files import live_entries


def number(form):
    return lambda data: struct.unpack(form, data)[0]


def decimal(data):
    return int.from_bytes(data, 'big', signed=True)


# Column: its type, a value of row n, the value as it is compared, how Iceberg writes a bound of it.
COLUMNS = {
    'flag': ('BOOLEAN', 'n % 100 > 50', 'flag::INTEGER', lambda data: data[0]),
    'i': ('INTEGER', 'CASE WHEN n % 3 > 0 THEN n - 1000 END', 'i', number('<i')),
    'big': ('BIGINT', 'n * -10000000000', 'big', number('<q')),
    'f': ('FLOAT', "CASE WHEN n % 9 = 2 THEN 'nan' ELSE n / 8 END", 'f', number('<f')),
    'd': ('DOUBLE', "CASE WHEN n % 4 = 0 THEN 'nan' WHEN n % 4 = 1 THEN NULL ELSE -n / 8 END", 'd', number('<d')),
    'dec9': ('DECIMAL(9, 2)', '(n - 1050) / 100.0', '(dec9 * 100)::BIGINT', decimal),
    'dec38': ('DECIMAL(38, 3)', '-n * 10000000000000000.001', '(dec38 * 1000)::HUGEINT', decimal),
    'day': ('DATE', "DATE '1968-01-01' + n::INTEGER", "day - DATE '1970-01-01'", number('<i')),
    'ts': ('TIMESTAMP', "TIMESTAMP '1969-12-31 23:00:00.000001' + to_minutes(n::INTEGER)", 'epoch_us(ts)', number('<q')),
    'tstz': ('TIMESTAMPTZ', "TIMESTAMPTZ '2024-02-29 12:00:00+02' - to_hours(n::INTEGER)", 'epoch_us(tstz)', number('<q')),
    's': ('VARCHAR', "'s' || lpad(n::VARCHAR, 5, '0')", 's', bytes.decode),
    'long': ('VARCHAR', "lpad(n::VARCHAR, 40, 'ä')", 'long', bytes.decode),
    'id': ('UUID', "(lpad(hex(n), 8, 'f') || '-1111-2222-3333-444455556666')::UUID", 'id::VARCHAR', lambda data: str(uuid.UUID(bytes=data))),
    'raw': ('BLOB', "encode('b' || lpad(n::VARCHAR, 5, '0'))", 'lower(hex(raw))', bytes.hex),
}
FLOATS = {'f', 'd'}
# Beyond 16 characters a bound is cut.
CUT = {'long'}


@pytest.fixture
def files(duck, catalog, schema):
    """The manifests' view of four files, one of them without any value, and the ids of the columns."""
    table = f'lake.{schema}.counted'
    duck.execute(f'CREATE TABLE {table} ({", ".join(f"{name} {kind}" for name, (kind, *_) in COLUMNS.items())})')
    for first in (0, 1000, 2000):
        duck.execute(f'INSERT INTO {table} SELECT {", ".join(value for _, value, *_ in COLUMNS.values())} '
                     f'FROM range({first}, {first + 100}) t(n)')
    duck.execute(f'INSERT INTO {table} SELECT {", ".join("NULL" for _ in COLUMNS)} FROM range(50)')
    loaded = catalog.load_table(f'{schema}.counted')
    listed = []
    for _, _, entry in live_entries(loaded, loaded.current_snapshot().manifest_list):
        maps = {key: {pair['key']: pair['value'] for pair in value or []} for key, value in entry['data_file'].items()
                if key.endswith(('_counts', '_bounds'))}
        listed.append({**entry['data_file'], **maps})
    assert sorted(file['record_count'] for file in listed) == [50, 100, 100, 100]
    return listed, {name: loaded.schema().find_field(name).field_id for name in COLUMNS}


def of_the_file(duck, file, select):
    return duck.execute(f"SELECT {select} FROM read_parquet('{file['file_path']}', hive_partitioning = false)").fetchone()


def test_counts_of_each_column_are_exact(duck, files):
    listed, ids = files
    for file in listed:
        for name, field in ids.items():
            rows, nulls = of_the_file(duck, file, f'count(*), count(*) - count({name})')
            assert file['record_count'] == rows
            assert (file['value_counts'][field], file['null_value_counts'][field]) == (rows, nulls), name
            if name in FLOATS:
                assert file['nan_value_counts'][field] == of_the_file(duck, file, f'count(*) FILTER (isnan({name}))')[0], name
            else:
                assert field not in file['nan_value_counts'], name


def test_bounds_enclose_every_value_and_are_never_nan(duck, files):
    listed, ids = files
    for file in listed:
        for name, field in ids.items():
            _, _, form, decode = COLUMNS[name]
            finite = f'FILTER (NOT isnan({name}))' if name in FLOATS else ''
            low, high = of_the_file(duck, file, f'min({form}) {finite}, max({form}) {finite}')
            lower, upper = (file[bounds].get(field) for bounds in ('lower_bounds', 'upper_bounds'))
            if low is None:
                assert lower is None and upper is None, name
                continue
            lower, upper = decode(lower), decode(upper)
            if name in CUT:
                assert lower <= low and upper >= high and lower == low[:len(lower)] and len(lower) == len(upper) == 16, name
            else:
                assert (lower, upper) == (low, high), name
