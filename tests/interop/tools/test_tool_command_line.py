"""The program as a person meets it: help, faults in one line, exit codes; and its client before servers that lie."""
import asyncio
import contextlib
import json
import os
import pathlib
import pty
import re
import stat
import subprocess

import pytest
import websockets
from raw import raw_of, run
from scp import Refused, keys
from scp.canonical import canonical, parse
from test_handshake_attacks import HELLO, WELCOME, applies, editor
from tool_clients import AGENT_SECRET, ROOT
from tool_stack.authority import Authority
from tool_stack.meddler import Meddler
from tool_stack.service import SCOPES, environment


@pytest.fixture(scope='module')
def simple(services):
    return services['simple']


COMMANDS = [[], ['serve'], ['call'], ['list'], ['sessions'], ['sessions', 'list'], ['sessions', 'end'], ['keygen'], ['mint-token'], ['audit'], ['audit', 'verify'], ['config'], ['config', 'check'],
            ['config', 'show'], ['config', 'document']]


@pytest.mark.parametrize('command', COMMANDS, ids=' '.join)
def test_help(simple, command):
    done = simple.run_bare(*command, '--help')
    assert done.returncode == 0 and done.stderr == ''
    assert 'securetool' in done.stdout or 'Usage' in done.stdout or '--help' in done.stdout


def test_version(simple):
    assert re.fullmatch(r'securetool \d+\.\d+\.\d+\S*\n', simple.run_bare('--version').stdout)


@pytest.mark.parametrize('command', [[], ['unknown'], ['call'], ['keygen'], ['keygen', 'dsa'], ['mint-token'], ['audit'], ['config'], ['serve', '--nonsense'],
                                     ['list', 'extra']], ids=' '.join)
def test_misuse_is_told_and_nonzero(simple, command):
    done = simple.run_bare(*command, check=False)
    assert done.returncode not in (0, 1, 2) and done.stderr != '' and done.stdout == ''


def lines(text):
    return [line for line in text.split('\n') if line]


@pytest.mark.parametrize('setting, rule', [
    ('SCP_SECRET_KEY=password', 'secret_key'), ('SCP_SECRET_KEY=' + 'a' * 40, 'secret_key'), ('SCP_API_KEY=changeme-changeme-changeme', 'api_key'),
    ('SCP_SERVER_HOST=0.0.0.0', 'server.host'), ('SCP_SERVER_HOST=::', 'server.host'), ('SCP_SECURITY_ALLOW_INSECURE_TRANSIT=0', 'security.'),
    ('SCP_MODE=plain', 'mode'), ('SCP_SERVER_PORT=70000', 'server.port'), ('SCP_LIMITS_BURST=0', 'limits.burst'), ('SCP_NO_SUCH_SETTING=1', 'SCP_NO_SUCH'),
    ('SCP_SECURITY_API_KEY_SCOPES=tool:invoke', 'api_key_scopes'), ('SCP_SERVER_PATH=no-slash', 'server.path'),
    ('SCP_HOOKS_CONSENT_URL=http://evil.example/', 'consent_url'), ('SCP_AUDIT_CHECKPOINT_KEY_PATH=/nowhere/key.pem', 'checkpoint_key_path'),
    ('SCP_CONNECTORS_FILES_ROOT=/nowhere', 'files.root'), ('SCP_CONNECTORS_SQL_DATA_DIR=/nowhere', 'data_dir'),
    ('SCP_CONNECTORS_SQL_MEMORY=63MiB', 'sql.memory'), ('SCP_CONNECTORS_SQL_TIMEOUT=301', 'sql.timeout'),
    ('SCP_CONNECTORS_SQL_MAX_ROWS=1000001', 'sql.max_rows'), ('SCP_CONNECTORS_SQL_MAX_BYTES=257MiB', 'sql.max_bytes'),
    ('SCP_HOOKS_CA_CERT_PATH=/nowhere.pem', 'hooks.ca_cert_path'), ('SCP_HOOKS_SIGNING_SECRET=short', 'hooks.signing_secret'),
    ('SCP_SECURITY_JWT_ALGORITHM=none', 'jwt_algorithm'), ('SCP_SECURITY_JWT_ALGORITHM=rs256', 'jwt_private_key_path'),
], ids=lambda value: value.split('=')[0] + '-' + value.split('=')[-1][:10])
@pytest.mark.parametrize('command', [['config', 'check'], ['serve']], ids=' '.join)
def test_a_configuration_that_is_refused(simple, command, setting, rule):
    """Both before anything is opened, with a line for each fault, and without a value of it."""
    done = simple.run(*command, '--set', setting, check=False)
    assert done.returncode == 2 and done.stdout == ''
    said = lines(done.stderr)
    assert any(rule.lower() in line.lower() or setting.split('=')[0].lower() in line.lower() for line in said), said
    if 'KEY=' in setting and 'PATH' not in setting:
        assert setting.split('=')[1] not in done.stderr


def addresses():
    """The settings that lead this process somewhere, as the page has them: (name, variable, scheme of plaintext)."""
    rows = re.findall(r'^\| `([\w.]+)` \| `(\w+)` \|[^|]*\| ([^|]*URL [^|]*) \|', (ROOT / 'docs/tool-configuration.md').read_text(), re.M)
    return [(name, variable, 'ws' if 'ws ' in takes else 'http') for name, variable, takes in rows] + [('cluster.peers', 'SCP_CLUSTER_PEERS', 'ws')]


@pytest.mark.parametrize('name, variable, scheme', addresses(), ids=lambda value: value if '.' in value else '')
def test_no_setting_leads_to_another_machine_in_plaintext(simple, name, variable, scheme):
    """Whatever is permitted: the permission is set, and good for this machine alone, where the same address is taken."""
    assert simple.settings['security.allow_insecure_transit'] is True and len(addresses()) >= 11
    node = 'node-z ' if name == 'cluster.peers' else ''
    for host in ('192.0.2.1:9', 'tools.example:9', '127.0.0.1.example:9', '0.0.0.0:9'):
        done = simple.run('config', 'check', '--set', f'{variable}={node}{scheme}://{host}', check=False)
        assert done.returncode == 2 and re.search(rf'(^|[: ])({re.escape(name)}|{variable}): (must use TLS|must be an https)', done.stderr, re.M), done
    here = simple.run('config', 'check', '--set', f'{variable}={node}{scheme}://127.0.0.1:9', check=False)
    assert ('must be an https' in here.stderr) == name.startswith('oauth2.') and 'must use TLS' not in here.stderr, here


def test_each_fault_has_its_line(simple):
    done = simple.run('config', 'check', '--set', 'SCP_SERVER_PORT=70000', '--set', 'SCP_LIMITS_BURST=0', '--set', 'SCP_MODE=plain', check=False)
    assert len(lines(done.stderr)) == 3


@pytest.mark.parametrize('mode, setting', [('basic', 'SCP_SERVER_TLS_KEY=/nowhere.key'), ('basic', 'SCP_SERVER_TLS_CERT=/nowhere.pem'),
                                           ('enterprise', 'SCP_OAUTH2_JWKS_URL=http://127.0.0.1:1/jwks'), ('enterprise', 'SCP_OAUTH2_CA_CERT_PATH=/nowhere.pem')])
def test_files_and_addresses_are_looked_at_before_the_start(services, mode, setting):
    done = services[mode].run('serve', '--set', setting, check=False)
    assert done.returncode == 2 and lines(done.stderr)


def test_a_key_file_that_others_can_read_is_refused(services, tmp_path):
    service = services['basic']
    key = tmp_path / 'open.key'
    key.write_bytes(open(service.settings['server.tls_key'], 'rb').read())
    key.chmod(0o644)
    done = service.run('serve', '--set', f'SCP_SERVER_TLS_KEY={key}', check=False)
    assert done.returncode == 2 and 'server.tls_key' in done.stderr


def test_an_address_in_use(simple):
    done = simple.run('serve', '--set', f'SCP_AUDIT_PATH={simple.folder}/other-audit', check=False)
    assert done.returncode == 1 and len(lines(done.stderr)) == 1


def test_check_and_show(service):
    assert service.run('config', 'check').returncode == 0
    shown = service.run('config', 'show').stdout
    assert 'secret_key' in shown
    for name in ('secret_key', 'api_key', 'jwt_secret', 'kdf_salt'):
        if service.secret(name):
            assert service.secret(name) not in shown


def test_the_document_is_that_of_the_repository(simple):
    assert (ROOT / 'docs/tool-configuration.md').read_text() == simple.run_bare('config', 'document').stdout


def test_keygen_secrets_make_a_service(simple):
    made = dict(line.split('=', 1) for line in simple.run_bare('keygen', 'secrets').stdout.split())
    assert set(made) == {'SCP_API_KEY', 'SCP_SECRET_KEY', 'SCP_JWT_SECRET', 'SCP_KDF_SALT'}
    again = dict(line.split('=', 1) for line in simple.run_bare('keygen', 'secrets').stdout.split())
    assert all(made[name] != again[name] for name in made)
    assert simple.run('config', 'check', *[word for name, value in made.items() for word in ('--set', f'{name}={value}')]).returncode == 0


@pytest.mark.parametrize('kind', ['rsa', 'ed25519'])
def test_keygen_never_writes_over_a_key(simple, tmp_path, kind):
    out = tmp_path / 'pair'
    assert simple.run_bare('keygen', kind, '--out', out).returncode == 0
    assert stat.S_IMODE((tmp_path / 'pair.key').stat().st_mode) == 0o600
    first = (tmp_path / 'pair.key').read_bytes()
    assert b'PRIVATE KEY' in first and b'PUBLIC KEY' in (tmp_path / 'pair.pub').read_bytes()
    again = simple.run_bare('keygen', kind, '--out', out, check=False)
    assert again.returncode == 1 and len(lines(again.stderr)) == 1 and (tmp_path / 'pair.key').read_bytes() == first
    assert simple.run_bare('keygen', kind, check=False).returncode == 2
    assert simple.run_bare('keygen', kind, '--out', tmp_path / 'no/where', check=False).returncode == 1


@pytest.mark.parametrize('arguments', [['--scope', 'cap:list "x"'], ['--scope', 'a\\b'], ['--lifetime', '0'], ['--lifetime', '86401'], ['--lifetime', '-1'], ['--subject', '']],
                         ids=' '.join)
def test_tokens_that_are_not_minted(services, arguments):
    words = {'--subject': 'alice', '--scope': 'cap:list', '--lifetime': '60', arguments[0]: arguments[1]}
    done = services['basic'].run('mint-token', *[f'{name}={value}' for name, value in words.items()], check=False)
    assert done.returncode != 0 and done.stdout == '' and lines(done.stderr)


# ---- Its client ----


def flags(service):
    if service.mode == 'basic':
        return ['--set', 'SCP_SECURITY_CLIENT_TOKEN=' + service.mint()]
    if service.mode == 'enterprise':
        return ['--set', 'SCP_OAUTH2_CLIENT_ID=agent', '--set', 'SCP_OAUTH2_CLIENT_SECRET=' + AGENT_SECRET,
                '--set', 'SCP_OAUTH2_TOKEN_URL=' + service.identity.token_url, '--set', 'SCP_OAUTH2_SCOPE=' + ' '.join(SCOPES)]
    return []


@pytest.mark.parametrize('path', ['/scp/v3', ''])
def test_list_and_call(service, path):
    more = [*flags(service), '--set', 'SCP_SERVER_URL=' + service.url.removesuffix('/scp/v3') + path]
    listed = service.run('list', *more).stdout
    assert 'files.read' in listed and 'sql.query' in listed
    records = [json.loads(line) for line in lines(service.run('list', '--json', *more).stdout)]
    assert all('inputSchema' in record for record in records)
    done = service.run('call', 'files.read', 'path=notes/welcome.txt', *more)
    assert 'Hello from the file tool.' in done.stdout
    done = service.run('call', 'sql.query', '--json', '{"sql": "SELECT 41 + 1 AS answer"}', *more)
    assert '42' in done.stdout


@pytest.mark.parametrize('words, code, said', [
    (['files.read', 'path=../secret.txt'], 1, 'E_POLICY'), (['files.none', 'a=1'], 1, 'E_TOOL'), (['files.read'], 1, 'E_SHAPE'),
    (['files.read', 'nonsense'], 2, 'name=value'), (['files.read', '--json', '[1]'], 2, '--json'), (['files.read', '--json', '{'], 2, ''),
    (['sql.query', 'sql=SELECT count(*) FROM range(300000) a, range(300000) b', '--deadline-ms', '200'], 1, 'E_TIMEOUT'),
], ids=lambda value: ' '.join(value)[:40] if isinstance(value, list) else '')
def test_calls_that_fail(service, words, code, said):
    done = service.run('call', *words, *flags(service), check=False)
    assert done.returncode == code and said in done.stderr
    assert [line for line in lines(done.stderr) if not line.startswith('progress')] and done.stdout == ''


def test_dry_run(simple):
    assert simple.run('call', 'files.write', 'path=notes/cli.txt', 'content=x', 'mode=create', '--dry-run').returncode == 0
    assert not (simple.folder / 'files/notes/cli.txt').exists()


@pytest.mark.parametrize('setting, code', [
    ('SCP_SECRET_KEY=Vq8ZpR2mXw6TbY4kLc9NfJ3hGd7sA5uEoIxCvB1n', 1), ('SCP_API_KEY=Kq8ZpR2mXw6TbY4kLc9NfJ3hGd7sA5uE', 1), ('SCP_SERVER_URL=ws://127.0.0.1:1/scp/v3', 1),
    ('SCP_SERVER_URL=ws://tools.example/scp/v3', 2), ('SCP_SERVER_URL=http://127.0.0.1/', 2), ('SCP_SERVER_URL=', 2),
])
def test_clients_that_get_nowhere(simple, setting, code):
    done = simple.run('list', '--set', setting, check=False)
    assert done.returncode == code and lines(done.stderr) and done.stdout == ''
    assert setting.split('=')[1] not in done.stderr or setting.startswith('SCP_SERVER_URL')


def test_the_client_trusts_no_other_authority(services, tmp_path):
    other = Authority(tmp_path)
    done = services['basic'].run('list', *flags(services['basic']), '--set', f'SCP_SECURITY_CA_CERT_PATH={other.roots}', check=False)
    assert done.returncode == 1 and lines(done.stderr)


async def met_by_program(service, edit, tls=None, program=('list',)):
    """The program's client behind a meddler: its exit code, what it said, and what it sent."""
    async with Meddler(service, edit, tls) as meddler:
        done = await asyncio.to_thread(service.run, *program, *flags(service), '--set', 'SCP_SERVER_URL=' + meddler.url, check=False)
        return done, [data for side, data in meddler.seen if side == 'client']


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
@pytest.mark.parametrize('side, name, change', [('client', *one) for one in HELLO] + [('server', *one) for one in WELCOME],
                         ids=lambda value: value if isinstance(value, str) else '')
def test_the_client_refuses_and_shows_no_credential(services, mode, side, name, change):
    if not applies(name, mode):
        return
    done, sent = run(met_by_program(services[mode], editor(side, change)))
    assert done.returncode == 1 and done.stdout == '' and len(lines(done.stderr)) == 1
    assert re.match(r'E_(SIG|VERSION|SHAPE|STATE|AUTH|UPSTREAM): ', done.stderr), done.stderr
    assert len(sent) == 1, 'nothing after hello'


@pytest.mark.parametrize('mode', ['basic', 'enterprise'])
def test_the_client_sees_a_relay(services, authority, mode):
    done, sent = run(met_by_program(services[mode], lambda side, index, data: data, authority.server_tls(f'relay-program-{mode}')))
    assert done.returncode == 1 and len(sent) == 1 and done.stdout == ''


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
@pytest.mark.parametrize('name, index', [('ready', 1), ('the first answer', 2)])
def test_the_client_refuses_a_changed_message(services, mode, name, index):
    def edit(side, number, data):
        if (side, number) != ('server', index):
            return data
        return data[:-1] + bytes([data[-1] ^ 1]) if isinstance(data, bytes) else data.replace('"ts":1', '"ts":2')

    done, _ = run(met_by_program(services[mode], edit))
    assert done.returncode == 1 and done.stdout == '' and done.stderr.startswith('E_SIG')


def test_the_client_refuses_an_unsigned_answer(services):
    def edit(side, number, data):
        if (side, number) != ('server', 2):
            return data
        message = parse(data)
        del message['sig']
        return canonical(message).decode()

    done, _ = run(met_by_program(services['simple'], edit))
    assert done.returncode == 1 and done.stdout == '' and done.stderr.startswith('E_S')


@pytest.mark.parametrize('name, edit', [('repeated', lambda data: [data, data]), ('as another form', lambda data: data.encode())],
                         ids=lambda value: value if isinstance(value, str) else '')
def test_the_client_refuses_another_ready(services, name, edit):
    done, _ = run(met_by_program(services['simple'], lambda side, index, data: edit(data) if (side, index) == ('server', 1) else data))
    assert done.returncode == 1 and done.stdout == ''


async def with_liar(service, answer):
    """The program's client before a server that answers hello with `answer(hello)`."""
    got = []

    async def talk(socket):
        with contextlib.suppress(websockets.ConnectionClosed):
            async for data in socket:
                got.append(data)
                for one in answer(data):
                    await socket.send(one)

    async with websockets.serve(talk, '127.0.0.1', 0, subprotocols=['scp.v3.json'], compression=None) as server:
        url = f'ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/scp/v3'
        done = await asyncio.to_thread(service.run, 'list', '--set', 'SCP_SERVER_URL=' + url, check=False)
        return done, got


def liars_welcome(service, hello, **changes):
    """What one who does not know the secret can say."""
    asked = parse(hello)
    payload = {'version': '3.0', 'mode': service.mode, 'suite': 'NONE', 'nonce_s': keys.b64(bytes(32)), 'eph_s': keys.b64(keys.make_share('X25519')[1]), 'node_id': 'node-b', 'cluster': 'cluster-1',
               'auth': ['api_key'], 'limits': {'message_bytes': 1 << 20, 'in_flight': 64, 'deadline_ms': 30000, 'idle_ms': 300000}, 'channel': 'none',
               'proof': {'kind': 'hmac', 'v': keys.b64(bytes(32))}, **changes}
    return canonical({**asked, 't': 'res', 'aud': '', 'p': payload}).decode()


@pytest.mark.parametrize('changes', [{}, {'proof': {'kind': 'none'}}, {'mode': 'enterprise', 'proof': {'kind': 'none'}}, {'auth': ['jwt']},
                                     {'proof': {'kind': 'hmac', 'v': ''}}], ids=str)
def test_a_server_without_the_secret_gets_no_credential(simple, changes):
    done, got = run(with_liar(simple, lambda hello: [liars_welcome(simple, hello, **changes)]))
    assert done.returncode == 1 and done.stdout == '' and len(got) == 1


@pytest.mark.parametrize('answer', ['', '{', 'null', '{}', b'', b'S\x01' + bytes(60), 'x' * (70 << 10)], ids=lambda value: repr(value[:8]))
def test_a_server_that_speaks_nonsense(simple, answer):
    done, got = run(with_liar(simple, lambda hello: [answer]))
    assert done.returncode == 1 and done.stdout == '' and len(lines(done.stderr)) == 1 and len(got) == 1


def test_raw_and_program_agree(simple):
    """The two clients see the same tools."""
    async def work():
        client = raw_of(simple)
        await client.connect()
        found = [one['id'] for one in await client.list_capabilities()]
        await client.close()
        return found

    assert run(work()) == [line.split()[0] for line in lines(simple.run('list').stdout)]


# ---- What a person at a terminal sees ----


def on_terminal(service, *words):
    """What the program shows on a terminal, with its exit code."""
    near, far = pty.openpty()
    done = subprocess.Popen([service.binary, *words, '--config', service.write_config()], cwd=service.folder, env=environment(),
                            stdout=far, stderr=far, stdin=subprocess.DEVNULL)
    os.close(far)
    shown = b''
    with contextlib.suppress(OSError):  # the end of a terminal whose other side is closed
        while part := os.read(near, 65536):
            shown += part
    os.close(near)
    return done.wait(30), shown


def test_a_terminal_gets_no_escape_sequences(simple):
    hostile = '\x1b[2J\x1b]0;owned\x07\u202egpj.exe\r\x9b31m'
    (simple.folder / 'files/notes/hostile.txt').write_text(hostile)
    code, shown = on_terminal(simple, 'call', 'files.read', 'path=notes/hostile.txt')
    assert code == 0 and b'\x1b' not in shown and b'\\x1b[2J' in shown and b'\\u202e' in shown
    piped = simple.run('call', 'files.read', 'path=notes/hostile.txt').stdout
    assert '\x1b[2J' in piped, 'a program that reads it gets every byte'


def test_messages_of_a_server_are_no_escape_sequences(simple):
    def answer(data):
        asked = parse(data)
        yield canonical({**asked, 't': 'err', 'aud': '', 'p': {'code': 'E_AUTH', 'num': 4010, 'msg': 'no\x1b[31m\r'}}).decode()

    done, _ = run(with_liar(simple, answer))
    assert done.returncode == 1 and '\x1b' not in done.stderr and '\\x1b[31m' in done.stderr, done


def test_a_text_that_looks_like_a_number_is_a_text_where_the_tool_wants_one(simple):
    for index, value in enumerate(('123', 'true', 'null', '1e5', '"quoted"', '[1]')):
        done = simple.run('call', 'files.write', f'path=notes/text-{index}.txt', f'content={value}', 'mode=create')
        assert done.returncode == 0, done
        wanted = 'quoted' if value == '"quoted"' else value
        assert (simple.folder / f'files/notes/text-{index}.txt').read_text() == wanted
    done = simple.run('call', 'files.list', 'path=notes', 'limit=x', check=False)
    assert done.returncode == 1 and 'E_SHAPE' in done.stderr, 'what is no number stays wrong where one is wanted'


def test_a_url_without_a_path_is_that_of_the_service(simple):
    bare = simple.url.removesuffix('/scp/v3')
    assert 'files.read' in simple.run('list', '--set', f'SCP_SERVER_URL={bare}').stdout

    async def work():
        client = raw_of(simple)
        other = type(client)(bare, 'simple', secret_key=simple.secret('secret_key'), kdf_salt=simple.secret('kdf_salt'), api_key=simple.secret('api_key'))
        await other.connect()
        await other.disconnect()
        return other.url

    assert run(work()) == simple.url
    done = simple.run('list', '--set', f'SCP_SERVER_URL={bare}/other', check=False)
    assert done.returncode == 1, 'a path that is named is taken as it is'


def test_an_empty_list_says_so(make_service):
    service = make_service('simple', connectors__sql__enabled=False, connectors__files__enabled=False)
    done = service.run('list')
    assert done.returncode == 0 and done.stdout == '' and 'no tools' in done.stderr
    assert 'warning: no connector is on' in service.run('config', 'check').stdout


def test_a_tool_that_failed_is_told_from_its_answer(simple):
    done = simple.run('call', 'sql.describe', 'table=nope', check=False)
    assert done.returncode == 1 and 'nope' in done.stdout and 'sql.describe failed' in done.stderr


def test_an_unknown_authority_names_the_setting(services, tmp_path):
    other = Authority(tmp_path)
    done = services['basic'].run('list', *flags(services['basic']), '--set', f'SCP_SECURITY_CA_CERT_PATH={other.roots}', check=False)
    assert done.returncode == 1 and 'certificate is not trusted' in done.stderr and 'security.ca_cert_path' in done.stderr, done


def test_a_folder_without_a_configuration_is_named(simple, tmp_path):
    done = subprocess.run([simple.binary, 'list'], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and lines(done.stderr)[0].startswith(f'no configuration file found in {tmp_path}')


def test_a_second_service_says_that_one_is_running(simple):
    done = simple.run('serve', check=False)
    assert done.returncode == 1 and 'another `securetool serve` is running' in done.stderr


def test_secrets_on_the_command_line_are_warned_about(simple):
    done = simple.run('list', '--set', f'SCP_API_KEY={simple.secret("api_key")}', '--set', 'SCP_LIMITS_BURST=200')
    assert done.stderr.count('warning: ') == 1 and 'SCP_API_KEY_FILE' in done.stderr and simple.secret('api_key') not in done.stderr


def test_a_list_without_an_end_is_given_up(simple):
    """A server that always names a next page."""
    async def work():
        pages = 0
        client = raw_of(simple)

        async def call(op, payload, **_):
            nonlocal pages
            pages += 1
            return {'capabilities': [], 'next': str(pages)}

        client.call = call
        with pytest.raises(Refused) as refused:
            await client.list_capabilities()
        return refused.value.code, pages

    assert run(work()) == ('E_LIMIT', 1000)


def test_a_file_that_others_can_write_is_refused(simple, tmp_path):
    config = tmp_path / 'securetool.toml'
    config.write_text('mode = "simple"\n')
    config.chmod(0o666)
    for words in (['config', 'check'], ['serve'], ['list']):
        done = subprocess.run([simple.binary, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=30)
        assert done.returncode == 2 and 'securetool.toml: must not be open to be written' in done.stderr, done


# ---- The process ----


def test_the_memory_of_a_service_is_in_no_core_dump(simple):
    limits = pathlib.Path(f'/proc/{simple.process.pid}/limits').read_text()
    assert re.search(r'^Max core file size +0 +0 ', limits, re.M), limits


def test_the_program_is_linked_read_only_and_at_any_address(simple):
    said = subprocess.run(['readelf', '-Wdhl', simple.binary], capture_output=True, text=True, check=True).stdout
    assert 'Type:                              DYN' in said and 'GNU_RELRO' in said and re.search(r'FLAGS_1.*NOW.*PIE', said), said
