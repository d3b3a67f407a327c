"""Native calls beside the bare network."""
import loaded_service
from loaded_service import LoadedService
from parts import ECHO, IN_FLIGHT
from rounds import Target, alternate, median, medians, more

ONE, MANY = 5_000, 20_000


def raw(bench):
    one, many = loaded_service.raw_echo(1, bench.count(ONE)), loaded_service.raw_echo(IN_FLIGHT, bench.count(MANY))
    return {'one_p50_us': one['p50_us'], 'one_p99_us': one['p99_us'], 'one_per_second': one['per_second'],
            'many_p99_us': many['p99_us'], 'many_per_second': many['per_second']}


def native(server, bench):
    """One call at a time, then 64 in flight: over one connection, and over four. What a call costs both sides."""
    found = {}
    for name, in_flight, connections in (('one', 1, 1), ('many', IN_FLIGHT, 1), ('four', IN_FLIGHT, 4)):
        before = server.cpu_seconds()
        count = bench.count(ONE if in_flight == 1 else MANY)
        load = server.load('calls', *ECHO, '--count', count, '--in-flight', in_flight, '--connections', connections)
        found |= {f'{name}_{key}': load[key] for key in ('p50_us', 'p99_us', 'per_second')}
        # The load's own tenth more, to warm up, costs the server as much.
        found[f'{name}_server_us'] = (server.cpu_seconds() - before) / (count * 1.1) * 1e6
        found[f'{name}_load_us'] = load['cpu_seconds'] / count * 1e6
    return found


def measure(bench):
    place = bench.place('calls')
    with LoadedService(place, 'encrypted', bench.authority) as encrypted, LoadedService(place, 'simple', bench.authority) as simple:
        found = alternate({'bare TCP': lambda: raw(bench), 'encrypted': lambda: native(encrypted, bench), 'simple': lambda: native(simple, bench)}, bench.rounds)
    return {'figures': medians(found), 'over_tcp': {
        mode: {key: more(found, mode, 'bare TCP', f'one_{key}') for key in ('p50_us', 'p99_us')} for mode in ('encrypted', 'simple')},
        'best_per_second': max(median(found, 'encrypted', f'{name}_per_second') for name in ('many', 'four'))}


def show(found):
    print(f'\n{"256 bytes there and back":28}{"p50 us":>10}{"p99 us":>10}{"calls/s":>12}{"64: calls/s":>14}{"p99 us":>10}{"4 conns: /s":>14}')
    for name, row in found['figures'].items():
        row = {key: value['median'] for key, value in row.items()}
        four = f'{row["four_per_second"]:14,.0f}' if 'four_per_second' in row else ''
        print(f'{name:28}{row["one_p50_us"]:10.1f}{row["one_p99_us"]:10.1f}{row["one_per_second"]:12,.0f}'
              f'{row["many_per_second"]:14,.0f}{row["many_p99_us"]:10.0f}{four}')
    for mode in ('encrypted', 'simple'):
        row = {key: value['median'] for key, value in found['figures'][mode].items()}
        print(f'{mode}: CPU of a call: server {row["one_server_us"]:.1f} us alone and {row["many_server_us"]:.1f} us among 64, '
              f'load generator {row["one_load_us"]:.1f} and {row["many_load_us"]:.1f} us')


def targets(found):
    over = found['over_tcp']['encrypted']
    return [Target('native, encrypted: p50 of one at a time over bare TCP', over['p50_us'], 40, 'us'),
            Target('native, encrypted: p99 of one at a time over bare TCP', over['p99_us'], 150, 'us'),
            Target('native, encrypted: calls a second, 64 in flight', found['best_per_second'], 35_000, '/s', least=True)]
