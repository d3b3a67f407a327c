"""What it costs a load to tell the client its own keys, once it has them: beside the same load without, in turn."""
import statistics

import appends
import load
import measure

HEADER = 'X-Iceberg-Access-Delegation: vended-credentials'
ROUNDS = 7


def told(servers, seconds):
    catalog = servers.lakeproxy_catalog()
    client = catalog.client()
    client.create_namespace_if_not_exists(measure.NAMESPACE)
    table = appends.Table(client, f'{measure.NAMESPACE}.keys')
    measure.commit_all(catalog, 'keys', table, 10, 1)
    url = measure.table_url(catalog, 'keys')
    rates = {'none': [], 'keys': []}
    for _ in range(ROUNDS):
        for name, headers in (('none', ()), ('keys', (HEADER,))):
            rates[name].append(load.get(url, 8, seconds, headers=headers).per_second)
    return {name: statistics.median(found) for name, found in rates.items()}


def show(found):
    print(f'\nLoadTable a second, 8 connections: {found["none"]:.0f} without keys, {found["keys"]:.0f} with vended keys that the '
          f'server holds ({found["keys"] / found["none"]:.0%})')
