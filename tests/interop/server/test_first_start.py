"""A fresh install: its first administrator, what stops the start, limits, and certificates that change."""
import json
import os
import signal
import socket
import ssl
import statistics
import subprocess
import time
import uuid

import pytest
import requests

from by_hand import Watched
from rest import assert_error
from test_tokens import SECRET, SETTINGS, ask, bearer, token_of, token_url
from tool_stack.authority import Authority


def lakeproxy(stack, *arguments, folder, **settings):
    environment = {name: value for name, value in stack.catalog.environment().items() if not name.startswith('LAKEPROXY_OAUTH')}
    return subprocess.run([stack.state['binary'], *arguments], env={**environment, **settings}, cwd=folder, timeout=60, text=True,
                          capture_output=True, check=False)


def test_the_first_administrator_is_shown_once_and_comes_in(stack, tmp_path):
    made = lakeproxy(stack, 'init', folder=tmp_path)
    assert made.returncode == 0, made.stderr
    credential = made.stdout.splitlines()[1]
    secret = credential.removeprefix('admin:')
    assert len(secret) >= 32
    for name in ('clients.json', '.env'):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600, name
        assert secret not in (tmp_path / name).read_text(), name
    assert json.loads((tmp_path / 'clients.json').read_text())[0]['secret'].startswith('$argon2id$')
    with Watched.beside(FolderOf(stack, tmp_path)) as server:
        assert_error(requests.get(f'{server.uri()}/v1/lake/namespaces', timeout=30), 401)
        assert ask(server, 'admin', 'wrong').status_code == 401
        token = ask(server, 'admin', secret).json()['access_token']
        assert requests.get(f'{server.uri()}/v1/lake/namespaces', timeout=30, **bearer(token)).status_code == 200
        time.sleep(0.2)
        assert secret not in server.log.read_text()
    again = lakeproxy(stack, 'init', folder=tmp_path)
    assert again.returncode == 1 and '.env' in again.stderr


class FolderOf:
    """The stack, with servers that start in another folder."""

    def __init__(self, stack, folder):
        self.stack, self.folder = stack, folder

    def __getattr__(self, name):
        return getattr(self.stack, name)


@pytest.mark.parametrize('left', ['clients.json', '.env'])
def test_nothing_that_is_there_is_overwritten(stack, tmp_path, left):
    (tmp_path / left).write_text('LAKEPROXY_OAUTH_JWT_SECRET=mine\n')
    (tmp_path / left).chmod(0o600)
    refused = lakeproxy(stack, 'init', folder=tmp_path)
    assert refused.returncode == 1 and left in refused.stderr
    assert (tmp_path / left).read_text() == 'LAKEPROXY_OAUTH_JWT_SECRET=mine\n'
    assert len(list(tmp_path.iterdir())) == 1


def test_settings_that_are_there_stay(stack, tmp_path):
    (tmp_path / '.env').write_text('LAKEPROXY_LOG_LEVEL=debug')
    (tmp_path / '.env').chmod(0o644)
    assert 'LAKEPROXY' not in lakeproxy(stack, 'init', folder=tmp_path).stdout, 'others may read it'
    (tmp_path / '.env').chmod(0o600)
    assert lakeproxy(stack, 'init', folder=tmp_path).returncode == 0
    shown = lakeproxy(stack, 'settings', folder=tmp_path).stdout
    assert 'LAKEPROXY_LOG_LEVEL=debug (.env' in shown and 'LAKEPROXY_REQUIRE_AUTH=1 (.env' in shown
    assert 'LAKEPROXY_GOVERNANCE_FAIL_CLOSED=1 (.env' in shown
    assert (tmp_path / '.env').read_text().split('LAKEPROXY_OAUTH_JWT_SECRET=')[1].splitlines()[0] not in shown


def test_an_open_server_says_so(stack, tmp_path):
    with Watched.beside(FolderOf(stack, tmp_path)) as server:
        assert requests.get(f'{server.uri()}/v1/lake/namespaces', timeout=30).status_code == 200
        assert 'authentication is off' in server.log.read_text()


@pytest.mark.parametrize(('settings', 'name'), [
    ({'LAKEPROXY_PG_PASSWORD': 'two words'}, 'LAKEPROXY_PG_PASSWORD'),
    ({'LAKEPROXY_PG_PASSWORD': "o'quote"}, 'LAKEPROXY_PG_PASSWORD'),
    ({'LAKEPROXY_PG_PASSWORD': 'double"quote'}, 'LAKEPROXY_PG_PASSWORD'),
    ({'LAKEPROXY_PG_PASSWORD': 'back\\slash'}, 'LAKEPROXY_PG_PASSWORD'),
    ({'LAKEPROXY_PUBLIC_URL': 'http://lake.example:8181'}, 'LAKEPROXY_PUBLIC_URL'),
    ({'LAKEPROXY_OAUTH_CLIENTS': 'a:b-secret|*'}, 'LAKEPROXY_OAUTH_JWT_SECRET'),
    ({'LAKEPROXY_OAUTH_CLIENTS': 'a:b-secret|*', 'LAKEPROXY_OAUTH_JWT_SECRET': 'thirty-one-bytes-are-not-enough'}, 'LAKEPROXY_OAUTH_JWT_SECRET'),
])
def test_settings_that_cannot_be_safe_stop_the_start_with_one_line(stack, tmp_path, settings, name):
    stopped = lakeproxy(stack, 'serve', '--port', '0', folder=tmp_path, **settings)
    assert stopped.returncode == 2
    assert len(stopped.stderr.splitlines()) == 1 and name in stopped.stderr
    for value in settings.values():
        assert value == 'http://lake.example:8181' or value not in stopped.stderr


# Limits

def test_attack_guessing_a_secret(stack):
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_OAUTH_MAX_GUESSES='5') as server:
        answers = [ask(server, 'reader', f'guess {n}') for n in range(8)]
        assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 3
        assert 1 <= int(answers[-1].headers['Retry-After']) <= 60
        assert_error(answers[-1], 429)
        assert ask(server, 'reader').status_code == 429, 'the right one among them is not told'
        assert ask(server, 'writer').status_code == 200, 'another client of the same address'
        unknown = [ask(server, 'nobody', f'guess {n}').status_code for n in range(8)]
        assert unknown == [401] * 5 + [429] * 3, 'alike for a name that there is not'
        # Over all names of one address.
        more = [ask(server, f'name{n}', 'x').status_code for n in range(30)]
        assert more[0] == 401 and more[-1] == 429


def test_a_principal_that_asks_too_often_waits_and_others_do_not(stack):
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_MAX_REQUESTS_PER_SECOND='5') as server:
        reader, writer = bearer(token_of(server, 'reader')), bearer(token_of(server, 'writer'))
        url = f'{server.uri()}/v1/lake/namespaces'
        answers = [requests.get(url, timeout=30, **reader) for _ in range(30)]
        assert {answer.status_code for answer in answers} == {200, 429}
        limited = next(answer for answer in answers if answer.status_code == 429)
        assert limited.headers['Retry-After'] == '1'
        assert_error(limited, 429)
        assert requests.get(url, timeout=30, **writer).status_code == 200
        assert requests.get(f'{server.uri()}/readyz', timeout=30).status_code == 200
        time.sleep(1.2)
        assert requests.get(url, timeout=30, **reader).status_code == 200


# What stays unknown

def test_unknown_and_foreign_catalogs_take_the_same_time(stack):
    with Watched.beside(stack, **SETTINGS) as server:
        name = f'tim{uuid.uuid4().hex[:8]}'
        body = {'catalog_id': name, 'metadata_schema': f'meta_{name}', 'data_prefix': f'tenants/{name}/', 'account_id': 'acme'}
        assert requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=60, **bearer(token_of(server, 'admin'))).status_code == 201
        owner = bearer(token_of(server, 'acme'))
        assert requests.get(f'{server.uri()}/v1/{name}/namespaces', timeout=30, **owner).status_code == 200
        session = requests.Session()
        session.headers.update(bearer(token_of(server, 'globex'))['headers'])
        times = {name: [], 'x' * len(name): []}
        answers = {}
        for _ in range(150):
            for prefix, taken in times.items():
                began = time.perf_counter()
                answer = session.get(f'{server.uri()}/v1/{prefix}/namespaces', timeout=30)
                taken.append(time.perf_counter() - began)
                assert answer.status_code == 404
                answers[prefix] = answer.text.replace(prefix, '')
        foreign, unknown = (statistics.median(taken[20:]) for taken in times.values())
        assert len(set(answers.values())) == 1
        assert abs(foreign - unknown) < 0.4 * max(foreign, unknown), (foreign, unknown)


def test_secrets_are_in_no_place_where_others_look(stack):
    with Watched.beside(stack, **SETTINGS) as server:
        token = token_of(server, 'reader')
        wrong = ask(server, 'reader', 'wrong-secret')
        metrics = requests.get(f'{server.uri()}/metrics', timeout=30).text
        arguments = open(f'/proc/{server.server.pid}/cmdline', 'rb').read().decode()
        for secret in (SECRET, token, 'r-secret', 'wrong-secret', stack.store.secret_key):
            for place in (metrics, arguments, wrong.text):
                assert secret not in place
        limits = open(f'/proc/{server.server.pid}/limits').read()
        assert next(line for line in limits.splitlines() if line.startswith('Max core')).split()[4:6] == ['0', '0']


# Certificates

def shown(port, authority):
    context = ssl.create_default_context(cafile=authority.roots)
    with socket.create_connection(('127.0.0.1', port), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname='localhost') as made:
            return made.getpeercert()['serialNumber']


class Encrypted(Watched):
    """Over TLS, as a check for its readiness without it would wait for ever."""
    authority = None

    def ready(self):
        try:
            return requests.get(f'https://127.0.0.1:{self.port}/readyz', verify=str(self.authority.roots), timeout=5).status_code == 200
        except requests.ConnectionError:
            return False


def test_a_certificate_is_read_again_at_sighup(stack, tmp_path):
    authority = Encrypted.authority = Authority(tmp_path)
    certificate, key = authority.server('lake')
    with Encrypted.beside(stack, **SETTINGS, LAKEPROXY_TLS_CERT=str(certificate), LAKEPROXY_TLS_KEY=str(key)) as server:
        first = shown(server.port, authority)
        next_certificate, next_key = authority.server('next')
        os.replace(next_certificate, certificate)
        os.replace(next_key, key)
        os.kill(server.server.pid, signal.SIGHUP)
        end = time.monotonic() + 5
        while shown(server.port, authority) == first and time.monotonic() < end:
            time.sleep(0.05)
        second = shown(server.port, authority)
        assert second != first
        certificate.write_text('no certificate')
        os.kill(server.server.pid, signal.SIGHUP)
        time.sleep(0.5)
        assert shown(server.port, authority) == second, 'a broken file changes nothing'
        assert 'the certificate was not reloaded' in server.log.read_text()
        url = f'https://127.0.0.1:{server.port}/v1/oauth/tokens'
        fields = {'grant_type': 'client_credentials', 'client_id': 'reader', 'client_secret': 'r-secret'}
        assert requests.post(url, data=fields, verify=str(authority.roots), timeout=30).status_code == 200


def test_sighup_without_tls_ends_nothing(stack):
    with Watched.beside(stack, **SETTINGS) as server:
        os.kill(server.server.pid, signal.SIGHUP)
        time.sleep(0.3)
        assert requests.post(token_url(server), data={}, timeout=30).status_code == 400
