"""Readable copies under way: nobody waits for them but the table, and whoever falls in between leaves no half of one."""
import contextlib
import re

import pytest
import requests

from faults.reader import Reader
from faults.servers import SECONDS, Faulty, lake_of, own_stack
from stack.process import wait_until

COPY = 35  # lakeproxy/engine/files/engine_pool.h
FILES, ROWS = 4, 500


@contextlib.contextmanager
def server_with(suffix, **settings):
    with own_stack(suffix, LAKEPROXY_DISABLE_NOTIFY='1') as stack:
        with Faulty(stack, {'LAKEPROXY_WORKERS': '1', 'LAKEPROXY_DISABLE_NOTIFY': '1', **settings}) as server:
            reader = Reader(stack, lake_of(stack))
            reader.duck.execute('CREATE SCHEMA lake.faults')
            reader.duck.execute('CREATE TABLE lake.faults.other AS SELECT 1 AS n')
            reader.duck.execute('CREATE TABLE lake.faults.t (n BIGINT, u UINTEGER)')
            for file in range(FILES):
                reader.duck.execute(f'INSERT INTO lake.faults.t SELECT n, 4294967295 - n FROM range({file * ROWS}, {(file + 1) * ROWS}) r(n)')
            yield server, reader


def load(server, name='t'):
    return requests.get(f'{server.uri()}/v1/lake/namespaces/faults/tables/{name}', timeout=SECONDS)


def opens(server):
    """Its answers until all of it is shown."""
    answers = []

    def whole():
        answers.append(load(server))
        return answers[-1].status_code == 200 and len(answers[-1].json()['metadata']['snapshots']) == FILES
    assert wait_until(whole, SECONDS), answers[-1].text[:400]
    return answers


def all_are_counted(server):
    """Soon: a copy is there for a load a moment before it is counted. One that a load asked for with what it had read before may be
    made again, which changes nothing."""
    def counted():
        metrics = requests.get(f'{server.uri()}/metrics', timeout=SECONDS).text
        made = re.search(r'^lakeproxy_readable_copies_total\{outcome="made"\} (\d+)$', metrics, re.MULTILINE)
        return made and int(made[1]) >= FILES and re.search(r'^lakeproxy_readable_copies_waiting 0$', metrics, re.MULTILINE)
    assert wait_until(counted, SECONDS), requests.get(f'{server.uri()}/metrics', timeout=SECONDS).text


def rows_of(reader):
    return sorted((row['n'], row['u']) for row in reader.load('t').scan().to_arrow().to_pylist())


ALL = [(n, 4294967295 - n) for n in range(FILES * ROWS)]


def test_a_table_says_how_far_its_copies_are_and_others_open():
    with server_with('copies-held') as (server, reader):
        server.arm(COPY, 'pause')
        answer = load(server)
        assert answer.status_code == 503
        assert f'copied 0 of {FILES} files' in answer.json()['error']['message']
        assert answer.headers['Retry-After']
        paused = server.await_pause(COPY)
        assert load(server, 'other').status_code == 200
        assert load(server).status_code == 503
        metrics = requests.get(f'{server.uri()}/metrics', timeout=SECONDS).text
        assert f'lakeproxy_readable_copies_waiting {FILES}' in metrics
        paused.unlink()
        opens(server)
        assert rows_of(reader) == ALL
        all_are_counted(server)


# The jobs of a copy: its file is brought, the copy is written, and read to be put.
@pytest.mark.parametrize('jobs', range(1, 4))
def test_a_server_that_falls_leaves_no_half_copy(jobs):
    with server_with('copies-fall') as (server, reader):
        server.arm(COPY, 'pause')
        assert load(server).status_code == 503
        for job in range(1, jobs + 1):
            paused = server.await_pause(COPY)
            server.arm(COPY, 'kill' if job == jobs else 'pause')
            paused.unlink()
        server.await_death(COPY)
        server.start()
        opens(server)
        assert rows_of(reader) == ALL


def test_a_newer_state_waits_and_the_one_before_is_shown():
    with server_with('copies-newer') as (server, reader):
        opens(server)
        server.arm(COPY, 'pause')
        reader.duck.execute(f'INSERT INTO lake.faults.t SELECT n, 4294967295 - n FROM range({FILES * ROWS}, {FILES * ROWS + 50}) r(n)')
        shown = load(server)
        assert shown.status_code == 200 and len(shown.json()['metadata']['snapshots']) == FILES
        paused = server.await_pause(COPY)
        # Who has not seen the newest state commits nothing.
        body = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'k': 'v'}}]}
        refused = requests.post(f'{server.uri()}/v1/lake/namespaces/faults/tables/t', json=body, timeout=SECONDS)
        assert refused.status_code in (409, 503), refused.text
        paused.unlink()
        assert wait_until(lambda: len(load(server).json()['metadata']['snapshots']) == FILES + 1, SECONDS)
        assert len(rows_of(reader)) == FILES * ROWS + 50
