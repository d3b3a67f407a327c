"""Sessions that follow one whose connection was lost: by its last token and the key of its client. docs/wire-3.0.md, section 6.8."""
import asyncio
import json
import time

import pytest
from cut_proxy import CutProxy
from raw import Raw, raw_of, run
from scp import Client, Refused, holder, keys
from test_lasting_sessions import PROGRAM, client_config
from test_lifecycle import reload
from tool_clients import MODES, client_of
from tool_stack.service import SCOPES, environment, strong
from typescript_client import TypescriptClient

READ = {'path': 'notes/welcome.txt'}


@pytest.fixture(scope='module')
def own(make_service):
    """Services that these tests may reload, with an administrator."""
    scopes = ','.join([*SCOPES, 'admin:session'])
    return {mode: make_service(mode, **({'security.api_key_scopes': scopes} if mode in ('simple', 'encrypted') else {})) for mode in MODES}


def lost(client):
    """The connection is gone without a word; the client's reader has seen it."""
    client.socket.transport.abort()
    return client.reader


class Watching(Client):
    """Keeps what it shows in auth."""

    def _make_auth(self):
        made = super()._make_auth()
        self.auths = [*getattr(self, 'auths', []), made['p']]
        return made


@pytest.mark.parametrize('mode', MODES)
def test_a_lost_session_goes_on_without_its_credential(own, mode):
    service = own[mode]
    asked = []

    async def work():
        client = client_of(service, Watching)
        if client.token:
            token = client.token
            client.fresh_token = lambda: asked.append(1) or token
        first = dict(await client.connect())
        await lost(client)
        second = dict(await client.reconnect())
        answer = await client.invoke_tool('files.read', **READ)
        await lost(client)
        third = dict(await client.reconnect())
        await client.disconnect()
        return first, second, third, answer, client.auths

    first, second, third, answer, auths = run(work())
    follows = [opened_as(service, one['session_id']).get('follows') for one in (first, second, third)]
    assert follows == [None, first['session_id'], second['session_id']]
    assert 'Hello from the file tool.' in str(answer)
    assert first['principal'] == second['principal'] == third['principal'] and first['scopes'] == second['scopes']
    assert len({one['session_id'] for one in (first, second, third)}) == 3
    assert [one['method'] == 'session' for one in auths] == [False, True, True]
    assert auths[1]['credential'] == first['session_token'] and auths[2]['credential'] == second['session_token']
    assert asked == ([] if mode in ('simple', 'encrypted') else [1]), 'no other token was fetched'


def opened_in(service):
    """What the trail says of sessions that were opened."""
    text = ''.join(file.read_text() for file in sorted(service.audit.glob('audit-*.jsonl')))
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith('\n')]
    return [line for line in lines if line.get('event') == 'session_opened']


def opened_as(service, session):
    """The same of one session. What the trail says is written behind the session's back."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for line in opened_in(service):
            if line['details']['sid'] == session:
                return line['details']
        time.sleep(0.02)
    raise AssertionError(f'no line about session {session}')


@pytest.mark.parametrize('kind', [Client, TypescriptClient])
def test_a_call_with_a_key_finds_its_answer_by_the_token(own, kind):
    service = own['encrypted']

    async def work():
        async with CutProxy(service.port) as proxy:
            url = service.url.replace(str(service.port), str(proxy.port))
            client = client_of(service, lambda _, mode, **options: kind(url, mode, **options))
            await client.connect()
            proxy.cut()
            answer = await client.invoke_tool('files.read', idempotency_key=f'again-{kind.__name__}', **READ)
            session = client.session.get('session_id') or client.session['sessionId']
            await client.disconnect()
            return answer, proxy.connections, session

    answer, connections, session = run(work())
    assert 'Hello from the file tool.' in str(answer) and connections == 2
    if kind is Client:
        assert opened_as(service, session)['follows']
    else:  # it tells of the session that it connected
        assert [line['details']['sid'] for line in opened_in(service) if line['details'].get('follows') == session]


# ---- What is refused, each beside the client whose session it is. ----

class Showing(Raw):
    """Shows what it was told in place of a credential."""

    payload = None

    def _former_session(self):
        return self.payload(self)


async def answer_to(service, payload, key=None):
    """Refusal and close of one who shows `payload(client)` at auth; (None, None) where he gets in."""
    client = client_of(service, Showing)
    client.payload, client.former = payload, 'x'
    if key:
        client.session_key = key
    try:
        await client.to('AUTHENTICATING')
        answer = await client.receive()
        return answer['p']['code'] if answer['t'] == 'err' else None
    finally:
        await client.close()


def by(token, key, of=None):
    """The proof of `key` for `token`, on this connection or with the transcript `of`."""
    return lambda client: {'method': 'session', 'credential': token, 'holder': holder.prove(key, of or client.th1, token)}


async def left(service, **options):
    """A client whose connection was lost, with its token."""
    client = client_of(service, **options)
    await client.connect()
    await lost(client)
    return client, client.session['session_token']


@pytest.fixture(params=['simple', 'encrypted'])
def service(request, own):
    return own[request.param]


@pytest.mark.parametrize('thief', ['without a proof', 'with a proof of another key', 'with a proof of another connection', 'with a proof for another token'])
def test_the_token_alone_is_worthless(service, thief):
    async def work():
        client, token = await left(service)
        payload = {'without a proof': lambda _: {'method': 'session', 'credential': token},
                   'with a proof of another key': by(token, holder.make_key()),
                   'with a proof of another connection': by(token, client.session_key, client.th1),
                   'with a proof for another token': lambda c: {**by(token, client.session_key)(c), 'holder': holder.prove(client.session_key, c.th1, token + 'x')}}
        refused = await answer_to(service, payload[thief])
        # The thief has not used it up.
        return refused, await answer_to(service, by(token, client.session_key))

    assert run(work()) == ('E_AUTH', None)


def test_it_is_taken_once(service):
    async def work():
        client, token = await left(service)
        answers = [await answer_to(service, by(token, client.session_key)) for _ in range(2)]
        return answers

    assert run(work()) == [None, 'E_AUTH']


def test_it_is_taken_from_a_connection_that_has_not_ended_yet(service):
    """The server has not seen the loss; the connection ends with it."""
    async def work():
        client = client_of(service)
        await client.connect()
        answer = await answer_to(service, by(client.session['session_token'], client.session_key))
        await asyncio.wait_for(client.reader, 10)
        return answer

    assert run(work()) is None


def test_a_refresh_puts_another_in_its_place(service):
    async def work():
        client = client_of(service)
        before = (await client.connect())['session_token']
        after = (await client.call('session.refresh', {}))['session_token']
        await lost(client)
        return [await answer_to(service, by(token, client.session_key)) for token in (before, after)]

    assert run(work()) == ['E_AUTH', None]


def test_it_ends_with_the_session(service):
    """Closed by the client; by an administrator, also while its connection is lost; and by its own fault."""
    async def work():
        answers = []
        client = client_of(service)
        token = (await client.connect())['session_token']
        await client.disconnect()
        answers.append(await answer_to(service, by(token, client.session_key)))
        client, token = await left(service, token=service.mint('leaver'))
        admin = client_of(service)
        await admin.connect()
        await admin.call('admin.session.close', {'sub': 'leaver'})
        await admin.disconnect()
        answers.append(await answer_to(service, by(token, client.session_key)))
        client = raw_of(service)
        await client.to('READY')
        await client.socket.send('{')  # neither a record nor JSON
        await client.refusal()
        answers.append(await answer_to(service, by(client.session['session_token'], client.session_key)))
        return answers

    assert run(work()) == ['E_AUTH'] * 3


def test_it_ends_with_the_credential(make_service, tmp_path):
    deny = tmp_path / 'deny'
    deny.touch()
    service = make_service('encrypted', security__deny_file=str(deny))

    async def work():
        by_key, key_token = await left(service)
        by_token, jwt_token = await left(service, token=service.mint('carol'))
        kept, kept_token = await left(service, token=service.mint('dave'))
        deny.write_text('sub carol\n')
        await asyncio.to_thread(reload, service, api_key=strong())
        return [await answer_to(service, by(token, client.session_key)) for client, token in
                ((by_key, key_token), (by_token, jwt_token), (kept, kept_token))]

    assert run(work()) == ['E_AUTH', 'E_AUTH', None]


def test_it_ends_with_its_time_and_with_the_server(make_service):
    service, lasting = make_service('simple', security__session_token_lifetime=1), make_service('simple')

    async def work():
        client, token = await left(service)
        await asyncio.sleep(max(0, client.session['expires_at'] / 1000 - time.time()) + 0.01)
        past = await answer_to(service, by(token, client.session_key))
        client, token = await left(lasting)
        await asyncio.to_thread(lasting.stop)
        await asyncio.to_thread(lasting.start)
        return past, await answer_to(lasting, by(token, client.session_key))

    assert run(work()) == ('E_EXPIRED', 'E_AUTH')


def test_who_can_sign_tokens_cannot_make_one(service):
    """With jwt_secret, and with a look at a real one: bound to his own key, or of a session that there is not."""
    async def work():
        client, token = await left(service)
        thief = holder.make_key()
        secret = keys.hkdf(service.secret('jwt_secret').encode(), service.secret('kdf_salt').encode(), b'scp3 session jwt', 32)
        claims = json.loads(keys.unb64(token.split('.')[1]))
        jkt = holder.thumbprint(holder.jwk_of(thief.public_key()))
        answers = []
        for changes in ({'cnf': {**claims['cnf'], 'jkt': jkt}}, {'sid': '01JD0000000000000000000009', 'cnf': {'jkt': jkt}}, {'cnf': {'scp_th': claims['cnf']['scp_th']}}):
            body = '.'.join(keys.b64(json.dumps(part).encode()) for part in ({'alg': 'HS256', 'typ': 'scp-session+jwt'}, {**claims, **changes}))
            forged = f'{body}.{keys.b64(keys.hmac(secret, body.encode()))}'
            answers.append(await answer_to(service, by(forged, thief)))
        return answers, await answer_to(service, by(token, client.session_key))

    assert run(work()) == (['E_AUTH'] * 3, None)


def test_it_is_no_credential_elsewhere(service, make_service):
    async def work():
        client, token = await left(service)
        other = make_service(service.mode, node_id='node-x', **{name: service.secret(name) for name in ('api_key', 'secret_key', 'jwt_secret', 'kdf_salt')})
        elsewhere = await answer_to(other, by(token, client.session_key))
        as_jwt = client_of(service, token=token)
        with pytest.raises(Refused) as refused:
            await as_jwt.connect()
        await client.reconnect()
        with pytest.raises(Refused) as refreshed:
            await client.call('session.refresh', by(client.session['session_token'], client.session_key)(client))
        await client.disconnect()
        return elsewhere, refused.value.code, refreshed.value.code

    assert run(work()) == ('E_AUTH', 'E_AUTH', 'E_AUTH')


def test_a_client_whose_token_is_not_taken_shows_its_credential(service):
    async def work():
        client = client_of(service, Watching)
        await client.connect()
        await client.call('session.refresh', {})  # behind the client's back: it still has the token before
        await lost(client)
        await client.reconnect()
        await client.disconnect()
        return [one['method'] for one in client.auths]

    assert run(work()) == ['api_key', 'session', 'api_key']


def test_the_library_follows_too(make_service):
    """In C++: the call that finds its connection gone makes another one, by the token of the last."""
    service = make_service('encrypted')  # of many sessions of one principal the trail has a summary

    async def work():
        async with CutProxy(service.port) as proxy:
            before = len(opened_in(service))
            config = client_config(service)
            config.write_text(config.read_text().replace(str(service.port), str(proxy.port)))
            program = await asyncio.create_subprocess_exec(PROGRAM, config, '5', env=environment(), stdout=asyncio.subprocess.PIPE)
            async with asyncio.timeout(60):
                while len(opened_in(service)) == before:
                    await asyncio.sleep(0.02)
                proxy.cut()
                said, _ = await program.communicate()
                while len(opened_in(service)) < before + 2:
                    await asyncio.sleep(0.02)
            return json.loads(said), opened_in(service)[before:]

    report, opened = run(work())
    assert report['last'] == 'ok' and len(opened) == 2, report
    assert opened[1]['details']['follows'] == opened[0]['details']['sid']
