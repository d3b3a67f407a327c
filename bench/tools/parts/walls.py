"""What a child process adds to a call: beside a call that the service answers by itself, and beside a bare socket between two threads."""
import json

import micro
from loaded_service import LoadedService
from rounds import Target, alternate, median, medians, more

COUNT = 3_000
LOADS = {'in the service': ['--tool', 'echo.say', '--args', json.dumps({'text': ''})],
         # It looks into a map that is empty: the engine has no part in it.
         'in the child': ['--tool', 'sql.list_tables', '--args', '{}'],
         'by the engine in it': ['--tool', 'sql.query', '--args', json.dumps({'sql': 'SELECT 1'})]}


def measure(bench):
    with LoadedService(bench.place('walls'), 'encrypted', bench.authority) as server:
        def of(load):
            def measure():
                before, count = server.cpu_seconds(), bench.count(COUNT)
                found = server.load('calls', *load, '--count', count)
                return {'p50_us': found['p50_us'], 'cpu_us': (server.cpu_seconds() - before) / (count * 1.1) * 1e6}

            return measure

        found = alternate({**{name: of(load) for name, load in LOADS.items()}, 'channel': lambda: micro.run('toolserver_isolate')}, bench.rounds)
    return {'figures': medians(found), 'child_cpu_us': more(found, 'in the child', 'in the service', 'cpu_us'), 'child_us': more(found, 'in the child', 'in the service', 'p50_us'),
            'engine_us': more(found, 'by the engine in it', 'in the service', 'p50_us'),
            'channel_us': median(found, 'channel', 'call_of_a_child_us'), 'socket_us': median(found, 'channel', 'socket_there_and_back_us'),
            'channel_16_us': median(found, 'channel', 'call_of_a_child_among_16_us') / 16}


def show(found):
    print(f'\na child process: a call of it {found["channel_us"]:.1f} us, among 16 {found["channel_16_us"]:.1f} us; '
          f'a bare socket there and back {found["socket_us"]:.1f} us; CPU of the service and the child {found["child_cpu_us"]:+.1f} us a call; SELECT 1 by the engine in it {found["engine_us"]:+.0f} us over a call in the service')


def targets(found):
    return [Target('a child process: p50 over a call in the service', found['child_us'], 40, 'us')]
