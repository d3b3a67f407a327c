"""Credentials that are changed, narrowed, listed as stolen or past their time, and what becomes of open sessions."""
import asyncio
import base64
import datetime
import json
import time

import pytest
import websockets
from raw import run
from scp import Refused
from test_modes import session as in_session
from test_lifecycle import log_lines, reload
from tool_clients import client_of
from tool_stack.service import SCOPES, strong

NARROW = ['cap:list', 'tool:invoke:files.stat']


async def closed_with(client, seconds=10):
    """Code and reason of the close that ends the session."""
    await asyncio.wait_for(client.socket.wait_closed(), seconds)
    return client.socket.close_code, client.socket.close_reason


async def alive(client):
    return not (await client.invoke_tool('files.stat', path='notes/welcome.txt'))['is_error']


async def code_of(awaitable):
    try:
        await awaitable
    except Refused as refused:
        return refused.code
    return None


async def opened(*clients):
    for client in clients:
        await client.connect()
    return clients


async def leave(*clients):
    for client in clients:
        await client.disconnect()


def jti_of(token):
    body = token.split('.')[1]
    return json.loads(base64.urlsafe_b64decode(body + '=' * (-len(body) % 4)))['jti']


def test_an_api_key_that_is_changed_ends_its_sessions(make_service):
    service = make_service('encrypted')

    async def work():
        old, by_token = await opened(client_of(service), client_of(service, token=service.mint()))
        await asyncio.to_thread(reload, service, limits__burst=200)
        assert await alive(old), 'a reload that changes no credential ends nothing'
        await asyncio.to_thread(reload, service, api_key=strong())
        ended = await closed_with(old)
        fresh, = await opened(client_of(service))
        assert await alive(by_token) and await alive(fresh)
        await leave(by_token, fresh)
        return ended

    assert run(work()) == (4401, 'E_AUTH')


def test_two_api_keys_hold_while_one_is_changed(make_service):
    service = make_service('encrypted')
    first, second = service.secret('api_key'), strong()

    async def work():
        old, = await opened(client_of(service))
        await asyncio.to_thread(reload, service, api_key=second, api_key_previous=first)
        assert await alive(old)
        before, after = await opened(client_of(service, api_key=first), client_of(service, api_key=second))
        await asyncio.to_thread(reload, service, api_key_previous=None)
        assert [await closed_with(old), await closed_with(before)] == [(4401, 'E_AUTH')] * 2
        assert await alive(after)
        await leave(after)
        return await code_of(client_of(service, api_key=first).connect())

    assert run(work()) == 'E_AUTH'


def test_two_jwt_secrets_hold_while_one_is_changed(make_service):
    service = make_service('basic')
    first, old_token = service.secret('jwt_secret'), service.mint('alice')

    async def work():
        old, = await opened(client_of(service, token=old_token))
        await asyncio.to_thread(reload, service, jwt_secret=strong(), jwt_secret_previous=first)
        new_token = await asyncio.to_thread(service.mint, 'bob')
        again, new = await opened(client_of(service, token=old_token), client_of(service, token=new_token))
        assert await alive(old) and await alive(again) and await alive(new)
        await asyncio.to_thread(reload, service, jwt_secret_previous=None)
        assert [await closed_with(old), await closed_with(again)] == [(4401, 'E_AUTH')] * 2
        assert await alive(new)
        await leave(new)
        return await code_of(client_of(service, token=old_token).connect())

    assert run(work()) == 'E_AUTH'


def test_a_client_with_two_secrets_takes_a_server_with_either(make_service):
    service = make_service('encrypted')
    first, second = service.secret('secret_key'), strong()
    config = service.write_config()

    def program(*sets):
        return service.run('list', *[word for one in sets for word in ('--set', one)], check=False)

    assert run(in_session(client_of(service, secret_key=second, secret_key_previous=first), alive))
    assert program(f'SCP_SECRET_KEY={second}', f'SCP_SECRET_KEY_PREVIOUS={first}').returncode == 0
    assert 'E_SIG' in program(f'SCP_SECRET_KEY={second}').stderr
    with pytest.raises(Refused) as refused:
        run(client_of(service, secret_key=second, secret_key_previous=strong()).connect())
    assert refused.value.code == 'E_SIG' and config.exists()


def test_scopes_that_are_taken_away_end_the_sessions_that_had_them(make_service):
    service = make_service('simple')

    async def work():
        wide, = await opened(client_of(service))
        await asyncio.to_thread(reload, service, security__api_key_scopes=','.join([*SCOPES, 'admin:session']))
        assert await alive(wide), 'more scopes end nothing'
        await asyncio.to_thread(reload, service, security__api_key_scopes=','.join(NARROW))
        ended = await closed_with(wide)
        narrow, = await opened(client_of(service))
        assert await alive(narrow) and await code_of(narrow.invoke_tool('files.read', path='notes/welcome.txt')) == 'E_TOOL'
        await leave(narrow)
        return ended

    assert run(work()) == (4401, 'E_AUTH')


@pytest.mark.parametrize('kind', ['jti', 'sub'])
def test_a_caller_on_the_deny_list_is_out(make_service, tmp_path, kind):
    denied = tmp_path / 'denied'
    denied.write_text('# nobody yet\n')
    service = make_service('basic', security__deny_file=str(denied))
    tokens = {name: service.mint(name) for name in ('alice', 'bob')}

    async def work():
        alice, bob = await opened(*(client_of(service, token=token) for token in tokens.values()))
        denied.write_text(f'# stolen\n\n{kind} {jti_of(tokens["alice"]) if kind == "jti" else "alice"}\n')
        assert await alive(alice), 'read at SIGHUP and not before'
        await asyncio.to_thread(reload, service)
        ended = await closed_with(alice)
        assert await alive(bob)
        await leave(bob)
        code = await code_of(client_of(service, token=tokens['alice']).connect())
        other = await asyncio.to_thread(service.mint, 'alice')
        return ended, code, await code_of(client_of(service, token=other).connect())

    assert run(work()) == ((4401, 'E_AUTH'), 'E_AUTH', None if kind == 'jti' else 'E_AUTH')
    assert any('deny list' in json.dumps(line) for line in log_lines(service)), 'the operator is told why'


def test_a_deny_list_holds_for_access_tokens_too(make_service, identity, tmp_path):
    denied = tmp_path / 'denied'
    denied.write_text('sub reader\n')
    service = make_service('enterprise', security__deny_file=str(denied))
    assert run(in_session(client_of(service), alive))
    with pytest.raises(Refused) as refused:
        run(client_of(service, token=identity.token('reader')).connect())
    assert refused.value.code == 'E_AUTH'


def test_a_deny_list_that_cannot_be_read_is_refused(make_service, tmp_path):
    denied = tmp_path / 'denied'
    denied.write_text('jti x\n')
    service = make_service('simple', security__deny_file=str(denied))
    denied.write_text('alice\n')
    said = reload(service)
    assert said['level'] == 'error' and 'denied:1' in said['error'] and 'jti ID' in said['error'], said
    denied.write_text('jti x\n')
    denied.chmod(0o666)
    assert 'deny_file' in reload(service)['error']


def certificate_service(make_service, authority, tmp_path, **changes):
    scopes = tmp_path / 'scopes'
    scopes.write_text('# robots\ntool:invoke:sql.query cap:list = CN=robot-9\n')
    return make_service('basic', server__client_ca=str(authority.roots), server__client_certificate='optional',
                        security__certificate_scopes=','.join(NARROW), security__certificate_scopes_file=str(scopes), **changes), scopes


def test_subjects_of_certificates_have_scopes_of_their_own(make_service, authority, tmp_path):
    service, scopes = certificate_service(make_service, authority, tmp_path)

    async def work():
        seven, nine = await opened(*(client_of(service, token='', certificate=authority.client(name)) for name in ('robot-7', 'robot-9')))
        assert [one['id'] for one in await seven.list_capabilities()] == ['files.stat']
        assert [one['id'] for one in await nine.list_capabilities()] == ['sql.query']
        scopes.write_text('cap:list = CN=robot-9\n')
        await asyncio.to_thread(reload, service)
        ended = await closed_with(nine)
        assert await alive(seven)
        await leave(seven)
        return ended

    assert run(work()) == (4401, 'E_AUTH')


def test_a_session_ends_with_the_certificate_that_opened_it(make_service, authority, tmp_path):
    service, _ = certificate_service(make_service, authority, tmp_path, server__auth_timeout=1)
    seconds = 4

    async def work():
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
        client, = await opened(client_of(service, token='', certificate=authority.client('robot-7', end=end)))
        assert client.session['expires_at'] <= end.timestamp() * 1000 and await alive(client)
        ended = await closed_with(client, seconds + 5)
        return ended, abs(time.time() - end.timestamp()) < 2

    assert run(work()) == ((4401, 'E_EXPIRED'), True)


def test_an_administrator_sees_and_ends_sessions(make_service):
    service = make_service('basic')
    admin_token = service.mint('admin', [*SCOPES, 'admin:session'])
    tokens = {name: service.mint(name) for name in ('alice', 'bob')}

    async def work():
        admin, alice, again, bob = await opened(*(client_of(service, token=token) for token in (
            admin_token, tokens['alice'], tokens['alice'], tokens['bob'])))
        listed = (await admin.call('admin.session.list', {}))['sessions']
        assert [one['principal']['sub'] for one in listed] == ['admin', 'alice', 'alice', 'bob']
        assert listed[1]['session_id'] == alice.session['session_id'] and listed[1]['jti'] == jti_of(tokens['alice'])
        assert listed[3]['method'] == 'jwt' and listed[3]['peer'] == '127.0.0.1' and abs(listed[3]['since'] / 1000 - time.time()) < 30
        for wrong in ({}, {'sub': ''}, {'sub': 5}, {'sub': 'alice', 'session_id': listed[1]['session_id']}):
            assert await code_of(admin.call('admin.session.close', wrong)) == 'E_SHAPE'
        assert await code_of(bob.call('admin.session.close', {'sub': 'alice'})) == 'E_SCOPE'
        assert await admin.call('admin.session.close', {'session_id': bob.session['session_id']}) == {'closed': 1}
        assert await admin.call('admin.session.close', {'sub': 'alice'}) == {'closed': 2}
        assert await admin.call('admin.session.close', {'sub': 'nobody'}) == {'closed': 0}
        ended = [await closed_with(one) for one in (alice, again, bob)]
        left = (await admin.call('admin.session.list', {}))['sessions']
        await leave(admin)
        return ended, [one['principal']['sub'] for one in left]

    assert run(work()) == ([(4403, 'E_POLICY')] * 3, ['admin'])
    trail = [json.loads(line) for file in sorted(service.audit.glob('*.jsonl')) for line in file.read_text().splitlines()]
    assert [line['details'] for line in trail if line.get('event') == 'session_close'][1] == {'by': 'admin', 'sub': 'alice'}


def test_sessions_are_listed_and_ended_by_the_program(make_service):
    service = make_service('simple', security__api_key_scopes=','.join([*SCOPES, 'admin:session']))

    async def work():
        client, = await opened(client_of(service))
        listed = await asyncio.to_thread(service.run, 'sessions', 'list')
        assert client.session['session_id'] in listed.stdout and 'api-key' in listed.stdout
        record = json.loads((await asyncio.to_thread(service.run, 'sessions', 'list', '--json')).stdout.splitlines()[0])
        assert record['session_id'] == client.session['session_id']
        done = await asyncio.to_thread(service.run, 'sessions', 'end', client.session['session_id'])
        assert done.stdout == '1 ended\n'
        none = await asyncio.to_thread(service.run, 'sessions', 'end', '--subject', 'nobody', check=False)
        assert none.returncode == 1 and none.stdout == '0 ended\n'
        return await closed_with(client)

    assert run(work()) == (4403, 'E_POLICY')
    assert service.run('sessions', 'end', check=False).returncode == 64


def test_a_call_under_way_ends_with_its_session(make_service):
    service = make_service('encrypted')

    async def work():
        client, = await opened(client_of(service))
        call = asyncio.ensure_future(client.invoke_tool('sql.query', deadline_ms=20_000, sql='SELECT count(*) FROM range(300000) a, range(300000) b'))
        await asyncio.sleep(0.3)
        begun = time.monotonic()
        await asyncio.to_thread(reload, service, api_key=strong())
        with pytest.raises((Refused, websockets.ConnectionClosed)):
            await call
        return time.monotonic() - begun

    assert run(work()) < 8
