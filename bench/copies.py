"""Readable copies: what making one costs beside DuckDB's own rewrite of the same file, and what it costs to load a table that has them.

Both sides of a ratio take turns in one run. Of a copy the processors' time counts, of the process that makes it: on a machine with other
work to do it says more than the time that passes, which stands beside it.
"""
import statistics
import time

import requests

import load
import measure
from lake_clients import duck
from machine import load_average, processor_seconds
from turns import in_turn, ratio, slices, told

ROWS = 2_000_000
ROUNDS = 5
MOST_TIMES, LEAST_RATE = 2, 0.95  # targets: of DuckDB's rewrite, and of the rate of an ordinary table
SOON = 300  # seconds


def figures(servers, seconds):
    ours = servers.lakeproxy_catalog()
    ours.client().create_namespace_if_not_exists(measure.NAMESPACE)
    writer = duck.connect_lake(ours.lake)
    pids = [servers.processes(ours)['lakeproxy']]
    copies, rewrites = [], []
    for n in range(ROUNDS):
        name = f'copied_{n}'
        make(writer, name, 'UINTEGER', lambda: copies.append(spent(pids)))
        ready(measure.table_url(ours, name))
        copies[n] = since(pids, copies[n])
        rewrites.append(rewrite(writer, name, 'n, v, u::BIGINT AS u'))
    make(writer, 'plain', 'BIGINT')
    urls = {'copied': measure.table_url(ours, 'copied_0'), 'plain': measure.table_url(ours, 'plain')}
    ready(urls['plain'])
    rates = loads(urls, {}, seconds)
    return {'copy': medians(copies), 'rewrite': medians(rewrites), 'times': times(copies, rewrites), 'rates': rates,
            'load_ratio': ratio(rates['copied'], rates['plain']), 'load_average': load_average()}


def make(writer, name, kind, before_commit=lambda: None):
    """A table of one file. What follows the commit is the copy's."""
    writer.execute(f'CREATE TABLE lake.{measure.NAMESPACE}.{name} (n BIGINT, v VARCHAR, u {kind})')
    insert(writer, name, 'n % 1000000', before_commit)


def insert(writer, name, last, before_commit):
    writer.execute('BEGIN')
    writer.execute(f'INSERT INTO lake.{measure.NAMESPACE}.{name} SELECT n, md5(n::VARCHAR), {last} FROM range({ROWS}) r(n)')
    before_commit()
    writer.execute('COMMIT')


def rewrite(writer, name, columns):
    """DuckDB reads the newest file of the table from the store and writes it there again."""
    file = writer.execute(f"SELECT data_file FROM ducklake_list_files('lake', '{name}', schema => '{measure.NAMESPACE}') "
                          'ORDER BY data_file_size_bytes DESC LIMIT 1').fetchone()[0]
    to = file.rsplit('/', 1)[0] + f'/rewritten-{time.monotonic_ns()}'
    began = spent()
    writer.execute(f"COPY (SELECT {columns} FROM read_parquet('{file}')) TO '{to}' (FORMAT parquet)")
    return since((), began)


def spent(pids=()):
    """Seconds that have passed, and that processors took for these processes; of none, for this one."""
    return time.monotonic(), sum(processor_seconds(dict(enumerate(pids))).values()) if pids else time.process_time()


def since(pids, began):
    now = spent(pids)
    return {'s': now[0] - began[0], 'processor_s': now[1] - began[1]}


def times(copies, rewrites):
    """So many times what DuckDB's rewrite takes of the processors."""
    return ratio([one['processor_s'] for one in copies], [one['processor_s'] for one in rewrites])


def medians(found):
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def ready(url, headers=None, holds=lambda metadata: metadata.get('current-snapshot-id', -1) >= 0):
    """Asks until the table is whole."""
    until = time.monotonic() + SOON
    while True:
        answer = requests.get(url, headers=headers, timeout=60)
        if answer.status_code == 200 and holds(answer.json()['metadata']):
            return
        if answer.status_code not in (200, 503) or time.monotonic() > until:
            raise RuntimeError(f'{url}: {answer.status_code} {answer.text[:500]}')
        time.sleep(0.02)


def loads(urls, headers, seconds, connections=8):
    """Loads a second of each table, in turn. The size of the answers is no work of ours: without old snapshots they are alike."""
    rounds, each_s = slices(seconds, ROUNDS)
    own = {name: [f'{key}: {value}' for key, value in headers.get(name, {}).items()] for name in urls}
    return in_turn({name: lambda name=name, url=url: load.get(f'{url}?snapshots=refs', connections, each_s, headers=own[name]).per_second
                    for name, url in urls.items()}, rounds)


def show_copy(kind, found):
    copy, anew = found['copy'], found['rewrite']
    met = 'met' if found['times']['median'] <= MOST_TIMES else 'not met'
    print(f'\na {kind} copy of {ROWS:,} rows: {copy["processor_s"]:.2f} s of processors ({copy["s"]:.2f} s); DuckDB rewrites the file in '
          f'{anew["processor_s"]:.2f} s ({anew["s"]:.2f} s): {told(found["times"])} times (target {MOST_TIMES}: {met})')


def show(found):
    show_copy('readable', found)
    rates = {name: statistics.median(rates) for name, rates in found['rates'].items()}
    met = 'met' if found['load_ratio']['median'] >= LEAST_RATE else 'not met'
    print(f'LoadTable a second, 8 connections: {rates["copied"]:,.0f} of a table with copies, {rates["plain"]:,.0f} of an ordinary one: '
          f'{told(found["load_ratio"])} (target: the same, {LEAST_RATE} or more: {met})')
