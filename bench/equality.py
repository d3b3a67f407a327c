"""What an equality delete costs beside what DuckDB alone needs to find the same rows."""
import json
import os
import subprocess

from machine import load_average
from stack import paths

BINARY = paths.ROOT / 'build/release/lakeproxy_export_bench'
REPETITIONS = 3


def search():
    """Milliseconds of both on 100 files of 10 million rows, the medians of repetitions that take turns.

    Ours reads from a store of its own, as a commit does; DuckDB reads the same files from disk.
    """
    command = [BINARY, '--benchmark_filter=find_equal|engine_alone', '--benchmark_format=json',
               f'--benchmark_repetitions={REPETITIONS}', '--benchmark_enable_random_interleaving=true',
               '--benchmark_report_aggregates_only=true']
    done = subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE,
                          env={**os.environ, 'TEST_MINIO': str(paths.TOOLS / 'minio')})
    medians = {found['run_name'].split('/')[0]: found for found in json.loads(done.stdout)['benchmarks']
               if found.get('aggregate_name') == 'median'}
    ours, engine = medians['find_equal'], medians['engine_alone']
    if ours['rows'] != engine['rows']:
        raise RuntimeError(f'lakeproxy finds {ours["rows"]:.0f} rows and DuckDB {engine["rows"]:.0f}')
    return {'rows_found': int(ours['rows']), 'lakeproxy_ms': ours['real_time'], 'duckdb_ms': engine['real_time'],
            'ratio': ours['real_time'] / engine['real_time'], 'load_average': load_average()}


def show(found):
    print(f'an equality delete of {found["rows_found"]:,} rows in 100 files of 10 million: '
          f'{found["lakeproxy_ms"]:.0f} ms, DuckDB alone {found["duckdb_ms"]:.0f} ms, ratio {found["ratio"]:.2f}')
