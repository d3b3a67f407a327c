"""The tool service under load on loopback, beside the bare network and beside two MCP servers.

usage: ./dev bench tools [--quick] [--only NAME]...
Prints a table and keeps the figures under bench/results/, with the commit and the machine
they belong to.
"""
import argparse
import pathlib
import resource
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent
sys.path[:0] = [str(HERE), str(BENCH), str(BENCH.parent / 'devtools'), str(BENCH.parent / 'clients/python')]

import figures  # noqa: E402
from loaded_service import LoadedService  # noqa: E402
from peers import peers  # noqa: E402
from record import keep  # noqa: E402
from tool_stack.authority import Authority  # noqa: E402

PARTS = ('calls', 'sessions', 'idle', 'walls', 'sql', 'guard', 'flows', 'peers')


def measure_all(folder, options):
    authority = Authority(pathlib.Path(folder) / 'authority')
    wanted, count = options.only or PARTS, options.calls
    results = {'raw': figures.raw(count)}
    with LoadedService(folder, 'encrypted', authority) as server:
        if 'calls' in wanted:
            results['encrypted'] = figures.calls(server, count)
        if 'sessions' in wanted:
            results['sessions'] = figures.handshakes(server, options.sessions)
        if 'walls' in wanted:
            results['walls'] = figures.walls(server, options.sessions)
        if 'sql' in wanted:
            results['sql'] = figures.large_results(server)
    if 'calls' in wanted:
        with LoadedService(folder, 'simple', authority) as server:
            results['simple'] = figures.calls(server, count)
    if 'idle' in wanted:
        for name, tls in (('idle', False), ('idle_tls', True)):
            changes = {} if not tls else {'audit.path': str(pathlib.Path(folder) / 'audit-tls')}
            with LoadedService(pathlib.Path(folder) / name, 'encrypted', authority, tls, changes) as server:
                results[name] = figures.idle(server, options.idle)
    if 'guard' in wanted:
        results['guard'] = figures.guard()
    if 'flows' in wanted:
        with LoadedService(pathlib.Path(folder) / 'flows', 'simple', authority, changes=figures.FLOW_LIMITS) as server:
            results['flows'] = figures.flows(server, 3 if options.quick else 7)
    if 'peers' in wanted:
        results['peers'] = {peer.name: peer.measure(folder, figures.TEXT, options.seconds) for peer in peers()}
    return results


def show(results):
    print(f'\n{"256 bytes there and back":28}{"p50 us":>10}{"p99 us":>10}{"calls/s":>12}'
          f'{"64: calls/s":>14}{"p99 us":>10}{"4 conns: /s":>14}')
    rows = [('bare TCP', results['raw'])]
    rows += [(f'securetool, {mode}', results[mode]) for mode in ('encrypted', 'simple') if mode in results]
    rows += list(results.get('peers', {}).items())
    for name, row in rows:
        one, many, four = row['one'], row['many'], row.get('many_4')
        print(f'{name:28}{one["p50_us"]:10.1f}{one["p99_us"]:10.1f}{one["per_second"]:12,.0f}'
              f'{many["per_second"]:14,.0f}{many["p99_us"]:10.0f}' + (f'{four["per_second"]:14,.0f}' if four else ''))
    for mode in ('encrypted', 'simple'):
        if mode in results:
            show_costs(mode, results[mode], results['raw']['one'])
    show_rest(results)


def show_costs(mode, found, raw):
    one, many = found['one'], found['many']
    print(f'{mode}: over bare TCP p50 {one["p50_us"] - raw["p50_us"]:+.1f} us, p99 {one["p99_us"] - raw["p99_us"]:+.1f} us; '
          f'CPU of a call: server {one["server_us_per_call"]:.1f} us alone and {many["server_us_per_call"]:.1f} us among 64, '
          f'load generator {one["load_us_per_call"]:.1f} and {many["load_us_per_call"]:.1f} us')


def show_rest(results):
    if 'sessions' in results:
        found = results['sessions']
        print(f'a new encrypted session: server {found["server_ms"]:.3f} ms of CPU, client {found["client_ms"]:.3f} ms; '
              f'to READY p50 {found["p50_us"]:.0f} us, p99 {found["p99_us"]:.0f} us')
    for name, what in (('idle', 'without TLS'), ('idle_tls', 'with TLS')):
        if name in results:
            print(f'{results[name]["count"]:,} idle sessions {what}: {results[name]["kib_each"]:.1f} KiB each')
    if 'walls' in results:
        echo, child, engine = (results['walls'][name] for name in ('echo', 'child', 'engine'))
        print(f'a call in the engine\'s process: p50 {child["p50_us"] - echo["p50_us"]:+.0f} us over one in the service; '
              f'SELECT 1 {engine["p50_us"] - echo["p50_us"]:+.0f} us')
    if 'sql' in results:
        found = results['sql']
        print(f'{found["megabytes"]:.0f} MB of rows in {found["calls"]} calls: {found["megabytes_per_second"]:.0f} MB/s, '
              f'server {found["before_mib"]:.0f} MiB before and {found["peak_mib"]:.0f} MiB at its peak')


    if 'flows' in results:
        found = results['flows']
        print(f'a workflow of {found["steps"]} steps at once: {found["seconds"]:.2f} s, {found["times"]:.2f} times its slowest step '
              f'(worst of {found["runs"]}: {found["worst_times"]:.2f})')
    for name, found in results.get('guard', {}).items():
        rate = f', {found["megabytes_per_second"]:.0f} MB/s' if 'megabytes_per_second' in found else ''
        print(f'guard, {name.replace("_", " ")}: {found["us"]:,.1f} us of CPU{rate}')


def parse():
    parser = argparse.ArgumentParser(prog='./dev bench tools')
    parser.add_argument('--quick', action='store_true', help='a tenth of everything; nothing is kept')
    parser.add_argument('--only', action='append', choices=PARTS, help='nothing is kept')
    options = parser.parse_args()
    share = 10 if options.quick else 1
    options.calls, options.sessions, options.idle = 50_000 // share, 2_000 // share, 10_000 // share
    options.seconds = 2 if options.quick else 10
    return options


def main():
    options = parse()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix='bench-tools-') as folder:
        results = measure_all(folder, options)
    show(results)
    if not options.quick and not options.only:
        keep({'service': 'securetool', **results}, 'tools')


if __name__ == '__main__':
    main()
