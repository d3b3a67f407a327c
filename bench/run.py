"""Lakeproxy beside the Java reference catalog: same PostgreSQL, same S3, same load.

usage: ./dev bench [--seconds N] [--quick] [--only PART]...
Prints a table and keeps the figures under bench/results/, with the commit and
the machine they belong to.
"""
import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import copies  # noqa: E402
import distance  # noqa: E402
import equality  # noqa: E402
import gateway  # noqa: E402
import governed  # noqa: E402
import keys  # noqa: E402
import many  # noqa: E402
import measure  # noqa: E402
import planning  # noqa: E402
import signing  # noqa: E402
from record import keep  # noqa: E402
from servers import BINARY, BenchStack, OwnStack  # noqa: E402

FULL_SIZES = ((10, 10), (100, 100), (1_000, 300), (10_000, 1_000))  # data files, snapshots
QUICK_SIZES = ((10, 10), (100, 100))


PARTS = ('single', 'many', 'distance', 'equality', 'planning', 'keys', 'signing', 'gateway', 'copies', 'governed')
BESIDE_THE_REFERENCE = ('single', 'many')


def measure_all(servers, options):
    wanted = options.only or PARTS
    results = {}
    if 'single' in wanted:
        results.update(single_client(servers, options))
    if 'many' in wanted:
        results['many'] = many.writers(servers, options.commits)
    if 'distance' in wanted:
        results['distance'] = distance.waits(servers)
    if 'equality' in wanted:
        results['equality_delete'] = equality.search()
    if 'planning' in wanted:
        results['planning'] = planning.plans(servers, options.quick)
    if 'keys' in wanted:
        results['keys'] = keys.figures(servers, options.seconds)
    if 'signing' in wanted:
        results['signing'] = signing.figures(servers, options.seconds)
    if 'gateway' in wanted:
        results['gateway'] = gateway.streams(servers)
    if 'copies' in wanted:
        results['copies'] = copies.figures(servers, options.seconds)
    if 'governed' in wanted:
        results['governed'] = governed.figures(servers, options.quick)
    return results


def single_client(servers, options):
    results = {'start': measure.start_and_memory(servers)}
    for catalog in servers.catalogs():
        results[catalog.name] = measure.peer_figures(catalog, options.seconds)
    results['control'] = measure.control(servers.lakeproxy_catalog(), options.seconds)
    results['commit'] = measure.where_time_goes(servers.lakeproxy_catalog())
    sizes = QUICK_SIZES if options.quick else FULL_SIZES
    results['growth'] = [measure.growth(servers.lakeproxy_catalog(), *size, options.seconds) for size in sizes]
    return results


def show(results):
    if 'commit' in results:
        show_single(results)
    if 'many' in results:
        many.show(results['many'])
    if 'distance' in results:
        distance.show(results['distance'])
    if 'equality_delete' in results:
        equality.show(results['equality_delete'])
    if 'planning' in results:
        planning.show(results['planning'])
    if 'keys' in results:
        keys.show(results['keys'])
    if 'signing' in results:
        signing.show(results['signing'])
    if 'gateway' in results:
        gateway.show(results['gateway'])
    if 'copies' in results:
        copies.show(results['copies'])
    if 'governed' in results:
        governed.show(results['governed'])


def show_single(results):
    ours, peer = results['lakeproxy'], results['reference catalog']
    print(f'\n{"":44}{"lakeproxy":>12}{"reference":>12}{"ratio":>8}')
    for name in ours:
        ratio = ours[name] / peer[name] if peer[name] else float('nan')
        print(f'{name:44}{ours[name]:12.1f}{peer[name]:12.1f}{ratio:8.2f}')
    print(f'\nstart to ready {results["start"]["ready_ms"]:.0f} ms, '
          f'resident when idle {results["start"]["resident_mb"]:.0f} MB')
    print(f'/healthz under the paced load: p50 {results["control"]["healthz_p50_ms"]:.2f} ms, '
          f'p99 {results["control"]["healthz_p99_ms"]:.2f} ms')
    commit = results['commit']
    print(f'a commit waits for PostgreSQL {commit["postgres_round_trips"]:.1f} times and for '
          f'{commit["store_requests"]:.1f} store requests, and takes {commit["own_ms"]:.2f} ms itself')
    print(f'\n{"files":>8}{"snapshots":>11}{"load p50 ms":>13}{"commit p50 ms":>15}{"own ms":>9}{"metadata KB":>13}')
    for row in results['growth']:
        print(f'{row["files"]:8}{row["snapshots"]:11}{row["load_p50_ms"]:13.2f}'
              f'{row["commit_p50_ms"]:15.2f}{row["commit_own_ms"]:9.2f}{row["metadata_kb"]:13.0f}')


def main():
    parser = argparse.ArgumentParser(prog='./dev bench')
    parser.add_argument('--seconds', type=int, default=10, help='length of each load')
    parser.add_argument('--quick', action='store_true', help='small tables and few commits only; nothing is kept')
    parser.add_argument('--only', action='append', choices=PARTS, help='what is kept says so')
    parser.add_argument('--binary', type=pathlib.Path, default=BINARY, help='of another build, to hold it beside this one')
    options = parser.parse_args()
    options.commits = 20 if options.quick else 60
    # The reference takes memory, and its start a while: only where something is held beside it.
    beside = not options.only or any(part in BESIDE_THE_REFERENCE for part in options.only)
    with BenchStack(options.binary) if beside else OwnStack('bench', options.binary) as servers:
        results = measure_all(servers, options)
    show(results)
    if not options.quick:
        keep(results, '-'.join(options.only or ()))


if __name__ == '__main__':
    try:
        main()
    except subprocess.CalledProcessError as fault:
        sys.exit(f'bench: {fault}')
