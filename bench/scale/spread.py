"""Two catalogs, each on a PostgreSQL of its own, under one address; one PostgreSQL stops under load."""
import concurrent.futures
import contextlib
import dataclasses
import time

import requests

from balancer import Balancer
from servers import Catalog
from several import Writers
from stack import paths, ports
from stack.catalog import Lakeproxy
from stack.postgres import Postgres

PREFIX = 'west'
CLIENTS = 4


class SecondServer:
    """A PostgreSQL and a proxy for the catalog `west`, in the stack's object store."""

    def __init__(self, stack):
        folder = stack.folder / PREFIX
        folder.mkdir(exist_ok=True)
        self.postgres = Postgres(folder, paths.short_folder(f'{stack.name}-{PREFIX}'), ports.any_free(),
                                 stack.postgres.password)
        self.proxy = Lakeproxy(folder, ports.any_free(), self.postgres, stack.store, stack.state['binary'],
                               {'LAKEPROXY_CATALOG': PREFIX, 'LAKEPROXY_S3_PREFIX': f'{PREFIX}/'})

    def __enter__(self):
        self.running = {part: part.start() for part in (self.postgres, self.proxy)}
        return self

    def __exit__(self, *fault):
        for part in (self.proxy, self.postgres):
            self.stop(part)
        self.postgres.wipe()

    def stop(self, part):
        process = self.running.pop(part, None)
        if process is not None:
            part.stop(process)


def one_stopped(stack, catalog, seconds):
    """Commits a second of both catalogs at once, and what the one sees when the other's PostgreSQL is gone."""
    groups = {catalog.lake.warehouse: [stack.catalog]}
    with SecondServer(stack) as second, Balancer(stack.folder, groups | {PREFIX: [second.proxy]}) as balancer:
        one = Catalog(catalog.name, dataclasses.replace(catalog.lake, uri=balancer.uri()))
        other = Catalog(catalog.name, dataclasses.replace(one.lake, warehouse=PREFIX))
        writers = [Writers(one, CLIENTS, 'spread'), Writers(other, CLIENTS, 'spread')]
        alone = run(writers[:1], seconds)[0]
        both = run(writers, seconds)
        second.stop(second.postgres)
        refused = requests.get(f'{writers[1].base}namespaces', timeout=30).status_code
        still = run(writers[:1], seconds)[0]
        if refused != 503:
            raise RuntimeError(f'a catalog without its PostgreSQL answered {refused}, not 503')
        return {'commits_per_second_one': alone / seconds, 'commits_per_second_both': sum(both) / seconds,
                'acknowledged': alone + both[0] + still, 'in_the_lake': writers[0].snapshots(),
                'commits_while_other_is_gone': still}


def run(writers, seconds):
    """Commits acknowledged to each of `writers`, all writing at once."""
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(sum(one.count for one in writers)))
        end = time.monotonic() + seconds
        done = [[pool.submit(one.write, number, end) for number in range(one.count)] for one in writers]
        return [sum(client.result() for client in clients) for clients in done]
