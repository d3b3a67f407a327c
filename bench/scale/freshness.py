"""From DuckDB's commit to the answer that a fresh Iceberg reader builds on."""
import time

import requests

from machine import load_average
from samples import percentile
from lake_clients import duck

NAMESPACE = 'fresh'


def visible_after_commit(lake, base, commits):
    """Milliseconds from the return of DuckDB's COMMIT to the end of LoadTable that holds it.

    The reader is new each time: no connection, no cache, no ETag. An answer without the
    commit is a fault, not a slow success: the catalog promises the lake's newest snapshot.
    """
    duckdb = duck.connect_lake(lake)
    duckdb.execute(f'CREATE SCHEMA IF NOT EXISTS lake.{NAMESPACE}')
    duckdb.execute(f'CREATE OR REPLACE TABLE lake.{NAMESPACE}.t AS SELECT 0 AS a')
    times = []
    for number in range(1, commits + 1):
        # Every tenth is a file; the others stay rows in PostgreSQL, as small inserts of DuckLake do.
        rows = 1000 if number % 10 == 0 else 1
        duckdb.execute(f'INSERT INTO lake.{NAMESPACE}.t SELECT {number} FROM range({rows})')
        began = time.perf_counter()
        table = requests.get(f'{base}namespaces/{NAMESPACE}/tables/t', timeout=30).json()
        times.append((time.perf_counter() - began) * 1000)
        check(table, number)
    return {'commits': commits, 'p50_ms': percentile(times, 50), 'p99_ms': percentile(times, 99),
            'load_average': load_average()}


def check(table, number):
    expected = 1 + sum(1000 if n % 10 == 0 else 1 for n in range(1, number + 1))
    found = int(table['metadata']['snapshots'][-1]['summary']['total-records'])
    if found != expected:
        raise RuntimeError(f'after commit {number} a reader finds {found} rows and not {expected}')
