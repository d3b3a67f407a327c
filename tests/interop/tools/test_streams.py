"""Large answers in pieces, progress, and a thousand calls side by side. docs/wire-3.0.md, section 9."""
import asyncio
import os

import pytest
from raw import raw_of, run
from scp import Refused
from scp.keys import unb64


@pytest.fixture(scope='module')
def large(services):
    """Bytes of a file of every service."""
    data = os.urandom(700_001)
    for service in services.values():
        (service.folder / 'files/notes/large.csv').write_bytes(data)
    return data


async def connected(service):
    client = raw_of(service)
    await client.connect()
    return client


def test_a_large_answer_comes_in_chunks(service, large):
    async def work():
        client = await connected(service)
        try:
            return await client.invoke_streamed('files.read', path='notes/large.csv', encoding='base64')
        finally:
            await client.close()

    answer, parts = run(work())
    assert parts == {0: large}
    part = answer['content'][0]
    assert part['streamed'] is True and part['bytes'] == len(large) and 'data' not in part and 'text' not in part


def test_chunks_are_small_and_in_order(services, large):
    async def work():
        client = await raw_of(services['simple']).to('READY')
        try:
            await client.send(client.request('tool.invoke', {'tool': 'files.read', 'stream': True, 'args': {
                'path': 'notes/large.csv', 'encoding': 'base64'}}))
            chunks = []
            while True:
                message = await client.receive()
                if message['t'] != 'evt':
                    return chunks, message['t']
                chunks.append(message)
        finally:
            await client.close()

    chunks, last = run(work())
    chunks = [one for one in chunks if one['op'] == 'tool.chunk']
    assert last == 'res' and len(chunks) == -(-len(large) // (48 << 10))
    assert all(len(unb64(one['p']['data'])) <= 48 << 10 and one['p']['index'] == 0 for one in chunks)
    assert [one['seq'] for one in chunks] == list(range(chunks[0]['seq'], chunks[0]['seq'] + len(chunks)))


def test_a_small_answer_is_not_streamed(service):
    async def work():
        client = await connected(service)
        try:
            return await client.invoke_streamed('files.read', path='notes/welcome.txt')
        finally:
            await client.close()

    answer, parts = run(work())
    assert parts == {} and answer['content'][0]['text'] == 'Hello from the file tool.\n'


def test_without_stream_it_comes_whole(service, large):
    async def work():
        client = await connected(service)
        try:
            return await client.invoke_tool('files.read', path='notes/large.csv', encoding='base64')
        finally:
            await client.close()

    assert unb64(run(work())['content'][0]['data']) == large


def test_progress_of_a_long_call(service):
    folder = service.folder / 'files/many'
    folder.mkdir(exist_ok=True)
    for number in range(3000):
        (folder / f'{number}.txt').touch()
    steps = []

    async def work():
        client = await connected(service)
        try:
            return await client.invoke_tool('files.list', progress=steps.append, path='many')
        finally:
            await client.close()

    assert len(run(work())['structured']['entries']) == 3000
    assert steps and all(step['done'] > 0 for step in steps)
    assert [step['done'] for step in steps] == sorted(step['done'] for step in steps)


def test_structured_answers_agree_with_their_schema(service):
    async def work():
        client = await connected(service)
        try:
            record = (await client.call('cap.get', {'tool': 'files.stat'}))['capability']
            return record, (await client.invoke_tool('files.stat', path='notes/welcome.txt'))['structured']
        finally:
            await client.close()

    record, structured = run(work())
    assert set(record['outputSchema']['required']) <= set(structured)
    assert structured['size'] == 26


def test_a_cancelled_call_answers_once_with_its_code(service):
    async def work():
        client = await raw_of(service).to('READY')
        try:
            message = client.request('tool.invoke', {'tool': 'sql.query', 'args': {'sql': 'SELECT count(*) FROM range(300000) a, range(300000) b'}})
            await client.send(message)
            await asyncio.sleep(0.2)
            for _ in range(3):
                await client.send(client.request('tool.cancel', kind='cancel', id=message['id']))
            answers = [await client.receive()]
            await client.send(client.request('session.ping'))
            answers.append(await client.receive())
            return [(one['t'], one['op'], one['p'].get('code')) for one in answers if one['t'] != 'evt']
        finally:
            await client.close()

    assert run(work()) == [('err', 'tool.invoke', 'E_CANCELLED'), ('res', 'session.ping', None)]


def test_an_id_in_use_is_refused(service):
    async def work():
        client = await raw_of(service).to('READY')
        try:
            message = client.request('tool.invoke', {'tool': 'sql.query', 'args': {'sql': 'SELECT count(*) FROM range(300000) a, range(300000) b'}})
            await client.send(message)
            await client.send(client.request('tool.invoke', {'tool': 'files.stat', 'args': {'path': 'notes/welcome.txt'}}, id=message['id']))
            answer = await client.receive()
            while answer['t'] == 'evt':
                answer = await client.receive()
            return answer['p']['code']
        finally:
            await client.close()

    assert run(work()) == 'E_SHAPE'


def test_a_dry_run_does_nothing(service):
    async def work():
        client = await connected(service)
        try:
            return await client.call('tool.invoke', {'tool': 'files.write', 'dry_run': True, 'args': {
                'path': 'notes/dry.txt', 'content': 'x', 'mode': 'create'}})
        finally:
            await client.close()

    answer = run(work())
    assert answer['content'] == [] and not (service.folder / 'files/notes/dry.txt').exists()


@pytest.mark.parametrize('mode', ['simple', 'basic', 'encrypted', 'enterprise'])
def test_a_thousand_calls_sixteen_at_once(make_service, mode):
    service = make_service(mode, connectors__echo__enabled=True, limits__calls_per_second=100_000, limits__burst=100_000,
                           **({'security__api_key_scopes': 'tool:invoke:echo.*,tool:invoke:files.*'} if mode in ('simple', 'encrypted') else {}))
    tool = 'files.stat' if mode == 'enterprise' else 'echo.say'  # the provider's scopes are fixed

    async def work():
        token = {'token': service.mint('soak', ['tool:invoke:echo.*'])} if mode == 'basic' else {}
        client = raw_of(service, **token)
        await client.connect()
        room, failures = asyncio.Semaphore(16), []

        async def one(number):
            async with room:
                try:
                    if tool == 'echo.say':
                        answer = await client.invoke_tool(tool, text=f'number {number}')
                        assert answer['content'] == [{'type': 'text', 'media_type': 'text/plain', 'text': f'number {number}'}]
                    else:
                        assert (await client.invoke_tool(tool, path='notes/welcome.txt'))['structured']['size'] == 26
                except (Refused, AssertionError) as error:
                    failures.append((number, error))

        try:
            await asyncio.gather(*(one(number) for number in range(1000)))
        finally:
            await client.close()
        return failures

    assert run(work()) == []
