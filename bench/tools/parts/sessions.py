"""New sessions, one after another, and what idle ones hold."""
import json
import time

from loaded_service import LoadedService
from rounds import Target


def handshakes(server, count):
    server.load('handshakes', '--count', max(10, count // 10))
    before = server.cpu_seconds()
    found = server.load('handshakes', '--count', count)
    return {'count': count, 'server_ms': (server.cpu_seconds() - before) / count * 1e3,
            'client_ms': found['cpu_seconds'] / count * 1e3, 'p50_us': found['p50_us'], 'p99_us': found['p99_us']}


def idle(server, count):
    """Resident memory that `count` idle sessions add to a server that has served some before."""
    server.load('idle', '--count', 100)
    time.sleep(1)
    before = server.resident_kib()
    with server.start_load('idle', '--count', count) as load:
        opened = json.loads(load.stdout.readline())
        time.sleep(2)
        held = server.resident_kib()
        load.stdin.close()
        if load.wait() != 0:
            raise RuntimeError('idle sessions ended')
    return {'count': count, 'kib_each': (held - before) / count, 'opened_per_second': opened['per_second']}


def measure(bench):
    place, found = bench.place('sessions'), {}
    with LoadedService(place, 'encrypted', bench.authority) as server:
        found['new'] = handshakes(server, bench.count(2_000))
    for name, tls in (('idle', False), ('idle_tls', True)):
        with LoadedService(place / name, 'encrypted', bench.authority, over_tls=tls) as server:
            found[name] = idle(server, bench.count(10_000))
    return found


def show(found):
    new = found['new']
    print(f'\na new encrypted session: server {new["server_ms"]:.3f} ms of CPU, client {new["client_ms"]:.3f} ms; '
          f'to READY p50 {new["p50_us"]:.0f} us, p99 {new["p99_us"]:.0f} us')
    for name, what in (('idle', 'without TLS'), ('idle_tls', 'with TLS')):
        print(f'{found[name]["count"]:,} idle sessions {what}: {found[name]["kib_each"]:.1f} KiB each')


def targets(found):
    return [Target('a new encrypted session: CPU of the server', found['new']['server_ms'], 0.5, 'ms'),
            Target('a new encrypted session: CPU of the client', found['new']['client_ms'], 0.5, 'ms'),
            Target('an idle session without TLS', found['idle']['kib_each'], 20, 'KiB'),
            Target('an idle session with TLS', found['idle_tls']['kib_each'], 64, 'KiB')]
