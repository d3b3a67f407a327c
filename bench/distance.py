"""A store that is far away: what of a commit, and of the load after it, is waiting for the store.

A catalog of its own reaches the store over a wire that delivers each of its requests later. The client writes
its files to the store itself, before the clock starts. Commits come one right after the other, and after each
the table is loaded, so that what a catalog leaves for later shows where somebody waits for it.
"""
import contextlib
import dataclasses
import queue
import socket
import statistics
import threading
import time

import requests

import many
import measure
import servers as bench_servers
from appends import Table
from stack import catalog, ports

COMMITS, WARM_UP = 40, 5
DELAYS = 0, 30  # milliseconds
CHUNK = 1 << 16


class Distance:
    """Forwards connections to `port`; what the client says arrives `milliseconds` later. Closed at the end of the `with`."""

    def __init__(self, port, milliseconds):
        self.target = port
        self.seconds = milliseconds / 1000
        self.listener = socket.create_server(('127.0.0.1', 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return f'http://127.0.0.1:{self.listener.getsockname()[1]}'

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(('127.0.0.1', self.target))
                for wire in (client, server):
                    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                on_the_way = queue.SimpleQueue()
                for work in ((hear, client, on_the_way), (self.deliver, on_the_way, server), (pass_on, server, client)):
                    threading.Thread(target=work[0], args=work[1:], daemon=True).start()

    def deliver(self, on_the_way, server):
        for said_at, words in iter(on_the_way.get, None):
            time.sleep(max(0, said_at + self.seconds - time.monotonic()))
            server.sendall(words)
        server.shutdown(socket.SHUT_WR)


def hear(client, on_the_way):
    with contextlib.suppress(OSError):
        while words := client.recv(CHUNK):
            on_the_way.put((time.monotonic(), words))
    on_the_way.put(None)


def pass_on(server, client):
    with contextlib.suppress(OSError):
        while words := server.recv(CHUNK):
            client.sendall(words)
        client.shutdown(socket.SHUT_WR)


def waits(servers):
    """By the milliseconds that the store is away: medians of commits and of the loads that follow them."""
    found = {}
    for milliseconds in DELAYS:
        with Distance(servers.stack.store.port, milliseconds) as endpoint, far_catalog(servers, endpoint) as far:
            found[milliseconds] = commits_and_loads(far, f'far_{milliseconds}')
    near, far = (found[milliseconds]['commit_p50_ms'] for milliseconds in DELAYS)
    return {'by_delay': found, 'store_waits': (far - near) / DELAYS[-1]}


@contextlib.contextmanager
def far_catalog(servers, endpoint):
    stack = servers.stack
    part = catalog.Lakeproxy(stack.folder, ports.any_free(), stack.postgres, stack.store, bench_servers.BINARY,
                             {'LAKEPROXY_S3_ENDPOINT': endpoint})
    part.name, part.log = 'far lakeproxy', stack.folder / 'far.log'
    stack.start(part)
    try:
        yield bench_servers.Catalog('far', dataclasses.replace(servers.lakeproxy_catalog().lake, uri=part.uri()))
    finally:
        stack.stop(part)


def commits_and_loads(far, name):
    client = far.client()
    client.create_namespace_if_not_exists(measure.NAMESPACE)
    table = Table(client, f'{measure.NAMESPACE}.{name}')
    measure.commit_all(far, name, table, 1, 1)
    bodies, written = table.side_by_side(WARM_UP + COMMITS)
    many.upload(far.lake, written)
    url, commits, loads = measure.table_url(far, name), [], []
    with requests.Session() as session:
        for body in bodies:
            commits.append(measure.timed(lambda body=body: session.post(url, json=body, timeout=60))[0])
            loads.append(measure.timed(lambda: session.get(url, timeout=60))[0])
    return {'commit_p50_ms': statistics.median(commits[WARM_UP:]), 'load_p50_ms': statistics.median(loads[WARM_UP:])}


def show(results):
    print(f'\n{"store away, ms":>16}{"commit p50 ms":>16}{"load after it p50 ms":>22}')
    for milliseconds, row in results['by_delay'].items():
        print(f'{milliseconds:16}{row["commit_p50_ms"]:16.1f}{row["load_p50_ms"]:22.1f}')
    print(f'a commit waits {results["store_waits"]:.1f} times for the store')
