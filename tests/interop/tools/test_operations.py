"""What docs/wire-3.0.md says of operations and of silence, asked of a real service."""
import asyncio
import base64

import pytest
from tool_clients import client_of
from scp import Refused
from test_modes import run, session


def test_the_missing_scope_is_named_to_who_may_describe_the_tool(services):
    service = services['basic']

    async def work(client):
        with pytest.raises(Refused) as refused:
            await client.invoke_tool('sql.query', sql='SELECT 1')
        assert (refused.value.code, refused.value.data) == ('E_SCOPE', {'scope': 'tool:invoke:sql.query'})
        with pytest.raises(Refused) as refused:
            await client.invoke_tool('files.read', path='notes/welcome.txt')
        assert (refused.value.code, refused.value.data) == ('E_TOOL', None)
        with pytest.raises(Refused) as refused:
            await client.call('cap.list', {})
        assert (refused.value.code, refused.value.data) == ('E_SCOPE', {'scope': 'cap:list'})

    run(session(client_of(service, token=service.mint('dora', ['tool:describe:sql.query'])), work))


def test_large_content_comes_before_the_answer(service):
    text = 'large ' * 40_000
    (service.folder / 'files/large.txt').write_text(text)

    async def work(client):
        events = []
        answer = await client.call('tool.invoke', {'tool': 'files.read', 'args': {'path': 'large.txt'}, 'stream': True}, events=events.append)
        index = next(at for at, part in enumerate(answer['content']) if part.get('streamed'))
        part = answer['content'][index]
        assert set(part) == {'type', 'media_type', 'bytes', 'streamed'} and part['bytes'] == len(text)
        chunks = [base64.urlsafe_b64decode(event['data'] + '=' * (-len(event['data']) % 4)) for event in events if event.get('index') == index]
        assert b''.join(chunks) == text.encode()
        assert max(map(len, chunks)) <= 48 * 1024 < len(text)
        whole = await client.call('tool.invoke', {'tool': 'files.read', 'args': {'path': 'large.txt'}})
        assert whole['content'][index]['text'] == text

    run(session(client_of(service), work))


def test_a_dry_run_changes_and_shows_nothing(service, consent):
    async def work(client):
        asked = len(consent.asked)
        for tool, arguments, fails in (('files.write', {'path': 'notes/dry.txt', 'content': 'x'}, False), ('sql.query', {'sql': 'SELECT 1'}, False),
                                       ('files.read', {'path': 'notes/welcome.txt'}, False), ('files.read', {'path': 'notes/none.txt'}, True)):
            answer = await client.call('tool.invoke', {'tool': tool, 'args': arguments, 'dry_run': True})
            assert answer['content'] == [] and 'structured' not in answer and answer['is_error'] is fails, tool
        with pytest.raises(Refused) as refused:
            await client.call('tool.invoke', {'tool': 'files.read', 'args': {'path': '../data/orders.csv'}, 'dry_run': True})
        assert refused.value.code == 'E_POLICY'
        assert len(consent.asked) == asked

    run(session(client_of(service), work))
    assert not (service.folder / 'files/notes/dry.txt').exists()


def test_each_caller_gets_the_list_of_its_own_scopes(services):
    """However they take turns, and in whatever pieces they ask."""
    service = services['basic']
    scopes = {'reader': ['tool:invoke:files.read'], 'analyst': ['tool:invoke:sql.query', 'tool:describe:sql.list_tables'],
              'both': ['tool:invoke:files.read', 'tool:invoke:sql.query'], 'nobody': []}

    def wanted(name):
        return sorted(scope.split(':')[2] for scope in scopes[name])

    async def of(name, pieces):
        async def work(client):
            for limit in pieces:
                listed = await client.call('cap.list', {'limit': limit})
                assert [one['id'] for one in listed['capabilities']] == wanted(name)[:limit], (name, limit)
                assert ('next' in listed) is (len(wanted(name)) > limit)
                one = await client.call('cap.list', {'filter': 'sql.query'})
                assert [found['id'] for found in one['capabilities']] == [tool for tool in wanted(name) if tool == 'sql.query'], name
            assert (await client.call('cap.list', {'etag': listed['etag']})) == {'etag': listed['etag'], 'unchanged': True}
            return listed['etag']

        return await session(client_of(service, token=service.mint(name, ['cap:list', *scopes[name]])), work)

    async def all_of_them():
        return await asyncio.gather(*(of(name, pieces) for name in scopes for pieces in ((1, 1000), (2, 1), (1000, 1000))))

    etags = run(all_of_them())
    assert len(set(etags)) == len(scopes)


def test_pages_of_capabilities(service):
    async def work(client):
        everything = await client.call('cap.list', {'limit': 1000})
        ids = [one['id'] for one in everything['capabilities']]
        assert ids == sorted(ids) and 'next' not in everything
        found, page = [], {'next': None}
        while 'next' in page:
            page = await client.call('cap.list', {'limit': 2, **({'cursor': page['next']} if page['next'] else {})})
            assert len(page['capabilities']) <= 2 and page['etag'] == everything['etag']
            found += [one['id'] for one in page['capabilities']]
        assert found == ids
        files = await client.call('cap.list', {'filter': 'files.'})
        assert [one['id'] for one in files['capabilities']] == [one for one in ids if one.startswith('files.')]
        for wrong in ({'limit': 0}, {'limit': 1001}, {'cursor': 'x'}, {'filter': 'f' * 130}):
            with pytest.raises(Refused) as refused:
                await client.call('cap.list', wrong)
            assert refused.value.code == 'E_SHAPE', wrong

    run(session(client_of(service), work))


def test_a_silent_client_is_closed_with_4408(make_service):
    service = make_service('simple', server__idle_timeout=1, server__ping_interval=0.5)

    async def work():
        client = client_of(service)
        await client.connect()
        client.socket.transport.pause_reading()  # no answer to a ping leaves
        await asyncio.sleep(2)
        client.socket.transport.resume_reading()
        await client.socket.wait_closed()
        return client.socket.close_code

    assert run(work()) == 4408


def test_a_client_that_answers_pings_stays(make_service):
    service = make_service('simple', server__idle_timeout=1, server__ping_interval=0.5)

    async def work(client):
        await asyncio.sleep(2.5)
        await client.call('session.ping', {})

    run(session(client_of(service), work))


def test_every_file_tool_keeps_to_the_endings_and_the_folder(make_service):
    """As they are set: read, stat, list, write and delete alike, by the name of a file, by a way out, and by a link."""
    service = make_service('simple', connectors__files__extensions='.txt', limits__calls_per_second=1000, limits__burst=1000)
    notes = service.folder / 'files/notes'
    for name in ('key.pem', 'table.csv', 'gone.txt'):
        (notes / name).write_text(name)
    (notes / 'out.txt').symlink_to(service.folder / 'data/orders.csv')
    before = {file.name: file.read_text() for file in (*notes.iterdir(), service.folder / 'data/orders.csv')}

    async def work(client):
        for path in ('notes/key.pem', 'notes/table.csv', 'notes/new.csv', 'notes/out.txt', '../data/orders.csv', '/etc/hosts.txt'):
            for tool, more in (('read', {}), ('stat', {}), ('delete', {}), ('write', {'content': 'x', 'mode': 'create'}), ('write', {'content': 'x', 'mode': 'replace'})):
                with pytest.raises(Refused, match='E_POLICY'):
                    await client.invoke_tool(f'files.{tool}', path=path, **more)
        for path in ('..', '../data', '/etc'):
            with pytest.raises(Refused, match='E_POLICY'):
                await client.invoke_tool('files.list', path=path)
        listed = await client.invoke_tool('files.list', path='notes')
        assert {entry['path'] for entry in listed['structured']['entries']} == {'notes/welcome.txt', 'notes/gone.txt'}
        assert {file.name: file.read_text() for file in (*notes.iterdir(), service.folder / 'data/orders.csv')} == before
        # And each does what it is for.
        assert (await client.invoke_tool('files.read', path='notes/gone.txt'))['structured']['content'] == 'gone.txt'
        assert not (await client.invoke_tool('files.write', path='notes/new.txt', content='x', mode='create'))['is_error']
        assert not (await client.invoke_tool('files.delete', path='notes/gone.txt'))['is_error']
        assert (notes / 'new.txt').exists() and not (notes / 'gone.txt').exists()

    run(session(client_of(service), work))
