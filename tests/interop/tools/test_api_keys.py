"""API keys with names, of `securetool keys`: in the native protocol and as bearers. docs/tools/access.md, "Keys with names"."""
import asyncio
import datetime
import json
import secrets
import stat

import pytest
from bridged import until
from mcp_messages import McpCaller
from scp import Refused
from test_mcp_http import records_of
from test_modes import run, session
from test_revocation import closed_with, reload
from tool_clients import client_of
from typescript_client import TypescriptClient

READ = {'path': 'notes/welcome.txt'}
HELLO = 'Hello from the file tool.\n'


@pytest.fixture(scope='module')
def keyed(make_service, tmp_path_factory):
    """A service with a file of keys, which begins without one; the shared key may do nothing."""
    file = tmp_path_factory.mktemp('keys') / 'api-keys'
    return make_service('simple', mcp__enabled=True, security__api_keys_file=str(file), security__api_key_scopes='cap:list')


def add(service, name, scope='cap:list tool:invoke:files.read', *more, check=True):
    return service.run('keys', 'add', name, '--scope', scope, *more, check=check)


def connect(service, key, *kind):
    async def work(client):
        return client.session, await client.invoke_tool('files.read', **READ)

    return run(session(client_of(service, *kind, api_key=key), work))


def bearer(service, key):
    return McpCaller(service, key).call('files.read', READ)


def listed(service):
    return {one['name']: one for one in map(json.loads, service.run('keys', 'list', '--json').stdout.splitlines())}


def is_taken(service, key):
    return bearer(service, key).status == 200


def test_a_key_opens_what_it_may_and_its_name_is_in_the_trail(keyed):
    key = add(keyed, 'reports').stdout.strip()
    assert not is_taken(keyed, key), 'read at SIGHUP and not before'
    reload(keyed)
    until(lambda: is_taken(keyed, key), 'the key')
    said, answer = connect(keyed, key)
    assert said['principal']['sub'] == 'key:reports' and said['scopes'] == ['cap:list', 'tool:invoke:files.read']
    assert answer['content'][0]['text'] == HELLO and bearer(keyed, key).result['content'][0]['text'] == HELLO
    assert {line['principal']['sub'] for line in records_of(keyed, 'files.read')} == {'key:reports'}
    assert McpCaller(keyed, key).call('files.stat', READ).error['data']['code'] == 'E_TOOL'


def test_the_client_in_typescript_takes_one(keyed):
    key = add(keyed, 'typescript').stdout.strip()
    reload(keyed)
    until(lambda: is_taken(keyed, key), 'the key')
    assert connect(keyed, key, TypescriptClient)[1]['content'][0]['text'] == HELLO
    with pytest.raises(Refused) as refused:
        connect(keyed, key[:-1] + ('A' if key[-1] != 'A' else 'B'), TypescriptClient)
    assert refused.value.code == 'E_AUTH'


def test_the_command_line_takes_one(keyed):
    key = add(keyed, 'command-line').stdout.strip()
    reload(keyed)
    until(lambda: is_taken(keyed, key), 'the key')
    called = keyed.run('call', 'files.read', 'path=notes/welcome.txt', '--set', f'SCP_API_KEY={key}')
    assert called.stdout.strip() == HELLO.strip()
    refused = keyed.run('call', 'files.stat', 'path=notes/welcome.txt', '--set', f'SCP_API_KEY={key}', check=False)
    assert refused.returncode == 1 and 'E_TOOL' in refused.stderr
    alone = keyed.run('call', 'files.read', 'path=notes/welcome.txt', '--set', f'SCP_API_KEY={key}', '--set', 'SCP_SECRET_KEY=', '--set', 'SCP_KDF_SALT=', check=False)
    assert alone.returncode == 2 and 'secret_key' in alone.stderr


def test_the_file_holds_no_key_and_is_its_owners(keyed):
    key = add(keyed, 'in-the-file').stdout.strip()
    file = keyed.folder / keyed.settings['security.api_keys_file']
    assert key.rsplit('_', 1)[1] not in file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert key not in keyed.run('keys', 'list').stdout + keyed.run('config', 'show').stdout
    reload(keyed)
    until(lambda: is_taken(keyed, key), 'the key')
    assert key not in keyed.log.read_text()


@pytest.mark.parametrize('change', ['another end', 'another name', 'another secret'])
def test_another_key_opens_nothing(keyed, change):
    name = 'changed-' + change[-4:].strip()
    other = secrets.token_urlsafe(32)
    key = add(keyed, name).stdout.strip()
    reload(keyed)
    until(lambda: is_taken(keyed, key), 'the key')
    wrong = {'another end': key[:-1] + ('A' if key[-1] != 'A' else 'B'), 'another name': key.replace(name, 'nobody'), 'another secret': f'scpk_{name}_{other}'}[change]
    assert bearer(keyed, wrong).status == 401
    with pytest.raises(Refused) as refused:
        connect(keyed, wrong)
    assert refused.value.code == 'E_AUTH'


def test_a_revoked_key_ends_its_sessions_and_no_others(keyed):
    gone, stays = (add(keyed, name).stdout.strip() for name in ('goes', 'stays'))
    reload(keyed)
    until(lambda: is_taken(keyed, stays), 'the keys')

    async def work():
        clients = [client_of(keyed, api_key=key) for key in (gone, stays)]
        for client in clients:
            await client.connect()
        await asyncio.to_thread(keyed.run, 'keys', 'revoke', 'goes')
        await clients[0].invoke_tool('files.read', **READ)  # Until SIGHUP.
        await asyncio.to_thread(reload, keyed)
        await asyncio.to_thread(until, lambda: not is_taken(keyed, gone), 'the end of the key')
        assert await closed_with(clients[0]) == (4401, 'E_AUTH')
        answer = await clients[1].invoke_tool('files.read', **READ)
        await clients[1].disconnect()
        return answer

    assert run(work())['content'][0]['text'] == HELLO
    assert bearer(keyed, gone).status == 401
    assert 'goes' not in listed(keyed) and 'stays' in listed(keyed)


def test_a_key_past_its_end_is_refused(keyed):
    key = add(keyed, 'ends', 'tool:invoke:files.read', '--until', 'never').stdout.strip()
    file = keyed.folder / keyed.settings['security.api_keys_file']
    file.write_text(file.read_text().replace('ends until=never', 'ends until=2026-01-01'))
    reload(keyed)

    def code():
        try:
            return connect(keyed, key) and None
        except Refused as refused:
            return refused.code

    until(lambda: code() == 'E_EXPIRED', 'the end of the key')
    assert bearer(keyed, key).status == 401 and listed(keyed)['ends']['ended']


def test_a_key_ends_after_90_days_unless_it_is_said(keyed):
    add(keyed, 'usual')
    add(keyed, 'named', 'cap:list', '--until', '2199-12-31')
    add(keyed, 'always', 'cap:list', '--until', 'never')
    ends = {name: one['until'] for name, one in listed(keyed).items()}
    days = (datetime.date.fromisoformat(ends['usual']) - datetime.datetime.now(datetime.UTC).date()).days
    assert days in (89, 90) and ends['named'] == '2199-12-31' and ends['always'] == 'never'


@pytest.mark.parametrize('arguments, rule', [
    (['Bad Name', 'cap:list'], 'a name has 1 to 64'), (['twice', 'cap:list'], 'there is such a key'), (['x', 'tool:run:y'], 'must be a scope'),
    (['x', 'cap:list', '--until', '2026-02-30'], 'must be a day'), (['x', 'cap:list', '--until', '2026-01-01'], 'must lie in the future'),
])
def test_what_is_wrong_is_said_and_nothing_is_written(keyed, arguments, rule):
    if 'twice' not in listed(keyed):
        add(keyed, 'twice')
    before = listed(keyed)
    done = add(keyed, *arguments, check=False)
    assert done.returncode == 1 and rule in done.stderr and done.stdout == ''
    assert listed(keyed) == before


def test_a_key_that_is_not_there_cannot_be_revoked(keyed):
    done = keyed.run('keys', 'revoke', 'nobody', check=False)
    assert done.returncode == 1 and 'there is no such key' in done.stderr


@pytest.mark.parametrize('line, rule', [
    ('Name until=never sha256:' + '0' * 64, 'must begin with a name'), ('a sha256:' + '0' * 64, 'must say until='),
    ('a until=soon sha256:' + '0' * 64, 'must say until='), ('a until=never sha256:12', '64 hex digits'),
    ('a until=never sha256:' + '0' * 64 + ' cap:list\na until=never sha256:' + '0' * 64, 'names a key a second time'),
], ids=['name', 'no end', 'end', 'hash', 'twice'])
def test_a_line_that_is_none_is_named_with_its_rule(keyed, tmp_path, line, rule):
    file = tmp_path / 'api-keys'
    file.touch(mode=0o600)
    file.write_text(f'# keys\n{line}\n')
    done = keyed.run('keys', 'list', '--set', f'SCP_SECURITY_API_KEYS_FILE={file}', check=False)
    assert done.returncode == 1 and rule in done.stderr and 'api-keys:' in done.stderr


def test_a_file_that_others_can_read_is_refused(keyed, tmp_path):
    file = tmp_path / 'api-keys'
    file.touch(mode=0o644)
    file.chmod(0o644)
    done = keyed.run('config', 'check', '--set', f'SCP_SECURITY_API_KEYS_FILE={file}', check=False)
    assert done.returncode == 2 and 'security.api_keys_file' in done.stdout + done.stderr


def test_encrypted_sessions_take_them_too(make_service, tmp_path):
    service = make_service('encrypted', security__api_keys_file=str(tmp_path / 'api-keys'))
    key = add(service, 'agent').stdout.strip()
    reload(service)

    def opens():
        try:
            return connect(service, key)
        except Refused:
            return None

    assert until(opens, 'the key')[0]['principal']['sub'] == 'key:agent'
