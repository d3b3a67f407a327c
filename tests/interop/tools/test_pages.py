"""What the pages of docs/tools say is run as it stands there, with another port and another folder."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from stack import ports, process
from tool_clients import AGENT_SECRET, BINARY, MODES, ROOT
from tool_stack.service import SCOPES

PAGES = ROOT / 'docs/tools'


def blocks(page, language):
    """The fenced texts of a page, without the indentation of a list."""
    found = re.findall(rf'^( *)```{language}\n(.*?)^ *```$', (PAGES / page).read_text(), re.M | re.S)
    return [re.sub(rf'^{indent}', '', text, flags=re.M) for indent, text in found]


@pytest.fixture
def home(tmp_path):
    """An empty home folder, with the program on the path and a port of its own for the one of the pages."""
    return tmp_path, {'PATH': f'{BINARY.parent}:/usr/bin:/bin', 'HOME': str(tmp_path)}, str(ports.any_free())


def shell(script, env, folder, check=True):
    return subprocess.run(['bash', '-e', '-c', script], cwd=folder, env=env, check=check, capture_output=True, text=True, timeout=60)


def test_start(home):
    """start.md, from the first folder to the last command."""
    folder, env, port = home
    make, secrets, serve, calls = blocks('start.md', 'sh')[4:]
    shell(make, env, folder)
    tools = folder / 'tools'
    shell(secrets, env, tools)
    config = blocks('start.md', 'toml')[1].replace('7443', port).replace('[security]', f'[server]\nport = {port}\n\n[security]')
    (tools / 'securetool.toml').write_text(config)
    (tools / 'securetool.toml').chmod(0o644)
    assert 'warning' not in shell('securetool config check', env, tools).stdout
    running = process.start([BINARY, *serve.split()[1:]], tools / 'log', env=env, cwd=tools)
    try:
        process.wait_ready('the service of start.md', running, tools / 'log', lambda: 'listening' in (tools / 'log').read_text(), 20)
        lines = [line.split('#')[0].strip() for line in calls.strip().splitlines()]
        done = [shell(line, env, tools, check=False) for line in lines]
        assert [one.returncode for one in done] == [0, 0, 0, 0, 1, 0], done
        assert 'sql.query' in done[0].stdout and '112.5' not in done[2].stdout and '12.5' in done[2].stdout
        assert done[3].stdout == 'hello\n\n' and done[4].stderr.startswith('E_POLICY: ')
        example = (tools / 'example.py')
        example.write_text(blocks('clients.md', 'python')[0].replace('7443', port))
        run = subprocess.run([sys.executable, example], cwd=tools, env={**env, 'PYTHONPATH': str(ROOT / 'clients/python')}, check=True,
                             capture_output=True, text=True, timeout=30)
        assert '[[42]]' in run.stdout, run
    finally:
        running.stop()
    failed = subprocess.run([sys.executable, example], cwd=tools, env={**env, 'PYTHONPATH': str(ROOT / 'clients/python')}, capture_output=True,
                            text=True, timeout=30)
    assert 'not connected' in failed.stdout and 'Traceback' not in failed.stderr


def test_start_with_a_tool_of_ones_own(home):
    """The first part of start.md: from nothing to a call of a program that the reader brought along."""
    folder, env, port = home
    _, init, serve, calls = blocks('start.md', 'sh')[:4]
    shell(init, env, folder)
    own = folder / 'own'
    assert [oct(file.stat().st_mode & 0o777) for file in sorted(own.iterdir())] == ['0o600', '0o600']
    before = {file.name: file.read_text() for file in own.iterdir()}
    again = shell('securetool init own', env, folder, check=False)
    assert again.returncode == 1 and 'is there already; nothing was written' in again.stderr
    assert {file.name: file.read_text() for file in own.iterdir()} == before
    with open(own / 'securetool.toml', 'a') as config:
        config.write('\n' + blocks('start.md', 'toml')[0])
    text = (own / 'securetool.toml').read_text()
    assert text.count('7443') == 2
    (own / 'securetool.toml').write_text(text.replace('7443', port))
    running = process.start([BINARY, *serve.split()[1:]], own / 'log', env=env, cwd=own)
    try:
        process.wait_ready('the service of start.md', running, own / 'log', lambda: 'listening' in (own / 'log').read_text(), 20)
        lines = [line.split('#')[0].strip() for line in calls.strip().splitlines()]
        listed, counted, disk, missing = (shell(line, env, own, check=False) for line in lines)
        assert 'tools.count' in listed.stdout and 'tools.disk' in listed.stdout
        assert counted.stdout.strip() == '3' and counted.returncode == 0
        assert disk.returncode == 0 and disk.stdout.startswith('Filesystem')
        assert missing.returncode == 1 and missing.stderr == 'E_SHAPE: args.folder: is missing\n'
    finally:
        running.stop()


def test_what_init_prints_is_what_works(home):
    folder, env, port = home
    said = shell('securetool init .', env, folder).stdout
    calls = [line.split('#')[0].strip() for line in said.splitlines() if line.startswith('  securetool ')]
    assert calls[0] == 'securetool serve'
    shell(f'sed -i s/7443/{port}/ securetool.toml', env, folder)
    running = process.start([BINARY, 'serve'], folder / 'log', env=env, cwd=folder)
    try:
        process.wait_ready('the service of init', running, folder / 'log', lambda: 'listening' in (folder / 'log').read_text(), 20)
        assert shell(calls[1], env, folder).stdout and shell(calls[2], env, folder).stdout.strip() == '2'
    finally:
        running.stop()
    secrets = dict(line.split('=', 1) for line in (folder / '.env').read_text().splitlines())
    assert len(secrets) == 4 and not any(value in said for value in secrets.values())


def client_page(mode):
    return next(text for text in blocks('modes.md', 'toml') if text.startswith(f'# client: {mode}\n'))


@pytest.mark.parametrize('mode', MODES)
def test_a_clients_file_of_each_mode(services, tmp_path, mode):
    """With the names of this machine in place of those of the page, and secrets in files; jwt_secret is in none of them."""
    service = services[mode]
    text = client_page(mode)
    assert 'jwt_secret' not in text
    for name in ('secret_key', 'kdf_salt', 'api_key'):
        if service.secret(name):
            write(tmp_path / name, service.secret(name))
    if mode == 'basic':
        write(tmp_path / 'token', service.mint())
    for name in ('ca.pem', 'login-ca.pem'):
        shutil.copy(service.authority.roots, tmp_path / name)
    write(tmp_path / 'client_secret', AGENT_SECRET)
    text = re.sub('server_url = .*', f'server_url = "{service.url}"', text)
    if mode == 'enterprise':
        changes = {'issuer': service.identity.issuer, 'audience': service.identity.audience, 'token_url': service.identity.token_url, 'scope': ' '.join(SCOPES)}
        for name, value in changes.items():
            text = re.sub(f'^{name} = .*', f'{name} = "{value}"', text, flags=re.M)
    (tmp_path / 'securetool.toml').write_text(text)
    env = {'PATH': f'{BINARY.parent}:/usr/bin:/bin'}
    checked = shell('securetool config check --client', env, tmp_path)
    assert 'warning' not in checked.stdout
    listed = shell('securetool list --json', env, tmp_path)
    assert 'files.read' in [json.loads(line)['id'] for line in listed.stdout.splitlines()]


def write(file, text):
    with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), 'w') as out:
        out.write(text)


@pytest.mark.parametrize('mode', [mode for mode in MODES if mode != 'simple'])
def test_a_servers_file_of_each_mode_names_its_node(mode):
    text = next(one for one in blocks('modes.md', 'toml') if one.startswith(f'mode = "{mode}"'))
    assert 'node_id = "' in text
