"""Sessions that go on for ten times as long as the tokens that opened them, with both clients."""
import asyncio
import collections
import json
import os
import signal
import time

import pytest
from raw import run
from scp import Refused
from tool_clients import AGENT_SECRET, BINARY, MODES, client_of
from tool_stack.identity import IdentityProvider
from tool_stack.service import SCOPES, environment, to_toml

LIFETIME = 2  # seconds, of session, client and access tokens
PROGRAM = BINARY.parent / 'lasting_client'


@pytest.fixture(scope='module')
def provider(tmp_path_factory, authority, identity):
    made = IdentityProvider(tmp_path_factory.mktemp('short-lived'), authority, identity.audience, identity.clients, LIFETIME)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope='module')
def short_lived(make_service, provider):
    """A service of each mode whose tokens end after two seconds, without mercy for clocks."""
    times = {'security__session_token_lifetime': LIFETIME, 'oauth2__leeway': 0}
    return {mode: make_service(mode, provider, **times) for mode in MODES}


def client_config(service):
    """What a client of the mode needs, and nothing of the server's."""
    names = ['mode', 'server_url', 'security.allow_insecure_transit', 'secret_key', 'kdf_salt', 'api_key']
    settings = {name: service.settings.get(name) for name in names}
    if service.tls:
        settings['security.ca_cert_path'] = str(service.authority.roots)
    if service.mode == 'enterprise':
        oauth2 = {'client_id': 'agent', 'client_secret': AGENT_SECRET, 'token_url': service.identity.token_url, 'scope': ' '.join(SCOPES),
                  'audience': service.identity.audience, 'issuer': service.identity.issuer, 'jwks_url': service.identity.jwks_url,
                  'ca_cert_path': str(service.authority.roots)}
        settings |= {f'oauth2.{name}': value for name, value in oauth2.items()}
    if service.mode == 'basic':
        settings['security.client_token'] = service.mint()
    file = service.folder / 'client.toml'
    file.touch(mode=0o600)
    file.write_text(to_toml(settings))
    return file


def write_token(service, file):
    """A new client token in `file`, in one step."""
    fresh = file.with_suffix('.new')
    fresh.write_text(service.mint(seconds=LIFETIME))
    fresh.rename(file)


async def start_cpp(service, seconds, *token_file):
    return await asyncio.create_subprocess_exec(PROGRAM, client_config(service), str(seconds), *token_file, cwd=service.folder,
                                                env=environment(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)


async def report_of(process):
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return json.loads(out)


def fresh_credentials(service):
    """The client options that give a new token each time."""
    if service.mode == 'basic':
        return {'token': lambda: asyncio.to_thread(service.mint, seconds=LIFETIME)}
    if service.mode == 'enterprise':
        return {'token': lambda: asyncio.to_thread(service.identity.token, 'agent')}
    return {}


async def calls_of(client, seconds):
    """What became of calls of a client that never stops: by code, and the sessions that it had."""
    seen, sessions, end = collections.Counter(), set(), time.monotonic() + seconds
    await client.connect()
    while time.monotonic() < end:
        try:
            await client.invoke_tool('files.stat', path='notes/welcome.txt')
            seen['ok'] += 1
        except Refused as refusal:
            seen[refusal.code] += 1
        sessions.add(client.session['session_id'])
        await asyncio.sleep(0.1)
    await client.disconnect()
    return {**seen, 'sessions': len(sessions)}


def test_a_session_lives_ten_times_its_token(short_lived, tmp_path):
    """All modes and both clients at once: no call is refused, and nobody has to connect again."""
    seconds, token = 10 * LIFETIME, tmp_path / 'token'

    async def keep_token(service):
        while True:
            await asyncio.to_thread(write_token, service, token)
            await asyncio.sleep(0.3)

    async def work():
        await asyncio.to_thread(write_token, short_lived['basic'], token)
        keeper = asyncio.create_task(keep_token(short_lived['basic']))
        python = [calls_of(client_of(service, **fresh_credentials(service)), seconds) for service in short_lived.values()]
        cpp = [report_of(await start_cpp(service, seconds, *([token] if service.mode == 'basic' else [])))
               for service in short_lived.values()]
        reports = await asyncio.gather(*python, *cpp)
        keeper.cancel()
        return reports

    for name, report in zip([f'{client} {mode}' for client in ('python', 'C++') for mode in MODES], run(work(), 90)):
        assert report['sessions'] == 1 and report['ok'] > 5 * seconds / 2 and set(report) <= {'ok', 'sessions', 'last'}, (name, report)
    log = short_lived['enterprise'].log.read_text()
    assert log.count('session ready') == 2, 'a refresh is no new session'
    assert 'credential refused' not in log


def test_an_expired_session_is_opened_again_once(short_lived):
    """A client that could not refresh in time connects anew with a fresh credential, and the call is answered."""
    async def work(service):
        client = client_of(service, **fresh_credentials(service))
        first = (await client.connect())['session_id']
        client.refresher.cancel()
        await asyncio.sleep(LIFETIME + 0.2)
        answers = await asyncio.gather(*(client.invoke_tool('files.stat', path='notes/welcome.txt') for _ in range(5)))
        assert not any(one['is_error'] for one in answers)
        second = client.session['session_id']
        await client.disconnect()
        return first != second

    async def all_modes():
        return await asyncio.gather(*(work(service) for service in short_lived.values()))

    assert run(all_modes()) == [True] * 4


def test_a_token_of_which_there_is_no_other_ends_with_E_EXPIRED(short_lived):
    async def work():
        client = client_of(short_lived['enterprise'], token=short_lived['enterprise'].identity.token('agent'))
        await client.connect()
        await asyncio.sleep(LIFETIME + 0.2)
        with pytest.raises(Refused) as refused:
            await client.list_capabilities()
        await client.disconnect()
        return refused.value.code

    assert run(work()) == 'E_EXPIRED'


def test_the_library_lives_through_a_provider_that_is_away(short_lived, provider):
    async def work():
        process = await start_cpp(short_lived['enterprise'], 11)
        await asyncio.sleep(2)
        await asyncio.to_thread(provider.stop)
        await asyncio.sleep(LIFETIME + 1)
        await asyncio.to_thread(provider.start)
        return await report_of(process)

    report = run(work())
    assert report['ok'] > 20 and report.get('E_UPSTREAM', 0) > 0 and report['last'] == 'ok', report
    assert set(report) <= {'ok', 'E_UPSTREAM', 'sessions', 'last'}, report


def test_the_library_opens_a_session_again_after_a_pause_longer_than_its_token(short_lived):
    """A machine that slept: calls and the refresh come together when it wakes."""
    async def work(service):
        process = await start_cpp(service, 6)
        await asyncio.sleep(1)
        os.kill(process.pid, signal.SIGSTOP)
        await asyncio.sleep(LIFETIME + 1)
        os.kill(process.pid, signal.SIGCONT)
        return await report_of(process)

    async def all_modes():
        return await asyncio.gather(*(work(service) for service in short_lived.values()))

    for report in run(all_modes()):
        assert report['ok'] > 10 and set(report) <= {'ok', 'sessions', 'last'}, report


def test_what_is_taken_within_the_leeway_may_also_call(make_service, provider):
    """The leeway of access tokens holds for connecting, for refreshing and for calling alike."""
    service = make_service('enterprise', provider, oauth2__leeway=4)

    async def work():
        token = provider.token('agent')
        client = client_of(service, token=token)
        await client.connect()
        await asyncio.sleep(LIFETIME + 0.5)
        assert await client.list_capabilities()
        late = client_of(service, token=token)
        await late.connect()
        assert await late.list_capabilities()
        await late.disconnect()
        await asyncio.sleep(4)
        with pytest.raises(Refused) as refused:
            await client.list_capabilities()
        await client.disconnect()
        return refused.value.code

    assert run(work()) == 'E_EXPIRED'
