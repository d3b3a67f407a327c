"""Signatures for reads of one table's object: the load of a client that reads it range by range.

Rights are remembered, so that the figures are those of a request that is parsed, judged and signed. wrk takes
its share of the processors: what that is stands beside them. How long one takes is measured twice: while each
connection asks for the next at once, which is a queue before full processors, and while each waits in between.
"""
import json
import re
import resource
import subprocess
import tempfile

import load
import measure
from appends import Table
from machine import load_average

NAME = 'signed'
CONNECTIONS = 32
PACED = 'function delay() return 2 end\n'  # milliseconds


def figures(servers, seconds):
    catalog = servers.lakeproxy_catalog()
    client = catalog.client()
    client.create_namespace_if_not_exists(measure.NAMESPACE)
    table = Table(client, f'{measure.NAMESPACE}.{NAME}')
    folder = table.loaded.location().removeprefix('s3://')
    body = json.dumps({'region': 'us-east-1', 'method': 'GET', 'provider': 's3',
                       'uri': f'{catalog.lake.s3_endpoint}/{folder}/data/day%3D2026-01-01/00000-0-file.parquet',
                       'headers': {'amz-sdk-invocation-id': ['5c0b0ea2-7f8d-4e0c-9f0e-2d1b0f3c7a55'], 'Range': ['bytes=4-4194303'],
                                   'User-Agent': ['aws-sdk-java/2.44.4 md/io#sync md/http#Apache ua/2.1'],
                                   'amz-sdk-request': ['attempt=1; max=6']}})
    script = f'wrk.method = "POST"\nwrk.body = [==[{body}]==]\nwrk.headers["Content-Type"] = "application/json"\n'
    url, healthz = f'{measure.table_url(catalog, NAME)}/sign', f'{catalog.lake.uri}/healthz'
    # /healthz asks nobody: what of the latency is the machine's.
    return {**run(url, seconds, script), 'paced': run(url, seconds, script + PACED),
            'healthz_p99_ms': run(healthz, seconds, '')['p99_ms'], 'healthz_paced_p99_ms': run(healthz, seconds, PACED)['p99_ms'],
            'load_average': load_average()}


def run(url, seconds, script):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.NamedTemporaryFile('w', suffix='.lua') as file:
        file.write(script)
        file.flush()
        done = subprocess.run(['wrk', '-t', '1', '-c', str(CONNECTIONS), '-d', f'{seconds}s', '--latency', '-s', file.name, url],
                              text=True, check=True, stdout=subprocess.PIPE).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if 'Non-2xx' in done or 'Socket errors' in done:
        raise RuntimeError(done)
    taken = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / seconds
    return {'per_second': float(re.search(r'Requests/sec:\s+([\d.]+)', done)[1]), 'p50_ms': load.latency(done, 50), 'p99_ms': load.latency(done, 99),
            'wrk_processors': taken}


def show(found):
    paced = found['paced']
    print(f'\nsigned requests at {CONNECTIONS} connections: {found["per_second"]:,.0f} a second, p50 {found["p50_ms"]:.2f} ms, '
          f'p99 {found["p99_ms"]:.2f} ms; wrk takes {found["wrk_processors"]:.2f} processors; '
          f'/healthz at as many has a p99 of {found["healthz_p99_ms"]:.2f} ms')
    print(f'the same with a pause before each: {paced["per_second"]:,.0f} a second, p50 {paced["p50_ms"]:.2f} ms, '
          f'p99 {paced["p99_ms"]:.2f} ms; /healthz {found["healthz_paced_p99_ms"]:.2f} ms')
