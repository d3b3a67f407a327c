"""Three catalogs on one PostgreSQL behind a balancer, one of them killed under load."""
import concurrent.futures
import contextlib
import dataclasses
import threading
import time
import uuid

import requests

import load
from appends import Table
from balancer import Balancer
from stack import ports
from stack.catalog import Lakeproxy

NAMESPACE = 'several'
CLIENTS = 8
TRIES = 10


@contextlib.contextmanager
def proxies(stack, count):
    """`count` more catalogs of the stack's lake, with the processes that serve them."""
    with contextlib.ExitStack() as running:
        found = []
        for number in range(count):
            folder = stack.folder / f'proxy{number}'
            folder.mkdir(exist_ok=True)
            server = Lakeproxy(folder, ports.any_free(), stack.postgres, stack.store, stack.state['binary'])
            process = server.start()
            running.callback(server.stop, process)
            found.append((server, process))
        yield found


def one_killed(stack, catalog, seconds):
    """What the clients of a balancer see while one of three catalogs dies, and what the lake holds afterwards."""
    alone = load.get(f'{catalog.base()}namespaces', 8, seconds).per_second
    with proxies(stack, 3) as running, Balancer(
            stack.folder, {catalog.lake.warehouse: [server for server, _ in running]}) as balancer:
        behind = dataclasses.replace(catalog, lake=dataclasses.replace(catalog.lake, uri=balancer.uri()))
        together = load.get(f'{behind.base()}namespaces', 8, seconds).per_second
        writers = Writers(behind, CLIENTS, NAMESPACE)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            done = [pool.submit(writers.write, number, time.monotonic() + seconds) for number in range(CLIENTS)]
            time.sleep(seconds / 2)
            running[0][0].stop(running[0][1], kill=True)
            acknowledged = sum(writer.result() for writer in done)
        return {'lists_per_second_one': alone, 'lists_per_second_three': together, 'acknowledged': acknowledged,
                'asked_again': writers.asked_again, 'in_the_lake': writers.snapshots()}


class Writers:
    """Appends, each to a table of its own. An answer that did not come is asked for again under the same key."""

    def __init__(self, catalog, count, namespace):
        self.base, self.count, self.namespace = catalog.base(), count, namespace
        self.asked_again, self.lock = 0, threading.Lock()
        client = catalog.client()
        client.create_namespace_if_not_exists(namespace)
        self.tables = [Table(client, f'{namespace}.t{number}') for number in range(count)]

    def write(self, number, end):
        commits, table = 0, self.tables[number]
        while time.monotonic() < end:
            table.metadata = self.commit(self.url(number), table.next_append(1))
            commits += 1
        return commits

    def commit(self, url, body):
        key = {'Idempotency-Key': new_key()}
        for _ in range(TRIES):
            with contextlib.suppress(requests.ConnectionError):
                answer = requests.post(url, json=body, headers=key, timeout=30)
                if answer.status_code == 200:
                    return answer.json()['metadata']
                if answer.status_code < 500:
                    break
            with self.lock:
                self.asked_again += 1
            time.sleep(0.2)
        raise RuntimeError(f'a commit was not taken: {answer.status_code} {answer.text[:300]}')

    def snapshots(self):
        return sum(len(requests.get(self.url(number), timeout=30).json()['metadata']['snapshots'])
                   for number in range(self.count))

    def url(self, number):
        return f'{self.base}namespaces/{self.namespace}/tables/t{number}'


def new_key():
    """A UUID of version 7, as the Iceberg REST description asks: the time in milliseconds, then chance."""
    number = time.time_ns() // 1_000_000 << 80 | uuid.uuid4().int & (1 << 80) - 1
    return str(uuid.UUID(int=number & ~(0xf << 76) | 7 << 76))
