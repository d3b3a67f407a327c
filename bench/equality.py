"""What an equality delete costs beside what DuckDB alone needs to find the same rows."""
import json
import os
import subprocess

from machine import load_average
from stack import paths

BINARY = paths.ROOT / 'build/release/lakeproxy_derive_bench'
REPETITIONS = 3


def search():
    """Milliseconds of each on 100 files of 10 million rows, the medians of repetitions that take turns.

    Ours reads from a store, as a commit does; DuckDB reads the same files from that store, where a lake has them, and
    from disk.
    """
    command = [BINARY, '--benchmark_filter=find_equal|engine_in_store|engine_on_disk', '--benchmark_format=json',
               f'--benchmark_repetitions={REPETITIONS}', '--benchmark_enable_random_interleaving=true',
               '--benchmark_report_aggregates_only=true']
    done = subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE,
                          env={**os.environ, 'TEST_MINIO': str(paths.TOOLS / 'minio'),
                               'TEST_ENGINE_EXTENSIONS': str(paths.ENGINE / 'extensions')})
    medians = {found['run_name'].split('/')[0]: found for found in json.loads(done.stdout)['benchmarks']
               if found.get('aggregate_name') == 'median'}
    ours, store, disk = (medians[name] for name in ('find_equal', 'engine_in_store', 'engine_on_disk'))
    if not ours['rows'] == store['rows'] == disk['rows']:
        raise RuntimeError(f'lakeproxy finds {ours["rows"]:.0f} rows and DuckDB {store["rows"]:.0f}')
    return {'rows_found': int(ours['rows']), 'lakeproxy_ms': ours['real_time'],
            'duckdb_in_store_ms': store['real_time'], 'duckdb_on_disk_ms': disk['real_time'],
            'ratio_in_store': ours['real_time'] / store['real_time'],
            'ratio_on_disk': ours['real_time'] / disk['real_time'], 'load_average': load_average()}


def show(found):
    print(f'an equality delete of {found["rows_found"]:,} rows in 100 files of 10 million: '
          f'{found["lakeproxy_ms"]:.0f} ms; DuckDB alone in the same store {found["duckdb_in_store_ms"]:.0f} ms, ratio '
          f'{found["ratio_in_store"]:.2f}; from disk {found["duckdb_on_disk_ms"]:.0f} ms, ratio {found["ratio_on_disk"]:.2f}')
