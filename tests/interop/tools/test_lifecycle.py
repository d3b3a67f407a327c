"""How a service ends, and how its configuration changes while it serves."""
import asyncio
import contextlib
import json
import os
import signal
import time

import pytest
import websockets
from raw import raw_of, run
from scp import Refused
from test_limits import SLOW, close_all, code_of


async def exit_code(service, seconds=30):
    """Of the process, which is a child of this one."""
    for _ in range(int(seconds * 50)):
        pid, status = os.waitpid(service.process.pid, os.WNOHANG)
        if pid:
            service.process = None
            return os.waitstatus_to_exitcode(status)
        await asyncio.sleep(0.02)
    raise AssertionError('the service does not end')


@pytest.mark.parametrize('mode', ['basic', 'encrypted'])
def test_drain(make_service, mode):
    """Running calls end, new ones are E_BUSY, connections before READY are closed with 4503, the exit code is 0."""
    service = make_service(mode)

    async def work():
        client, waiting = raw_of(service), await raw_of(service).to('NEGOTIATED')
        await client.connect()
        call = asyncio.ensure_future(client.invoke_tool('sql.query', deadline_ms=900, sql=SLOW))
        await asyncio.sleep(0.2)
        os.kill(service.process.pid, signal.SIGTERM)
        closed = (await waiting.refusal())[1]
        late = await code_of(client.invoke_tool('files.stat', path='notes/welcome.txt'))
        ping = await client.call('session.ping', {})
        ended = await code_of(call)
        with contextlib.suppress(Refused, websockets.ConnectionClosed):
            await client.disconnect()
        code = await exit_code(service)
        await close_all([client, waiting])
        return closed, late, ping, ended, code

    assert run(work()) == (4503, 'E_BUSY', {}, 'E_TIMEOUT', 0)


def test_a_second_signal_is_not_needed_without_sessions(make_service):
    service = make_service('simple')
    os.kill(service.process.pid, signal.SIGINT)
    assert run(exit_code(service, 5)) == 0


def log_lines(service):
    return [json.loads(line) for line in service.log.read_text().splitlines()]


def reload(service, **changes):
    """Sends SIGHUP with a changed file; returns what the log says of it."""
    before = len(log_lines(service))
    service.settings.update({name.replace('__', '.'): value for name, value in changes.items()})
    service.write_config()
    os.kill(service.process.pid, signal.SIGHUP)
    for _ in range(250):
        said = [line for line in log_lines(service)[before:] if 'configuration' in json.dumps(line)]
        if said:
            return said[0]
        time.sleep(0.02)
    raise AssertionError('nothing is said about the reload')


def test_reload(make_service):
    service = make_service('simple', limits__connections_per_address=1)

    async def count():
        held = []
        while len(held) < 4:
            try:
                held.append(await raw_of(service).to('READY'))  # strangers would make room for one another
            except websockets.InvalidStatus as refused:
                assert refused.response.status_code == 503
                break
        await close_all(held)
        await asyncio.sleep(0.1)
        return len(held)

    assert run(count()) == 1
    said = reload(service, limits__connections_per_address=3)
    assert 'limits.connections_per_address' in json.dumps(said)
    assert run(count()) == 3
    said = reload(service, limits__connections_per_address=-5)
    assert said['level'] == 'error' and 'old one stays' in json.dumps(said)
    assert run(count()) == 3
    (service.folder / 'securetool.toml').write_text('this is = = no TOML')
    os.kill(service.process.pid, signal.SIGHUP)
    time.sleep(0.3)
    assert run(count()) == 3
    # What is not live waits for a restart, and the log names it.
    said = reload(service, limits__connections_per_address=2, server__idle_timeout=77)
    assert 'server.idle_timeout' in json.dumps(said) and run(count()) == 2


def test_sessions_live_through_a_reload(make_service):
    service = make_service('encrypted')

    async def work():
        client = raw_of(service)
        await client.connect()
        call = asyncio.ensure_future(client.invoke_tool('sql.query', deadline_ms=800, sql=SLOW))
        await asyncio.sleep(0.2)
        reload(service, limits__burst=200)
        ended = await code_of(call)
        after = await code_of(client.invoke_tool('files.stat', path='notes/welcome.txt'))
        await client.close()
        return ended, after

    assert run(work()) == ('E_TIMEOUT', None)
