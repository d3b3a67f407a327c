"""Scans of a table of many files: planned by the server, and by PyIceberg from the same manifests in the same run.

Each file has its own range of ids, as of a table that grows. The filter is one that few files can match, and
statistics alone tell which. The data files need not exist: no planner opens them.
"""
import json
import statistics
import time

import requests
from pyiceberg.catalog import load_catalog
from pyiceberg.conversions import to_bytes
from pyiceberg.expressions import AlwaysTrue, And, GreaterThanOrEqual, LessThan
from pyiceberg.types import DoubleType, LongType, StringType

import appends
import measure
from appends import Table
from lake_clients import iceberg
from machine import load_average, resident_mb

NAME = 'planned'
FILES, QUICK_FILES = 100_000, 5_000
APPENDS = 20
ROWS = 1000  # of a file
BY_MANIFESTS, BY_SERVER = 3, 10  # repetitions


def plans(servers, quick):
    catalog = servers.lakeproxy_catalog()
    files = QUICK_FILES if quick else FILES
    fill(catalog, files)
    few = And(GreaterThanOrEqual('id', files // 2 * ROWS), LessThan('id', (files // 2 + 10) * ROWS))
    name = f'{measure.NAMESPACE}.{NAME}'
    local = catalog.client().load_table(name)
    found = {'files': files, 'by_manifests_s': timed(lambda: count(local, few), BY_MANIFESTS, 10)}
    restart(servers)
    server = planner(catalog).load_table(name)
    found['first_by_server_s'] = timed(lambda: count(server, few), 1, 10)
    found['by_server_s'] = timed(lambda: count(server, few), BY_SERVER, 10)
    found['all_by_manifests_s'] = timed(lambda: count(local, AlwaysTrue()), 1, files)
    found['all_by_server_s'] = timed(lambda: count(server, AlwaysTrue()), 1, files)
    found['all_sent_s'] = timed(lambda: sent(catalog), 3, files)
    found['ratio'] = found['by_manifests_s'] / found['by_server_s']
    found['resident_mb'] = resident_mb(servers.processes(catalog)[servers.stack.catalog.name])
    return {**found, 'load_average': load_average()}


def planner(catalog):
    return load_catalog('planner', **{**iceberg.properties(catalog.lake), 'scan-planning-mode': 'server'})


def count(table, row_filter):
    return sum(1 for _ in table.scan(row_filter=row_filter).plan_files())


def sent(catalog):
    """All tasks of a scan, as bytes: what of the time is the server's."""
    table = measure.table_url(catalog, NAME)
    with requests.Session() as session:
        first = session.post(f'{table}/plan', json={}, timeout=60)
        names = json.loads(first.content[:first.content.index(b'"delete-files"') - 1] + b'}').get('plan-tasks', [])
        answers = [first, *(session.post(f'{table}/tasks', json={'plan-task': name}, timeout=60) for name in names)]
    return sum(answer.content.count(b'"data-file":') for answer in answers)


def timed(call, times, wanted):
    """The median, in seconds."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        found = call()
        taken.append(time.perf_counter() - begin)
        if found != wanted:
            raise RuntimeError(f'{found} files are planned, not {wanted}')
    return statistics.median(taken)


def restart(servers):
    """So that nothing of the table is in memory."""
    servers.stack.stop(servers.stack.catalog)
    servers.stack.start(servers.stack.catalog)


class Growing(Table):
    """Each file has its own ids."""

    def __init__(self, client, name):
        super().__init__(client, name)
        self.written = 0

    def data_file(self, path):
        first = self.written * ROWS
        self.written += 1
        key = f'key-{first:012}'

        def bounds(number):
            return {1: to_bytes(LongType(), number), 2: to_bytes(DoubleType(), number / 2), 3: to_bytes(StringType(), key)}

        return appends.data_file(path, bounds(first), bounds(first + ROWS - 1))


def fill(catalog, files):
    client = catalog.client()
    client.create_namespace_if_not_exists(measure.NAMESPACE)
    measure.commit_all(catalog, NAME, Growing(client, f'{measure.NAMESPACE}.{NAME}'), APPENDS, files // APPENDS)


def show(found):
    print(f'\na filter that 10 of {found["files"]:,} files can match: PyIceberg from manifests {found["by_manifests_s"]:.2f} s, '
          f'planned by the server {found["by_server_s"] * 1000:.0f} ms, ratio {found["ratio"]:.0f}; '
          f'the first after a start {found["first_by_server_s"] * 1000:.0f} ms\n'
          f'all files: from manifests {found["all_by_manifests_s"]:.1f} s, by the server {found["all_by_server_s"]:.1f} s, of which the server takes {found["all_sent_s"]:.2f}; '
          f'then lakeproxy has {found["resident_mb"]:.0f} MB')
