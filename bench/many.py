"""Many clients that append at once, each with its own connection.

What a client writes before it commits, its manifest and manifest list, lies in S3 before the
clock starts, and so do the requests themselves, which bench/requests sends. So the load takes
little of the processors, and the figures are the catalog's.
"""
import json
import pathlib
import subprocess
import tempfile
import urllib.parse

import limits
import measure
from appends import Table
from machine import load_average, processor_seconds
from stack import paths

NAMESPACE = measure.NAMESPACE
LOADER = paths.ROOT / 'build/release/request_load'
OWN, SHARING = 16, 64  # clients
WARM_UP = 20, 5  # commits of each client that nobody counts, on own tables and on one
UPLOADS = 16  # connections


def writers(servers, commits):
    """16 clients on as many tables and 64 on one, on each catalog, beside what PostgreSQL and the store can do."""
    lake = servers.lakeproxy_catalog().lake
    results = {'postgres_commit_ms': limits.postgres_commit_ms(servers.stack.postgres),
               'store_put_ms': limits.store_put_ms(lake),
               'postgres_commits_per_second': limits.postgres_commits_per_second(servers.stack.postgres, OWN),
               'store_puts': store_puts(servers, lake, OWN, 2 * commits)}
    for catalog in servers.catalogs():
        results[catalog.name] = {'own_tables': on_own_tables(servers, catalog, OWN, commits),
                                 'one_table': on_one_table(servers, catalog, SHARING, commits // 4)}
    return results


def on_own_tables(servers, catalog, clients, commits):
    """Each client appends to a table of its own."""
    def scripts(kind, count):
        return [script(catalog, f'own_{kind}_{number}', count) for number in range(clients)]

    return measured(servers, catalog, scripts, WARM_UP[0], commits)


def on_one_table(servers, catalog, clients, commits):
    """All clients append to the same table."""
    def scripts(kind, count):
        lines = script(catalog, f'shared_{kind}', clients * count)
        return [lines[number::clients] for number in range(clients)]

    return measured(servers, catalog, scripts, WARM_UP[1], commits)


def measured(servers, catalog, scripts, warm_up, commits):
    """The load's report after a round that nobody counts."""
    send(catalog.lake.uri, scripts('warm_up', warm_up))
    ready = scripts('measured', commits)
    return with_processor_time(servers.processes(catalog), lambda: send(catalog.lake.uri, ready))


def with_processor_time(processes, load):
    """What `load` reports, and the milliseconds of processor time that each process took for a request."""
    before = processor_seconds(processes)
    found = load()
    after = processor_seconds(processes)
    taken = {name: (after[name] - before[name]) / found['count'] * 1000 for name in before}
    return {**found, 'processor_ms': taken, 'load_average': load_average()}


def script(catalog, name, commits):
    """The requests of appends to a new table that has one snapshot."""
    client = catalog.client()
    client.create_namespace_if_not_exists(NAMESPACE)
    table = Table(client, f'{NAMESPACE}.{name}')
    measure.commit_all(catalog, name, table, 1, 1)
    if catalog.rebases:
        bodies, written = table.side_by_side(commits)
        upload(catalog.lake, written)
    else:
        bodies = table.chain(commits)
    target = urllib.parse.urlsplit(measure.table_url(catalog, name)).path
    return [f'POST {target} {json.dumps(body)}' for body in bodies]


def upload(lake, files):
    client = limits.store_client(lake)
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for number, (location, content) in enumerate(files.items()):
            file = pathlib.Path(folder, str(number))
            file.write_bytes(content)
            lines.append(put(client, lake, urllib.parse.urlsplit(location).path[1:], f'@{file}'))
        send(lake.s3_endpoint, [lines[number::UPLOADS] for number in range(min(UPLOADS, len(lines)))])


def store_puts(servers, lake, connections, puts):
    """Putting objects of the size of a small manifest over as many connections: the store's own limit."""
    client, body = limits.store_client(lake), 'm' * limits.SIZE
    scripts = [[put(client, lake, f'bench-floor/{number}-{turn}', body) for turn in range(puts)]
               for number in range(connections)]
    store = {'S3 store': servers.processes(servers.lakeproxy_catalog())['S3 store']}
    return with_processor_time(store, lambda: send(lake.s3_endpoint, scripts))


def put(client, lake, key, body):
    parts = urllib.parse.urlsplit(client.presigned_put_object(lake.s3_bucket, key))
    return f'PUT {parts.path}?{parts.query} {body}'


def send(url, scripts):
    """Sends each client's script over its own connection; the load's report."""
    with tempfile.TemporaryDirectory() as folder:
        for number, lines in enumerate(scripts):
            pathlib.Path(folder, f'{number:03}').write_text('\n'.join(lines) + '\n')
        done = subprocess.run([LOADER, '--url', url, folder], text=True, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def show(results):
    print(f'\nfloor: a commit of one row in PostgreSQL {results["postgres_commit_ms"]:.2f} ms, putting 8 KiB '
          f'{results["store_put_ms"]:.2f} ms; over {OWN} connections '
          f'{results["postgres_commits_per_second"]:,.0f} commits and {results["store_puts"]["per_second"]:,.0f} puts '
          f'a second, {processor_ms(results["store_puts"]):.1f} ms of processor time for a put')
    ours, peer = results['lakeproxy'], results['reference catalog']
    loads = {'own_tables': f'{OWN} clients on {OWN} tables', 'one_table': f'{SHARING} clients on one table'}
    for load, what in loads.items():
        print(f'{what}: {ours[load]["per_second"] / peer[load]["per_second"]:.2f} times the reference')
        for name, found in (('lakeproxy', ours[load]), ('reference', peer[load])):
            parts = ', '.join(f'{part} {taken:.1f}' for part, taken in found['processor_ms'].items())
            print(f'  {name:10}{found["per_second"]:8.1f} commits/s, p50 {found["p50_us"] / 1000:.0f} ms, '
                  f'p99 {found["p99_us"] / 1000:.0f} ms, {found["conflicts"]} conflicts, {found["given_up"]} given up, '
                  f'{processor_ms(found):.1f} ms of processor time for a commit ({parts})')


def processor_ms(found):
    return sum(found['processor_ms'].values())
