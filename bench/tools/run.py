"""The tool service under load on loopback, beside the bare network, bare signatures and two MCP servers.

usage: ./dev bench tools [--quick] [--only PART]...
Prints the figures of each part, and at the end every target with what was found. Keeps them under bench/results/, with the commit
and the machine they belong to.
"""
import argparse
import importlib
import pathlib
import resource
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent
sys.path[:0] = [str(HERE), str(BENCH), str(BENCH.parent / 'devtools'), str(BENCH.parent / 'clients/python')]

from machine import awake_processors, load_average  # noqa: E402
from parts import Bench  # noqa: E402
from record import keep  # noqa: E402
from tool_stack.authority import Authority  # noqa: E402

PARTS = ('calls', 'ingress', 'walls', 'bridge', 'catalog', 'federation', 'links', 'guard', 'flows', 'sessions', 'sql')


def parse():
    parser = argparse.ArgumentParser(prog='./dev bench tools')
    parser.add_argument('--quick', action='store_true', help='fewer rounds; nothing is kept')
    parser.add_argument('--only', action='append', choices=PARTS, metavar='PART', help=f'one of {", ".join(PARTS)}')
    return parser.parse_args()


def main():
    options = parse()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    results, targets = {'load_before': load_average()}, []
    with tempfile.TemporaryDirectory(prefix='bench-tools-') as folder, awake_processors() as awake:
        results['awake'] = awake
        folder = pathlib.Path(folder)
        bench = Bench(folder, Authority(folder / 'authority'), options.quick)
        for name in options.only or PARTS:
            part = importlib.import_module(f'parts.{name}')
            results[name] = part.measure(bench)
            part.show(results[name])
            targets += part.targets(results[name])
    print('\n' + '\n'.join(target.line() for target in targets))
    if not options.quick:
        keep({'service': 'securetool', **results, 'targets': [target.record() for target in targets]}, '-'.join(['tools', *(options.only or [])]))


if __name__ == '__main__':
    main()
