"""The counts and bounds in the manifests of files that DuckDB wrote are true."""
import math

import pytest

COLUMNS = {'i': 'INTEGER', 'd': 'DOUBLE', 's': 'VARCHAR', 'day': 'DATE'}


@pytest.fixture
def files(duck, catalog, schema):
    """The manifests' view of four files, one of them without any value."""
    table = f'lake.{schema}.counted'
    duck.execute(f'CREATE TABLE {table} ({", ".join(f"{n} {t}" for n, t in COLUMNS.items())})')
    for first in (0, 1000, 2000):
        duck.execute(f"""INSERT INTO {table} SELECT CASE WHEN n % 3 > 0 THEN n END,
            CASE WHEN n % 4 = 0 THEN 'nan' WHEN n % 4 = 1 THEN NULL ELSE n / 8 END,
            's' || lpad(n::VARCHAR, 5, '0'), DATE '2000-01-01' + n::INTEGER
            FROM range({first}, {first + 100}) t(n)""")
    duck.execute(f'INSERT INTO {table} SELECT NULL, NULL, NULL, NULL FROM range(50)')
    return duck, table, catalog.load_table(f'{schema}.counted').inspect.files().to_pylist()


def test_counts_of_each_column_are_exact(files):
    duck, table, listed = files
    assert len(listed) == 4
    assert sum(file['record_count'] for file in listed) == 350
    for name in COLUMNS:
        nan = f'count(*) FILTER (isnan({name}))' if COLUMNS[name] == 'DOUBLE' else '0'
        nulls, nans = duck.execute(f'SELECT count(*) - count({name}), {nan} FROM {table}').fetchone()
        metrics = [file['readable_metrics'][name] for file in listed]
        assert sum(metric['value_count'] for metric in metrics) == 350
        assert sum(metric['null_value_count'] for metric in metrics) == nulls
        if COLUMNS[name] == 'DOUBLE':
            assert sum(metric['nan_value_count'] for metric in metrics) == nans == 75


def test_bounds_enclose_every_value_and_are_never_nan(files):
    duck, table, listed = files
    for name, kind in COLUMNS.items():
        metrics = [file['readable_metrics'][name] for file in listed]
        lows = [metric['lower_bound'] for metric in metrics if metric['lower_bound'] is not None]
        highs = [metric['upper_bound'] for metric in metrics if metric['upper_bound'] is not None]
        assert not any(isinstance(bound, float) and math.isnan(bound) for bound in lows + highs)
        finite = f'FILTER (NOT isnan({name}))' if kind == 'DOUBLE' else ''
        low, high = duck.execute(f'SELECT min({name}) {finite}, max({name}) {finite} FROM {table}').fetchone()
        assert lows and min(lows) <= low and max(highs) >= high
