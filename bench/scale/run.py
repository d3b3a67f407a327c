"""How far one lake goes: very many files, very many snapshots, fresh readers, several catalogs.

usage: ./dev bench scale [--quick] [--only NAME]...
Prints each figure beside the physical limit measured in the same run, and keeps them under
bench/results/, with the commit and the machine they belong to.
"""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent
sys.path[:0] = [str(HERE), str(BENCH), str(BENCH.parent / 'devtools')]

import freshness  # noqa: E402
import large_lake  # noqa: E402
import limits  # noqa: E402
import several  # noqa: E402
import spread  # noqa: E402
from record import keep  # noqa: E402
from servers import OwnStack  # noqa: E402

PARTS = ('fresh', 'files', 'snapshots', 'several', 'spread')


def measure_all(servers, options):
    catalog, wanted = servers.lakeproxy_catalog(), options.only or PARTS
    results = {'postgres_commit_ms': limits.postgres_commit_ms(servers.stack.postgres),
               'store_put_ms': limits.store_put_ms(catalog.lake)}
    if 'fresh' in wanted:
        results['fresh'] = freshness.visible_after_commit(catalog.lake, catalog.base(), options.commits)
    if 'several' in wanted:
        results['several'] = several.one_killed(servers.stack, catalog, options.seconds)
    if 'spread' in wanted:
        results['spread'] = spread.one_stopped(servers.stack, catalog, options.seconds)
    if 'files' in wanted:
        results['files'] = large_lake.many_files(catalog, options.files, options.seconds)
    if 'snapshots' in wanted:
        results['snapshots'] = large_lake.many_snapshots(servers, catalog, options.snapshots, options.seconds)
    return results


def show(results):
    print(f'\na commit of one row in PostgreSQL {results["postgres_commit_ms"]:.2f} ms, '
          f'putting 8 KiB in the store {results["store_put_ms"]:.2f} ms')
    if 'fresh' in results:
        found = results['fresh']
        print(f'visible after a commit of DuckDB ({found["commits"]} commits): '
              f'p50 {found["p50_ms"]:.1f} ms, p99 {found["p99_ms"]:.1f} ms')
    if 'several' in results:
        found = results['several']
        print(f'three catalogs: {found["lists_per_second_three"]:,.0f} lists a second (one: '
              f'{found["lists_per_second_one"]:,.0f}); one killed: {found["acknowledged"]} commits acknowledged, '
              f'{found["in_the_lake"]} in the lake, {found["asked_again"]} asked again')
    if 'spread' in results:
        found = results['spread']
        print(f'two PostgreSQL servers: {found["commits_per_second_both"]:,.0f} commits a second (one: '
              f'{found["commits_per_second_one"]:,.0f}); one stopped: {found["commits_while_other_is_gone"]} more commits to '
              f'the other, {found["acknowledged"]} acknowledged, {found["in_the_lake"]} in the lake')
    if 'files' in results or 'snapshots' in results:
        print(f'\n{"":44}{"append p50 ms":>15}{"of it own ms":>14}{"load p50 ms":>13}{"loads/s":>10}')
    if 'files' in results:
        for row in results['files'].values():
            show_costs(f'a table of {row["files"]:,} data files', row)
    if 'snapshots' in results:
        found = results['snapshots']
        for name, what in (('before', 'before'), ('after', 'after'), ('after_restart', 'restarted after')):
            show_costs(f'{what} {found["snapshots"]:,} snapshots of others', found[name])


def show_costs(what, row):
    print(f'{what:44}{row["append_p50_ms"]:15.2f}{row["append_own_ms"]:14.2f}{row["load_p50_ms"]:13.2f}'
          f'{row["loads_per_second"]:10,.0f}')


def parse():
    parser = argparse.ArgumentParser(prog='./dev bench scale')
    parser.add_argument('--quick', action='store_true', help='a hundredth of everything; nothing is kept')
    parser.add_argument('--only', action='append', choices=PARTS, help='what is kept says so')
    options = parser.parse_args()
    options.files, options.snapshots = (2_000, 28_000) if options.quick else (100_000, 2_800_000)
    options.commits, options.seconds = (20, 4) if options.quick else (300, 10)
    return options


def main():
    options = parse()
    with OwnStack('bench-scale') as servers:
        results = measure_all(servers, options)
    show(results)
    if not options.quick:
        keep(results, '-'.join(['scale', *(options.only or ())]))


if __name__ == '__main__':
    main()
