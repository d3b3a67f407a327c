"""The figures, each measured in the same way on every catalog."""
import json
import statistics
import time

import requests

import appends
import load
from machine import resident_mb
from samples import percentile

NAMESPACE = 'bench'
APPENDS = 100
CREATES = 60


def start_and_memory(servers):
    """Restarts lakeproxy, so that nothing of an earlier load is in it."""
    stack = servers.stack
    stack.stop(stack.catalog)
    began = time.monotonic()
    stack.start(stack.catalog)
    ready_ms = (time.monotonic() - began) * 1000
    time.sleep(1)
    return {'ready_ms': ready_ms, 'resident_mb': resident_mb(stack.process_of(stack.catalog).pid)}


def peer_figures(catalog, seconds):
    client = catalog.client()
    client.create_namespace_if_not_exists(NAMESPACE)
    table = appends.Table(client, f'{NAMESPACE}.small')
    commit_all(catalog, 'small', table, 10, 1)
    figures = {}
    for connections in (8, 64):
        found = load.get(table_url(catalog, 'small'), connections, seconds)
        figures[f'LoadTable a second, {connections} connections'] = found.per_second
        figures[f'LoadTable p99 ms, {connections} connections'] = found.p99_ms
    paced = load.get(table_url(catalog, 'small'), 8, seconds, think_ms=2)
    figures['LoadTable a second, 8 connections, paced'] = paced.per_second
    figures['LoadTable p50 ms, 8 connections, paced'] = paced.p50_ms
    figures['LoadTable p99 ms, 8 connections, paced'] = paced.p99_ms
    times = commit_all(catalog, 'small', table, APPENDS, 1)
    figures['append commits a second, one client'] = len(times) / sum(times) * 1000
    figures['append commit p50 ms'] = statistics.median(times)
    figures['append commit p99 ms'] = percentile(times, 99)
    figures['create table p50 ms'] = statistics.median(create_all(catalog, CREATES))
    figures['set a property p50 ms'] = statistics.median(set_all(catalog, 'small', APPENDS))
    return figures


def create_all(catalog, tables):
    """Empty tables, one after the other; milliseconds of each request."""
    schema = json.loads(appends.SCHEMA.model_dump_json())
    return post_all(f'{catalog.base()}namespaces/{NAMESPACE}/tables', ({'name': f'empty_{number}', 'schema': schema} for number in range(tables)))


def set_all(catalog, name, commits):
    """Commits that set one property; milliseconds of each request."""
    return post_all(table_url(catalog, name), ({'requirements': [], 'updates': [
        {'action': 'set-properties', 'updates': {'bench.turn': str(number)}}]} for number in range(commits)))


def control(catalog, seconds):
    """The paced load on an answer that asks nobody: what of a latency is the machine's own."""
    found = load.get(f'{catalog.lake.uri}/healthz', 8, seconds, think_ms=2)
    return {'healthz_p50_ms': found.p50_ms, 'healthz_p99_ms': found.p99_ms}


def where_time_goes(catalog):
    """Per commit: what lakeproxy itself takes, and what it asks of PostgreSQL and of the store."""
    catalog.client().create_namespace_if_not_exists(NAMESPACE)
    table = appends.Table(catalog.client(), f'{NAMESPACE}.counted')
    commit_all(catalog, 'counted', table, 10, 1)
    before = commit_counters(catalog)
    commit_all(catalog, 'counted', table, APPENDS, 1)
    grown = {name: value - before[name] for name, value in commit_counters(catalog).items()}
    count = grown['lakeproxy_commit_own_seconds_count']
    return {'own_ms': grown['lakeproxy_commit_own_seconds_sum'] / count * 1000,
            'postgres_round_trips': grown['lakeproxy_commit_postgres_round_trips_total'] / count,
            'store_requests': grown['lakeproxy_commit_store_requests_total'] / count}


def commit_counters(catalog):
    text = requests.get(f'{catalog.lake.uri}/metrics', timeout=30).text
    lines = (line.rsplit(' ', 1) for line in text.splitlines() if line.startswith('lakeproxy_commit_'))
    return {name: float(value) for name, value in lines if '{' not in name}


def growth(catalog, files, snapshots, seconds):
    """The cost of a load and of a commit on a table of that size."""
    client = catalog.client()
    client.create_namespace_if_not_exists(NAMESPACE)
    name = f'grown_{files}'
    table = appends.Table(client, f'{NAMESPACE}.{name}')
    commit_all(catalog, name, table, snapshots, files // snapshots or 1)
    before = commit_counters(catalog)
    commits = commit_all(catalog, name, table, 20, 1)
    after = commit_counters(catalog)
    own = 'lakeproxy_commit_own_seconds_sum'
    # snapshots=refs leaves out the old snapshots, whose number is the body's size and not our work.
    found = load.get(f'{table_url(catalog, name)}?snapshots=refs', 8, seconds)
    size = len(requests.get(table_url(catalog, name), timeout=60).content)
    return {'files': files, 'snapshots': snapshots, 'load_p50_ms': found.p50_ms,
            'loads_per_second': found.per_second, 'commit_p50_ms': statistics.median(commits),
            'commit_own_ms': (after[own] - before[own]) / 20 * 1000, 'metadata_kb': size / 1024}


def commit_all(catalog, name, table, commits, files_each):
    """Appends one after the other over one connection; milliseconds of each request."""
    url, times = table_url(catalog, name), []
    with requests.Session() as session:
        for _ in range(commits):
            body = table.next_append(files_each)
            taken, answer = timed(lambda body=body: session.post(url, json=body, timeout=60))
            times.append(taken)
            table.metadata = answer.json()['metadata']
    return times


def post_all(url, bodies):
    """One after the other over one connection; milliseconds of each request."""
    with requests.Session() as session:
        return [timed(lambda body=body: session.post(url, json=body, timeout=60))[0] for body in bodies]


def timed(send):
    """Milliseconds of a request, and its answer. Errors: RuntimeError for any status but 200."""
    began = time.perf_counter()
    answer = send()
    taken = (time.perf_counter() - began) * 1000
    if answer.status_code != 200:
        raise RuntimeError(f'refused: {answer.url} {answer.status_code} {answer.text[:500]}')
    return taken, answer


def table_url(catalog, name):
    return f'{catalog.base()}namespaces/{NAMESPACE}/tables/{name}'
