"""What it costs a load to tell the client its own keys, once it has them: beside the same load without, in turn."""
import statistics

import appends
import load
import measure
from machine import load_average
from turns import in_turn, ratio, slices, told

HEADER = 'X-Iceberg-Access-Delegation: vended-credentials'
ROUNDS = 7
TARGET = 0.8  # of the rate without


def figures(servers, seconds):
    catalog = servers.lakeproxy_catalog()
    client = catalog.client()
    client.create_namespace_if_not_exists(measure.NAMESPACE)
    table = appends.Table(client, f'{measure.NAMESPACE}.keys')
    measure.commit_all(catalog, 'keys', table, 10, 1)
    url = measure.table_url(catalog, 'keys')
    rounds, each_s = slices(seconds, ROUNDS)
    rates = in_turn({name: lambda headers=headers: load.get(url, 8, each_s, headers=headers).per_second
                     for name, headers in (('none', ()), ('keys', (HEADER,)))}, rounds)
    return {**{name: statistics.median(found) for name, found in rates.items()}, 'rates': rates,
            'ratio': ratio(rates['keys'], rates['none']), 'load_average': load_average()}


def show(found):
    met = 'met' if found['ratio']['median'] >= TARGET else 'not met'
    print(f'\nLoadTable a second, 8 connections: {found["none"]:,.0f} without keys, {found["keys"]:,.0f} with vended keys that the '
          f'server holds: {told(found["ratio"])} in {found["ratio"]["rounds"]} rounds (target {TARGET}: {met})')
