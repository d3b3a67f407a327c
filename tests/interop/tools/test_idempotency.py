"""A call that is sent twice, and what is told of one whose connection, or whose service, is gone. The tool notes each of its runs and
ends when the test lets it."""
import asyncio
import os
import re
import signal
import subprocess
import time

import pytest
import websockets
from cut_proxy import CutProxy
from mcp_messages import McpCaller
from own_tools import GRANTS, sections
from scp import Client, Refused
from scp.client import Closed
from test_command_tools import script
from test_modes import run
from tool_clients import BINARY, client_of
from tool_stack.service import environment, to_toml
from typescript_client import Lost, TypescriptClient

ONCE = """#!/usr/bin/python3
import pathlib, sys, time
place = pathlib.Path(sys.argv[1])
with place.with_suffix('.runs').open('a') as runs:
    runs.write('run\\n')
while not place.with_suffix('.go').exists():
    time.sleep(0.02)
print(f'run {len(place.with_suffix(".runs").read_text().splitlines())}')
"""
NEVER = '01JD0000000000000000000009'


class Place:
    """The files of one tool's runs."""

    def __init__(self, folder, name):
        self.path = folder / name

    @property
    def runs(self):
        file = self.path.with_suffix('.runs')
        return len(file.read_text().splitlines()) if file.exists() else 0

    def go(self):
        self.path.with_suffix('.go').touch()
        return self

    async def begun(self):
        async with asyncio.timeout(60):
            while not self.runs:
                await asyncio.sleep(0.02)


def tools_of(folder):
    return sections({'once': {'kind': 'command', 'program': script(folder, 'once', ONCE), 'arguments': ['{place}'], 'timeout': 120,
                              'parameters': {'place': {'type': 'string'}}}})


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('once')


@pytest.fixture(scope='module')
def service(make_service, folder):
    return make_service('simple', mcp__enabled=True, **{**tools_of(folder), 'security.api_key_scopes': GRANTS})


@pytest.fixture
def place(folder, request):
    return Place(folder, request.node.name.replace('[', '-').rstrip(']'))


def scopes():
    return GRANTS.split(',')


async def opened(service, **options):
    client = client_of(service, **options)
    await client.connect()
    return client


async def code_of(work):
    with pytest.raises(Refused) as refused:
        await work
    return refused.value.code, refused.value.message


def text(answer):
    assert not answer['is_error'], answer
    return answer['content'][0]['text'].strip()


async def state_of(client, request):
    return (await client.outcome_of(request))['state']


@pytest.mark.parametrize('kind', [Client, TypescriptClient])
def test_a_call_with_a_key_is_found_again_after_a_lost_connection(service, place, kind):
    async def work():
        async with CutProxy(service.port) as proxy:
            client = proxy.client(service, kind)
            await client.connect()
            call = asyncio.create_task(client.invoke_tool('tools.once', place=str(place.path), deadline_ms=60_000, idempotency_key=place.path.name))
            await place.begun()
            proxy.cut()
            await proxy.reopened()
            place.go()
            answer = await call
            assert text(answer) == 'run 1' and len(answer['repeats']) == 26
            again = await client.invoke_tool('tools.once', place=str(place.path), idempotency_key=place.path.name)
            assert again == answer
            await client.disconnect()

    run(work())
    assert place.runs == 1


@pytest.mark.parametrize('kind', [Client, TypescriptClient])
def test_a_call_without_a_key_is_never_sent_again(service, place, kind):
    async def work():
        async with CutProxy(service.port) as proxy:
            client = proxy.client(service, kind)
            await client.connect()
            call = asyncio.create_task(client.invoke_tool('tools.once', place=str(place.path), deadline_ms=60_000))
            await place.begun()
            proxy.cut()
            with pytest.raises((Closed, websockets.ConnectionClosed, Lost)):
                await call
            assert proxy.connections == 1
            await (client._end() if kind is TypescriptClient else client._stop_refreshing())

    run(work())
    assert place.runs == 1


def test_the_command_line_finds_its_call_again(service, place, tmp_path):
    async def work():
        async with CutProxy(service.port) as proxy:
            config = tmp_path / 'client.toml'
            config.touch(mode=0o600)
            config.write_text(to_toml({**service.settings, 'server_url': f'ws://127.0.0.1:{proxy.port}/scp/v3'}))
            process = await asyncio.create_subprocess_exec(
                BINARY, 'call', 'tools.once', f'place={place.path}', '--idempotency-key', 'line-1', '--deadline-ms', '60000', '--config', config,
                cwd=service.folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            await place.begun()
            proxy.cut()
            await proxy.reopened()
            place.go()
            out, err = await process.communicate()
            assert process.returncode == 0, err
            assert out.decode().strip() == 'run 1'

    run(work())
    assert place.runs == 1


def test_whether_a_call_ran_is_told_to_its_own_caller(service, place):
    async def work():
        client, bob = await opened(service), await opened(service, token=service.mint('bob', scopes()))
        call = asyncio.create_task(client.invoke_tool('tools.once', place=str(place.path), idempotency_key='told'))
        await place.begun()
        request = next(iter(client.waiting))
        running = await client.outcome_of(request)
        assert (running['state'], running['tool']) == ('running', 'tools.once') and 'status' not in running
        assert await code_of(client.invoke_tool('tools.once', place=str(place.path), idempotency_key='told')) == (
            'E_BUSY', 'p.idem: the call with this key still runs')
        assert await code_of(client.invoke_tool('tools.once', place='/elsewhere', idempotency_key='told')) == (
            'E_SHAPE', 'p.idem: was used for a call with other arguments')
        place.go()
        answer = await call
        finished = await client.outcome_of(request)
        assert (finished['state'], finished['status'], finished['answer']) == ('finished', 'ok', answer)
        assert finished['audit'] == {name: answer['audit'][name] for name in ('seq', 'hash')}
        assert [await state_of(client, NEVER), await state_of(bob, request)] == ['never', 'never']
        # The key is bob's own, too.
        assert text(await bob.invoke_tool('tools.once', place=str(place.path), idempotency_key='told')) == 'run 2'
        # Who may not call the tool any more is told that it ran, and not what it said.
        less = await opened(service, token=service.mint('bob', ['cap:list']))
        call = asyncio.create_task(bob.invoke_tool('tools.once', place=str(place.path)))
        while not bob.waiting:
            await asyncio.sleep(0)
        request = next(iter(bob.waiting))
        await call
        without_key = await less.outcome_of(request)
        assert without_key['state'] == 'finished' and 'answer' not in without_key
        for wrong in ('x', 7, None):
            assert (await code_of(client.call('tool.outcome', {'id': wrong})))[0] == 'E_SHAPE'
        for one in (client, bob, less):
            await one.disconnect()

    run(work())
    assert place.runs == 3


@pytest.mark.parametrize('wrong', ['', 'k' * 129, 'two words', 'é', 7, None])
def test_a_key_has_a_form(service, wrong):
    async def work():
        client = await opened(service)
        code, message = await code_of(client.call('tool.invoke', {'tool': 'files.stat', 'args': {'path': 'notes'}, 'idem': wrong}))
        assert (code, message) == ('E_SHAPE', 'p.idem: must be 1 to 128 characters from ! to ~')
        await client.call('tool.invoke', {'tool': 'files.stat', 'args': {'path': 'notes'}, 'idem': 'k' * 128})
        dry = {'tool': 'files.stat', 'args': {'path': 'notes'}, 'idem': 'dry', 'dry_run': True}
        assert (await code_of(client.call('tool.invoke', dry)))[0] == 'E_SHAPE'
        await client.disconnect()

    run(work())


def test_a_cancelled_call_stays_cancelled(service, place):
    async def work():
        client = await opened(service)
        call = asyncio.create_task(client.invoke_tool('tools.once', place=str(place.path), idempotency_key='cancelled'))
        await place.begun()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(60):
            while (again := await code_of(client.invoke_tool('tools.once', place=str(place.path), idempotency_key='cancelled')))[0] == 'E_BUSY':
                await asyncio.sleep(0.1)
        assert again[0] == 'E_CANCELLED'
        await client.disconnect()

    run(work())
    assert place.runs == 1


async def left(service, place, **options):
    """A client that lost its connection with a call under way, and does not come back by itself."""
    client = await opened(service, **options)
    call = asyncio.create_task(client.invoke_tool('tools.once', place=str(place.path), deadline_ms=120_000, idempotency_key='left'))
    await place.begun()
    client.leaving = True
    client.socket.transport.abort()
    with pytest.raises((Closed, websockets.ConnectionClosed)):
        await call
    await client._stop_refreshing()
    return client


async def outcome_of_key(client, place):
    async with asyncio.timeout(60):
        while (told := await code_of(client.invoke_tool('tools.once', place=str(place.path), idempotency_key='left')))[0] == 'E_BUSY':
            await asyncio.sleep(0.1)
    return told[0]


def test_a_call_that_was_left_ends_with_its_session(service, place):
    async def work():
        token = service.mint('carol', scopes())
        gone, other, admin = await left(service, place, token=token), await opened(service, token=token), await opened(
            service, token=service.mint('root', ['admin:session']))
        assert (await code_of(other.invoke_tool('tools.once', place=str(place.path), idempotency_key='left')))[0] == 'E_BUSY'
        assert await admin.call('admin.session.close', {'session_id': gone.session['session_id']}) == {'closed': 1}
        assert await outcome_of_key(other, place) == 'E_CANCELLED'
        for one in (other, admin):
            await one.disconnect()

    run(work())
    assert place.runs == 1


def test_a_call_that_was_left_does_not_hold_up_the_end_of_the_service(make_service, tmp_path):
    service, place = make_service('simple', **tools_of(tmp_path)), Place(tmp_path, 'left')
    run(left(service, place))
    service.stop()
    service.start()

    async def work():
        client = await opened(service)
        assert await outcome_of_key(client, place) == 'E_CANCELLED'
        await client.disconnect()

    run(work())
    assert place.runs == 1


def test_keys_and_ids_hold_over_a_restart(make_service, tmp_path):
    service = make_service('simple', **tools_of(tmp_path))
    done, cut, bare = (Place(tmp_path, name) for name in ('done', 'cut', 'bare'))
    done.go()

    async def before():
        client = await opened(service)
        answer = await client.invoke_tool('tools.once', place=str(done.path), idempotency_key='done')
        for place, key in ((cut, 'cut'), (bare, None)):
            asyncio.create_task(client.invoke_tool('tools.once', place=str(place.path), idempotency_key=key))
            await place.begun()
        ids = list(client.waiting)
        client.leaving = True  # The test is who looks for its calls again.
        os.kill(service.process.pid, signal.SIGKILL)
        await client.reader
        await client._stop_refreshing()
        return answer, ids

    answer, ids = run(before())
    service.process.stop()
    service.start()

    async def after():
        client, bob = await opened(service), await opened(service, token=service.mint('bob', scopes()))
        again = await client.invoke_tool('tools.once', place=str(done.path), idempotency_key='done')
        assert {name: again[name] for name in answer} == answer and len(again['repeats']) == 26
        assert (await client.outcome_of(again['repeats']))['answer'] == answer
        assert [await state_of(client, one) for one in ids] == ['unknown', 'unknown']
        assert [await state_of(bob, one) for one in (*ids, again['repeats'])] == ['never', 'never', 'never']
        code, message = await code_of(client.invoke_tool('tools.once', place=str(cut.path), idempotency_key='cut'))
        assert code == 'E_INTERNAL' and 'not known' in message
        for one in (client, bob):
            await one.disconnect()

    run(after())
    assert (done.runs, cut.runs, bare.runs) == (1, 1, 1)
    for place in (cut, bare):
        place.go()


def test_nothing_of_an_answer_is_left_when_its_time_is_over(make_service, tmp_path):
    service = make_service('simple', outcomes__retention=60, **tools_of(tmp_path))
    place = Place(tmp_path, 'secret').go()
    kept = service.audit / 'outcomes'

    async def work():
        client = await opened(service)
        await client.invoke_tool('tools.once', place=str(place.path), idempotency_key='no-trace-7')
        await client.disconnect()

    run(work())
    files = list(kept.glob('*.json'))
    assert len(files) == 1 and files[0].stat().st_mode & 0o777 == 0o600 and kept.stat().st_mode & 0o777 == 0o700
    assert b'no-trace-7' not in files[0].read_bytes()
    # A day ago: the times stand in the file itself.
    service.stop()
    before = files[0].read_text()
    stamp = str(int(time.time()) - 86_400) + '000000'
    files[0].write_text(re.sub(r'"(began|ended)_us":\d+', lambda found: f'"{found[1]}_us":{stamp}', before))
    service.start()
    assert not list(kept.glob('*.json'))


def test_mcp_clients_name_a_key_in_meta(service, place):
    caller = McpCaller(service, service.secret('api_key'))
    place.go()

    def call(key, where=place.path):
        return caller.call('tools.once', {'place': str(where)}, meta={'securetool/idempotencyKey': key})

    first, second = call('mcp-1').result, call('mcp-1').result
    assert first['content'] == second['content'] and first['content'][0]['text'].strip() == 'run 1'
    other = call('mcp-1', '/elsewhere').result
    assert other['isError'] and 'other arguments' in other['content'][0]['text']
    assert call('mcp-2').result['content'][0]['text'].strip() == 'run 2'
    assert call('').error['code'] == call(7).error['code'] == -32602
    assert call('two words').result['isError']
    assert place.runs == 2
