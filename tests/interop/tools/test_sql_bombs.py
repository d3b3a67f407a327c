"""Statements that take all the memory or time that they can get, at a real service: what they end is the engine's process at most."""
import asyncio
import json
import random
import signal
import os
import pathlib

import pytest
from scp import Refused
from tool_clients import client_of
from tool_stack.service import SANITIZED

ROUNDS, AT_ONCE = 50, 4  # 200 generated statements
# A plain query has the default of 30 s, in which a process that was ended is followed by another.
BOMB_MS = 500
LONG_TEXT = "(SELECT string_agg(k::VARCHAR, '') s FROM range(3000000) t(k))"
LONG_LIST = '(SELECT list(k) s FROM range(3000000) t(k))'

BOMBS = [
    # Of a text that is gathered, and copied for each row beside it.
    f'SELECT max(length(s || i)) FROM {LONG_TEXT}, range(2048) u(i)',
    f'SELECT count(*) FROM {LONG_TEXT}, range(2048) u(i) WHERE upper(s) || i = s',
    f'SELECT (SELECT max(length(s || i)) FROM range(2048) u(i)) FROM {LONG_TEXT}',
    f'SELECT max(len(list_reverse(s))) FROM {LONG_LIST}, range(2048) u(i)',
    f'SELECT i, max(s) FROM {LONG_TEXT}, range(2048) u(i) GROUP BY i',
    # Of one call.
    "SELECT length(repeat('x', 4000000000))",
    "SELECT length(lpad('x', 1000000000, 'y'))",
    'SELECT len(range(1000000000))',
    'SELECT len(list_resize([1], 1000000000))',
    "SELECT length(printf('%1000000000d', 1))",
    "SELECT length(replace(repeat('x', 100000), 'x', repeat('y', 100000)))",
    'SELECT len(list_transform(range(100000), x -> range(100000)))',
    # Level by level.
    "WITH RECURSIVE r AS (SELECT 'x' s, 0 i UNION ALL SELECT s || s, i + 1 FROM r WHERE i < 60) SELECT max(length(s)) FROM r",
    'SELECT sum(length(repeat(s, 1000))) FROM (SELECT repeat(customer, 10000) s FROM orders, range(1000))',
    'SELECT sum(length(string_agg)) FROM (SELECT string_agg(i::VARCHAR, \'\') OVER (ORDER BY i) FROM range(100000) r(i))',
    # Of what the engine counts.
    'SELECT count(*) FROM (SELECT i, hash(i) h FROM range(100000000) r(i) ORDER BY h, i OFFSET 1)',
    'SELECT count(DISTINCT i) FROM range(1000000000) r(i)',
    # Of time, also where nothing looks at the clock.
    'SELECT sum((a.i + b.i) % 7) FROM range(10000000) a(i), range(100000) b(i)',
    "SELECT repeat('a', 100000) LIKE '%a_%a_%a_%a_%a_%a_%b'",
]


def generated(seed, count):
    """Statements of a grammar: something large, made larger, for many rows."""
    chance = random.Random(seed)

    def text(depth):
        if depth == 0:
            return chance.choice(["'x'", "'a text of some length'", 'customer', 'i::VARCHAR'])
        inner, size = text(depth - 1), 10 ** chance.randint(1, 9)
        return chance.choice([
            f'repeat({inner}, {size})', f'{inner} || {text(depth - 1)}', f'upper({inner})', f'lpad({inner}, {size}, \'y\')',
            f'replace({inner}, \'x\', {text(depth - 1)})', f'array_to_string(list_transform(range({size}), x -> {inner}), \',\')',
            f'hex({inner})', f'reverse({inner})', f'regexp_replace({inner}, \'.\', \'xx\', \'g\')', f'left({inner}, {size})',
        ])

    def statement():
        rows, depth = 10 ** chance.randint(0, 7), chance.randint(1, 4)
        value = text(depth)
        return chance.choice([
            f'SELECT max(length({value})) FROM orders, range({rows}) r(i)',
            f'SELECT length(string_agg({value}, \',\')) FROM orders, range({rows}) r(i)',
            f'SELECT count(DISTINCT {value}) FROM orders, range({rows}) r(i)',
            f'SELECT len(list({value})) FROM orders, range({rows}) r(i)',
            f'SELECT sum(length(v)) FROM (SELECT {value} v FROM orders, range({rows}) r(i) ORDER BY v DESC LIMIT 1000)',
            f'SELECT length(max({value})) FROM orders, range({rows}) r(i) GROUP BY i % 100 LIMIT 1',
        ])

    return [statement() for _ in range(count)]


def resident(service):
    """KiB."""
    status = pathlib.Path(f'/proc/{service.process.pid}/status').read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith('VmRSS:'))


def children_of(service):
    tasks = pathlib.Path(f'/proc/{service.process.pid}/task').iterdir()
    return [int(pid) for task in tasks for pid in (task / 'children').read_text().split()]


async def fate(client, statement):
    """'ok', 'mistake', or the code of the refusal."""
    try:
        answer = await client.invoke_tool('sql.query', sql=statement, deadline_ms=BOMB_MS)
    except Refused as refused:
        assert refused.message, (statement, refused)
        return refused.code
    return 'mistake' if answer['is_error'] else 'ok'


async def rows(client):
    answer = await client.invoke_tool('sql.query', sql='SELECT count(*) FROM orders')
    return answer['structured']['rows']


@pytest.fixture(scope='module')
def walled(make_service):
    service = make_service('simple', connectors__sql__memory='64MiB', limits__calls_per_second=1000, limits__burst=1000)

    async def load():
        client = client_of(service)
        await client.connect()
        answer = await client.invoke_tool('sql.load', file='orders.csv', table='orders')
        await client.disconnect()
        return answer['is_error']

    assert asyncio.run(load()) is False
    return service


def survives(service, statements):
    """Runs them, some at once, and a plain query after each; the ends of all."""
    async def whole():
        client = client_of(service)
        await client.connect()
        expected = await rows(client)
        before, pid, ends = resident(service), service.process.pid, []
        for at in range(0, len(statements), AT_ONCE):
            batch = statements[at:at + AT_ONCE]
            ends += await asyncio.gather(*(fate(client, one) for one in batch))
            assert await rows(client) == expected, batch
        assert service.process.alive() and service.process.pid == pid
        grown = resident(service) - before
        await client.disconnect()
        return ends, grown

    ends, grown = asyncio.run(whole())
    assert set(ends) <= {'ok', 'mistake', 'E_LIMIT', 'E_TIMEOUT', 'E_UPSTREAM'}, ends
    assert len(ends) == len(statements)
    assert SANITIZED or grown < 96 << 10, grown
    return ends


def test_bombs_end_themselves_alone(walled):
    ends = survives(walled, BOMBS)
    # The first ones are more than any limit: what is answered is that.
    assert ends.count('ok') < len(BOMBS) // 2, ends


def test_generated_bombs_end_themselves_alone(walled):
    ends = survives(walled, generated('walls', ROUNDS * AT_ONCE))
    assert 'ok' in ends and 'E_LIMIT' in ends, ends


def test_an_engine_that_is_killed_begins_again_with_its_tables(walled):
    async def whole():
        client = client_of(walled)
        await client.connect()
        expected = await rows(client)
        endless = asyncio.create_task(fate(client, 'SELECT sum((a.i + b.i) % 7) FROM range(10000000) a(i), range(100000) b(i)'))
        while not (children := children_of(walled)):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        for child in children:
            os.kill(child, signal.SIGKILL)
        assert await endless in ('E_UPSTREAM', 'E_TIMEOUT')
        after = await rows(client)
        await client.disconnect()
        return expected, after

    expected, after = asyncio.run(whole())
    assert after == expected
    lines = [json.loads(line) for line in walled.log.read_text().splitlines() if line.startswith('{')]
    assert any("a connector's process ended" in line.get('message', line.get('msg', '')) for line in lines)


def test_the_engine_is_not_in_the_service(walled):
    """The one child has the engine, no network and no way to another program; the service stays without."""
    (child,) = children_of(walled)
    status = pathlib.Path(f'/proc/{child}/status').read_text()
    facts = dict(line.split(':\t', 1) for line in status.splitlines() if ':\t' in line)
    assert facts['NoNewPrivs'] == '1' and facts['Seccomp'] == '2'
    assert int(facts['CapEff'], 16) == 0
    limits = pathlib.Path(f'/proc/{child}/limits').read_text()
    assert SANITIZED or any(line.startswith('Max address space') and 'unlimited' not in line.split('bytes')[0] for line in limits.splitlines()), limits
    opened = {os.readlink(f'/proc/{child}/fd/{fd}') for fd in os.listdir(f'/proc/{child}/fd')}
    assert all(name == '/dev/null' or name.startswith(('socket:', 'anon_inode:')) for name in opened), opened
    assert walled.run('config', 'check').stdout.splitlines()[-1].startswith(('walls: all', 'warning: walls'))
