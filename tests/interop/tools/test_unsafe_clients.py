"""What is refused before a byte is sent, by each client: secrets that are weak or known to everybody, and plaintext to another
machine. Specification, sections 1.5, 5.2.9 and 7."""
import re

import pytest
import websockets
from scp import Client, Refused
from scp.known_secrets import PLACEHOLDERS, PUBLISHED, TEMPLATES
from scp.strength import SHORTEST
from test_discovery import listener
from test_modes import run, session
from tool_clients import ROOT, client_of
from tool_stack.service import strong, to_toml
from typescript_client import TEXTS, Lost, TypescriptClient

STRENGTH = (ROOT / 'toolserver/settings/secret_strength.cc').read_text()
# Whatever they look like, they are not this machine, or not written as it is.
ELSEWHERE = ['tools.example', '10.0.0.1', '0.0.0.0', '127.0.0.1.evil.example', 'localhost.evil.example', '[::2]', '[::ffff:127.0.0.1]',
             '127.0.0.1@evil.example', 'localhost:80@evil.example', 'evil.example#@127.0.0.1', 'localhost.']
# A browser's rules make 127.0.0.1 of these; others look them up as names.
ODD = ['0x7f.1', '2130706433', '127.1', '127.000.0.1', '127.0.0.1.', '127.0.0.1\\.evil.example', '[::1%lo]', '127.0.0.1:x', '127.0.0.1\t.evil.example']
HERE = ['127.0.0.1:1', '127.9.9.9:1', 'localhost:1', 'LOCALHOST:1', '[::1]:1']


def table(name):
    """The texts of one of the service's own lists."""
    body = re.search(name + r' = std::to_array<std::string_view>\(\{(.*?)\}\);', STRENGTH, re.S)[1]
    return re.findall(r'"([^"]+)"', body)


def good():
    return {'secret_key': strong(), 'kdf_salt': strong(), 'api_key': strong()}


def weak_secrets():
    """(field, secret, word of the rule): all that is published and long enough, the words in the place of a secret, and lengths."""
    fields = {'secret_key': 32, 'kdf_salt': 16, 'api_key': 24}
    for field, least in fields.items():
        yield from ((field, secret, 'published') for secret in table('kPublished') if len(secret) >= least)
        yield from ((field, f'{strong()}-{word.upper()}-{strong()}', 'placeholder') for word in table('kPlaceholders'))
        yield from ((field, start + strong(), 'placeholder') for start in ('<', '${', '{{'))
        yield field, strong()[:least - 1], str(least)
        yield field, 'x', str(least)


def test_the_lists_of_the_libraries_are_those_of_the_service():
    assert list(PUBLISHED) == table('kPublished') and set(table('kPlaceholders')) <= set(PLACEHOLDERS) and TEMPLATES == ('<', '${', '{{')
    texts = re.findall(r"'([^']+)'", (ROOT / 'clients/typescript/src/known_secrets.ts').read_text())
    assert {*PUBLISHED, *PLACEHOLDERS} <= set(texts)


def test_weak_and_known_secrets_make_no_python_client():
    Client('ws://127.0.0.1:1', 'encrypted', **good())
    for field, secret, rule in weak_secrets():
        with pytest.raises(ValueError, match=f'^{field}: .*{rule}') as refused:
            Client('ws://127.0.0.1:1', 'encrypted', **{**good(), field: secret})
        assert len(secret) < 8 or secret not in str(refused.value)
    for field, least in SHORTEST.items():
        Client('ws://127.0.0.1:1', 'encrypted', **{**good(), field: strong()[:least]})


def test_weak_and_known_secrets_make_no_typescript_client():
    async def work():
        client = TypescriptClient('ws://127.0.0.1:1', 'encrypted')

        async def made(**secrets):
            await client._do('make', options={**client.options, **{TEXTS[name]: value for name, value in secrets.items()}})

        await client.start()
        await made(**good())
        for field, secret, rule in weak_secrets():
            with pytest.raises(Lost, match=f'TypeError: {TEXTS[field]}: .*{rule}') as refused:
                await made(**{**good(), field: secret})
            assert len(secret) < 8 or secret not in str(refused.value)
        await client._end()

    run(work())


@pytest.mark.parametrize('host', ELSEWHERE + ODD)
def test_plaintext_to_another_machine_makes_no_python_client(host):
    with pytest.raises(ValueError, match='^url: ') as refused:
        Client(f'ws://{host}/scp/v3', 'encrypted', **good())
    assert 'example' not in str(refused.value)


def test_plaintext_to_another_machine_makes_no_typescript_client():
    async def work():
        for host in ELSEWHERE:
            with pytest.raises(Lost, match='TypeError: url: '):
                await TypescriptClient(f'ws://{host}/scp/v3', 'encrypted', **good()).connect()

    run(work())


def test_what_is_safe_to_dial_is_taken():
    for url in [*(f'ws://{host}' for host in HERE), 'wss://tools.example:7443', 'WSS://tools.example/x', 'wss://10.0.0.1']:
        dialled = Client(url, 'basic', secret_key=strong(), token='a.b.c')
        assert bool(dialled.tls) == url.lower().startswith('wss:') and re.search(r'(/scp/v3|/x)$', dialled.url), url
    for url in ('', 'tools.example', 'http://127.0.0.1', 'https://tools.example', 'wss://', 'wss://u@tools.example', 'wss://tools.example?a=b',
                'wss://tools.example#a', 'wss://tools.example:70000'):
        with pytest.raises(ValueError, match='^url: '):
            Client(url, 'basic', secret_key=strong(), token='a.b.c')


def test_no_redirect_leads_a_client_elsewhere():
    """Whoever answers on this machine cannot send the client to an address that nobody has checked."""
    async def away(connection, request):
        response = connection.respond(307, '')
        response.headers['Location'] = f'ws://127.0.0.1:{heard.port}/scp/v3'
        return response

    async def work():
        async with websockets.serve(lambda _: None, '127.0.0.1', 0, process_request=away) as server:
            url = f'ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/scp/v3'
            for kind in (Client, TypescriptClient):
                with pytest.raises((Lost, websockets.InvalidStatus), match='307'):
                    await kind(url, 'encrypted', **good()).connect()

    with listener() as heard:
        run(work())
        assert heard.count == 0


@pytest.mark.parametrize('setting', [
    'SCP_SECRET_KEY=', 'SCP_SECRET_KEY=pX3v9Lq2RzT8mKc5WbN7yHd4JfG6sAe', 'SCP_SECRET_KEY=changeme-changeme-changeme-changeme',
    'SCP_SECRET_KEY=hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg', 'SCP_KDF_SALT=', 'SCP_KDF_SALT=Zq8W3xRv6TbN1mK', 'SCP_KDF_SALT=your-salt-goes-in-here',
    'SCP_KDF_SALT=GawgguFyGrWKav7AX4VKUg', 'SCP_API_KEY=', 'SCP_API_KEY=u4Kx9TzWq7Lm2PvRc8YbN5H', 'SCP_API_KEY=example-api-key-of-the-service',
    'SCP_API_KEY=5f4dcc3b5aa765d61d8327deb882cf99', 'SCP_SECURITY_ALLOW_INSECURE_TRANSIT=0', 'SCP_SECURITY_TLS_ENABLED=1'])
def test_the_command_line_connects_nowhere_with_what_is_not_safe(services, setting):
    service, name = services['encrypted'], setting.split('=')[0]
    with listener() as heard:
        here = f'SCP_SERVER_URL=ws://127.0.0.1:{heard.port}/scp/v3'
        done = service.run('list', '--set', here, '--set', setting, check=False)
        told = name.removeprefix('SCP_').lower() if '_SECURITY_' not in name else 'server_url'
        assert (done.returncode, done.stdout, heard.count) == (2, '', 0) and re.search(rf'(^|: ){told}: ', done.stderr, re.M), done
        # It would have connected: the same with nothing wrong.
        assert service.run('list', '--set', here, check=False).returncode == 1 and heard.count > 0


def test_the_environment_is_stronger_than_the_file_and_the_command_line_than_both(services, tmp_path):
    """By the names of the specification, as a process is given them; the file has other secrets and another mode."""
    service = services['encrypted']
    names = {'SCP_API_KEY': 'api_key', 'SCP_SECRET_KEY': 'secret_key', 'SCP_KDF_SALT': 'kdf_salt', 'SCP_MODE': 'mode'}
    words = 'list', '--config', write(tmp_path / 'client.toml', {**service.settings, **{field: strong() for field in names.values()}, 'mode': 'simple'})
    given = {name: service.settings[field] for name, field in names.items()}
    assert 'files.read' in service.run_bare(*words, env=given).stdout
    for name in given:
        left_out = {other: value for other, value in given.items() if other != name}
        assert service.run_bare(*words, env=left_out, check=False).returncode == 1, f'{name} of the file is another'
        wrong = {**given, name: 'simple' if name == 'SCP_MODE' else strong()}
        assert service.run_bare(*words, env=wrong, check=False).returncode == 1, name
        assert 'files.read' in service.run_bare(*words, '--set', f'{name}={given[name]}', env=wrong).stdout, name


def test_the_environments_jwt_secret_is_stronger_than_the_files(services, tmp_path):
    service = services['basic']
    words = ['mint-token', '--subject', 'alice', '--scope', 'cap:list', '--config',
             write(tmp_path / 'server.toml', {**service.settings, 'jwt_secret': strong()})]
    token = service.run_bare(*words, env={'SCP_JWT_SECRET': service.secret('jwt_secret')}).stdout.strip()
    assert run(session(client_of(service, token=token), Client.list_capabilities)) == []
    with pytest.raises(Refused, match='E_AUTH'):
        run(client_of(service, token=service.run_bare(*words).stdout.strip()).connect())


def write(file, settings):
    file.touch(mode=0o600)
    file.write_text(to_toml(settings))
    return file
