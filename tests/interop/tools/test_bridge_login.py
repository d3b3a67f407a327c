"""Bridged servers that ask for a login. docs/tools/bridge.md, "Servers that ask you to sign in"."""
import asyncio
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse
import urllib.request

import pytest
from bridged import HttpServer, bridge, run, settings_of, text_of, until
from login_world import LoginWorld, browse, sign_in
from mcp_programs import NODE, PEERS
from scp import Refused
from test_modes import session
from tool_clients import BINARY, client_of
from tool_stack.service import ToolService


def with_login(name, url, **settings):
    return bridge(name, kind='http', url=url, first_seen='trust', **{'login__grant': 'authorization_code', **settings})


@pytest.fixture
def settings_only(tmp_path, authority):
    """A service that does not run: what the command line needs of it."""
    def make(*bridges):
        return ToolService(tmp_path / 'service', 'simple', authority, None, BINARY, settings_of(*bridges))

    return make


async def calls(client, tool, code=None):
    """A call that is made until the server is there; its text, or the code of its refusal where one is awaited."""
    for _ in range(1200):
        try:
            answer = await client.invoke_tool(tool)
            if code is None:
                return text_of(answer)
        except Refused as refused:
            if refused.code == code:
                return code
            if refused.code not in ('E_BUSY', 'E_UPSTREAM', 'E_TOOL', 'E_PIN'):
                raise
        await asyncio.sleep(0.1)
    raise AssertionError(f'{tool}: {code or "an answer"} does not come')


def everything_written(service):
    """All that the service left behind but the file of the login itself."""
    files = [file for file in service.folder.rglob('*') if file.is_file() and file.parent.name != 'logins']
    return '\n'.join(file.read_text(errors='replace') for file in files)


def test_a_person_signs_in_and_the_service_calls(make_service, tmp_path):
    with LoginWorld() as world:
        service = make_service('simple', **settings_of(with_login('notes', world.url)))
        until(lambda: 'securetool bridges login notes' in service.log.read_text(), 'the log says what to do')
        code, said, seen = sign_in(service, 'notes')
        assert code == 0 and 'it lists 1 tools' in said and seen[0][0] == 200, said
        asked = world.asked[0]
        assert asked['code_challenge_method'] == 'S256' and asked['resource'] == world.url and asked['scope'] == 'read'
        assert asked['redirect_uri'].startswith('http://127.0.0.1:') and world.scopes[0]['resource'] == world.url

        async def work(client):
            assert await calls(client, 'notes.read') == 'read'
            world.end_tokens()
            assert await calls(client, 'notes.read') == 'read'
            assert world.scopes[-1]['grant_type'] == 'refresh_token'
            world.end_logins()
            assert await calls(client, 'notes.read', 'E_BUSY') == 'E_BUSY'
            assert (await asyncio.to_thread(sign_in, service, 'notes'))[0] == 0
            assert await calls(client, 'notes.read') == 'read'

        run(session(client_of(service), work))
        file = service.folder / 'logins/notes.json'
        assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
        assert world.tokens[-1] in file.read_text()
        written = everything_written(service) + said
        assert not [secret for secret in world.secrets if secret != 'ended' and secret in written]
        assert 'forgotten' in service.run('bridges', 'logout', 'notes').stdout and not file.exists()
        assert service.run('bridges', 'logout', 'notes', check=False).returncode == 1


def test_a_token_is_for_one_server(make_service):
    with LoginWorld() as one, LoginWorld() as other:
        service = make_service('simple', **settings_of(with_login('one', one.url), with_login('other', other.url)))
        assert sign_in(service, 'one')[0] == 0
        # Also the file of another one's login is of no use.
        shutil.copy(service.folder / 'logins/one.json', service.folder / 'logins/other.json')

        async def work(client):
            assert await calls(client, 'one.read') == 'read'

        run(session(client_of(service), work))
        seen = len(other.presented)
        until(lambda: len(other.presented) > seen, 'the other server is asked again')
        assert set(other.presented) == {''} and set(one.presented) <= {'', *one.tokens}


def endless(request):
    """A document without an end, as fast as it is read."""
    request.send_response(200)
    request.send_header('Content-Type', 'application/json')
    request.send_header('Connection', 'close')
    request.end_headers()
    try:
        request.wfile.write(b'{"x":"')
        while True:
            request.wfile.write(b'x' * 65536)
    except OSError:
        return True


def leads_inside(request):
    request.send_response(302)
    request.send_header('Location', 'http://169.254.169.254/latest/meta-data/')
    request.send_header('Content-Length', '0')
    request.end_headers()
    return True


@pytest.mark.parametrize(('lies', 'reason'), [
    ({'server': {'issuer': 'https://honest.example'}}, 'issuer: is not the one'),
    ({'server': {'code_challenge_methods_supported': None}}, 'PKCE by S256'),
    ({'server': {'code_challenge_methods_supported': ['plain']}}, 'PKCE by S256'),
    ({'resource': {'resource': 'https://evil.example/mcp'}}, 'resource: is not the server'),
    ({'resource': {'authorization_servers': ['http://as.example']}}, 'plaintext to another machine'),
    ({'resource': {'authorization_servers': ['https://10.0.0.1']}}, 'https://10.0.0.1'),
    ({'resource': {'authorization_servers': ['https://[::ffff:169.254.169.254]']}}, '::ffff'),
    ({'server': {'authorization_endpoint': 'http://as.example/authorize'}}, 'plaintext to another machine'),
    ({'server': {'registration_endpoint': None}}, 'registers no clients'),
    ({'metadata': endless}, ''),
    ({'metadata': leads_inside}, 'no metadata'),
])
def test_what_cannot_be_trusted_ends_before_anybody_is_asked(settings_only, lies, reason):
    with LoginWorld(**lies) as world:
        code, said, seen = sign_in(settings_only(with_login('notes', world.url)), 'notes')
        assert code == 1 and reason in said and not seen, said
        assert not world.asked and not world.scopes


@pytest.mark.parametrize(('redirect', 'reason'), [
    ({'iss': 'https://evil.example'}, 'iss is not'), ({'iss': None}, 'iss is not'), ({'code': None}, 'there is no code'),
    ({'code': None, 'error': 'access_denied'}, 'refuses (access_denied)'),
    ({'error': 'mix_up', 'iss': 'https://evil.example'}, 'iss is not')])
def test_a_redirect_that_is_not_right_gets_no_token(settings_only, redirect, reason):
    with LoginWorld(redirect=redirect) as world:
        code, said, _ = sign_in(settings_only(with_login('notes', world.url)), 'notes')
        assert code == 1 and reason in said and not world.scopes, said


def test_a_redirect_without_the_state_changes_nothing(settings_only):
    with LoginWorld() as world:
        def browser(url):
            back = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))['redirect_uri']
            assert browse(f'{back}?code=stolen&state=guess')[0] == 400
            assert browse(back.replace('/callback', '/'))[0] == 404
            return browse(url)

        code, said, seen = sign_in(settings_only(with_login('notes', world.url)), 'notes', browser)
        assert code == 0 and seen[0][0] == 200, said


def test_a_scope_that_is_refused_still_is_asked_for_once(settings_only):
    with LoginWorld(refuses=lambda token, method: 'admin') as world:
        code, said, _ = sign_in(settings_only(with_login('notes', world.url)), 'notes')
        assert code == 1 and 'refuses a token that was asked for with the scope' in said, said
        assert len(world.asked) == 1 and world.asked[0]['scope'] == 'admin'


def test_a_scope_that_changes_each_time_ends_soon(settings_only):
    with LoginWorld(refuses=lambda token, method: f'more{len(world.asked)}') as world:
        code, said, _ = sign_in(settings_only(with_login('notes', world.url)), 'notes')
        assert code == 1 and 'refuses every token' in said, said
        assert len(world.asked) == 3


def test_a_login_that_needs_no_person(make_service, tmp_path):
    with LoginWorld(server={'token_endpoint_auth_methods_supported': ['client_secret_basic']}) as world:
        secret = tmp_path / 'secret'
        secret.touch(mode=0o600)
        secret.write_text('s3cret-of-the-service')
        service = make_service('simple', **settings_of(with_login(
            'notes', world.url, login__grant='client_credentials', login__client_id='service', login__client_secret_file=str(secret),
            login__issuer=world.origin)))

        async def work(client):
            assert await calls(client, 'notes.read') == 'read'

        run(session(client_of(service), work))
        assert world.scopes[0]['grant_type'] == 'client_credentials' and world.scopes[0]['resource'] == world.url and not world.asked
        assert 's3cret-of-the-service' not in everything_written(service)


def test_a_secret_goes_to_its_issuer_alone(make_service, tmp_path):
    secret = tmp_path / 'secret'
    secret.touch(mode=0o600)
    secret.write_text('s3cret-of-the-service')
    with LoginWorld() as world:
        service = make_service('simple', **settings_of(with_login(
            'notes', world.url, login__grant='client_credentials', login__client_id='service', login__client_secret_file=str(secret),
            login__issuer='https://as.example')))
        until(lambda: 'names other authorisation servers' in service.log.read_text(), 'the log says why')
        assert not world.scopes


@pytest.fixture
def notes_server(tmp_path):
    """oidc-provider and an MCP server that it issues tokens for."""
    with HttpServer(tmp_path, 'login', lambda port: [NODE, PEERS / 'login_server.mjs', port]) as server:
        yield server


def test_with_a_real_authorisation_server(make_service, notes_server):
    service = make_service('simple', **settings_of(with_login('notes', notes_server.url)))
    code, said, _ = sign_in(service, 'notes')
    assert code == 0 and 'it lists 2 tools' in said, said

    async def work(client):
        assert await calls(client, 'notes.read_note') == 'done: read_note'
        # More than the login has: the log names the scope, and the next sign-in asks for it as well.
        assert await calls(client, 'notes.write_note', 'E_POLICY') == 'E_POLICY'
        code, said, _ = await asyncio.to_thread(sign_in, service, 'notes')
        assert code == 0, said
        until(lambda: 'notes:write' in json.loads((service.folder / 'logins/notes.json').read_text())['requested'], 'the scope is asked for')
        urllib.request.urlopen(notes_server.url.replace('/mcp', '/revoke'), timeout=10).close()
        assert await calls(client, 'notes.write_note') == 'done: write_note'
        assert await calls(client, 'notes.read_note') == 'done: read_note'

    run(session(client_of(service), work))


def test_with_a_real_authorisation_server_and_no_person(make_service, notes_server, tmp_path):
    secret = pathlib.Path(tmp_path / 'secret')
    secret.touch(mode=0o600)
    secret.write_text('service-secret')
    service = make_service('simple', **settings_of(with_login(
        'notes', notes_server.url, login__grant='client_credentials', login__client_id='service', login__client_secret_file=str(secret),
        login__issuer=notes_server.url.removesuffix('/mcp'))))

    async def work(client):
        assert await calls(client, 'notes.read_note') == 'done: read_note'
        assert await calls(client, 'notes.write_note') == 'done: write_note'

    run(session(client_of(service), work))


KEYS = {'p256': ['EC', '-pkeyopt', 'ec_paramgen_curve:P-256'], 'ed25519': ['ED25519'], 'rsa': ['RSA', '-pkeyopt', 'rsa_keygen_bits:2048']}


def make_key(folder, name, algorithm):
    """NAME.key, closed to others, and NAME.pub, as docs/tools/bridge.md makes them."""
    key, public = folder / f'{name}.key', folder / f'{name}.pub'
    key.touch(mode=0o600)
    subprocess.run(['openssl', 'genpkey', '-quiet', '-algorithm', *algorithm, '-out', key], check=True, timeout=60)
    subprocess.run(['openssl', 'pkey', '-in', key, '-pubout', '-out', public], check=True, timeout=60)
    return key


def test_with_a_real_authorisation_server_and_a_private_key(make_service, tmp_path):
    """Each kind of key signs a client in, and one that the server does not know signs in nobody."""
    keys = {name: make_key(tmp_path, name, algorithm) for name, algorithm in KEYS.items()}
    (tmp_path / 'other').mkdir()
    unknown = make_key(tmp_path / 'other', 'p256', KEYS['p256'])
    command = [NODE, PEERS / 'login_server.mjs']
    with HttpServer(tmp_path, 'login', lambda port: [*command, port, *(key.with_suffix('.pub') for key in keys.values())]) as server:
        def login(bridge_name, client, key):
            return with_login(bridge_name, server.url, login__grant='client_credentials', login__client_id=client,
                              login__private_key_file=str(key), login__issuer=server.url.removesuffix('/mcp'))

        service = make_service('simple', **settings_of(*(login(name, name, key) for name, key in keys.items()), login('stranger', 'p256', unknown)))

        async def work(client):
            for name in keys:
                assert await calls(client, f'{name}.read_note') == 'done: read_note'

        run(session(client_of(service), work))
        until(lambda: re.search(r'stranger.*the authorisation server refuses \(invalid_client', service.log.read_text()), 'the log says why')
        written = everything_written(service)
        assert 'PRIVATE KEY' not in written and 'eyJ' not in written


def test_a_key_that_the_server_cannot_use_is_not_sent(make_service, tmp_path):
    with LoginWorld(server={'token_endpoint_auth_methods_supported': ['private_key_jwt'],
                            'token_endpoint_auth_signing_alg_values_supported': ['RS256']}) as world:
        service = make_service('simple', **settings_of(with_login(
            'notes', world.url, login__grant='client_credentials', login__client_id='service', login__issuer=world.origin,
            login__private_key_file=str(make_key(tmp_path, 'service', KEYS['p256'])))))
        until(lambda: 'does not take ES256' in service.log.read_text(), 'the log says why')
        assert not world.scopes
