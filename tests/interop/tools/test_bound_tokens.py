"""Tokens that are bound to a key or a certificate, and what a thief of their text can do. docs/wire-3.0.md, sections 4.11
and 6.6."""
import asyncio
import base64
import json
import os
import signal
import subprocess
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from raw import raw_of, run
from scp import holder, keys
from test_lasting_sessions import PROGRAM, client_config, report_of
from test_lifecycle import log_lines, reload
from test_modes import session
from test_revocation import alive, closed_with
from test_tokens import code_of, hs256
from tool_clients import client_of
from tool_stack.service import SCOPES, environment

SCOPE = 'cap:list tool:invoke:files.*'


@pytest.fixture(scope='module')
def pairs(services, tmp_path_factory):
    """Two key pairs of clients, made by the command line: (private file, public file, thumbprint)."""
    folder = tmp_path_factory.mktemp('holders')

    def make(name):
        said = services['basic'].run_bare('keygen', 'ed25519', '--out', str(folder / name)).stdout.split()
        return tuple(said)

    return [make('agent'), make('thief')]


@pytest.fixture
def agent(pairs):
    return pairs[0]


@pytest.fixture
def thief(pairs):
    return pairs[1]


@pytest.fixture(params=['simple', 'basic', 'encrypted'])
def taking(request, services):
    """A service that takes client tokens."""
    return services[request.param]


def bound(service, pair, seconds=600, subject='alice'):
    """A client token that is bound to a pair, made by the command line."""
    return service.run('mint-token', '--subject', subject, '--scope', ' '.join(SCOPES), '--lifetime', str(seconds), '--holder',
                       pair[1]).stdout.strip()


def connect_code(service, **options):
    """The code of the refusal, None when the session opens and does a call."""
    return run(code_of(session(client_of(service, **options), alive)))


def shown(client, credential, made_by=None, **changes):
    """What auth and refresh show, with a proof that `changes` replace members of."""
    proof = {**holder.prove(made_by or client.holder_key, client.th1, credential), **changes}
    return {'method': 'jwt', 'credential': credential, 'holder': proof}


async def auth_answer(service, make, **options):
    """What the server answers to an auth that shows what `make` gives for the client."""
    client = raw_of(service, **options)
    await client.to('NEGOTIATED')
    client._shown = lambda: make(client)
    await client.socket.send(client._encode(client._make_auth(), client.th1))
    try:
        answer = await client.receive()
        code = answer['p'].get('code')
        return code, None if code is None else (await client.refusal())[1]
    finally:
        await client.close()


def test_a_bound_token_opens_for_its_holder_and_for_nobody_else(taking, agent, thief):
    token = bound(taking, agent)
    assert connect_code(taking, token=token, holder_key=agent[0]) is None
    assert connect_code(taking, token=token) == 'E_AUTH'
    assert connect_code(taking, token=token, holder_key=thief[0]) == 'E_AUTH'
    # The claim is the thumbprint that the command line told.
    body = token.split('.')[1]
    assert json.loads(base64.urlsafe_b64decode(body + '=' * (-len(body) % 4)))['cnf'] == {'jkt': agent[2]}


def test_a_token_that_is_not_bound_is_still_taken(taking, agent):
    token = taking.mint()
    assert connect_code(taking, token=token) is None
    assert connect_code(taking, token=token, holder_key=agent[0]) is None


def test_proofs_that_are_refused(taking, agent, thief):
    """Each beside the one that is taken; the message says no more than for any wrong credential."""
    token = bound(taking, agent)
    other = holder.load_key(thief[0])
    ec = {'kty': 'EC', 'crv': 'P-256', 'x': 'A' * 43, 'y': 'A' * 43}
    cases = {
        'of this connection': (lambda c: shown(c, token), None),
        'none': (lambda c: {'method': 'jwt', 'credential': token}, 'E_AUTH'),
        'by another key': (lambda c: shown(c, token, other), 'E_AUTH'),
        'by another key under the right name': (lambda c: shown(c, token, other, jwk=holder.jwk_of(c.holder_key.public_key())), 'E_AUTH'),
        'over another transcript': (lambda c: shown(c, token, v=keys.b64(c.holder_key.sign(holder.signed_text(b'\1' * 32, token)))), 'E_AUTH'),
        'for another token': (lambda c: shown(c, token, v=keys.b64(c.holder_key.sign(holder.signed_text(c.th1, token + 'x')))), 'E_AUTH'),
        'without the context': (lambda c: shown(c, token, v=keys.b64(c.holder_key.sign(c.th1))), 'E_AUTH'),
        'of ES256': (lambda c: shown(c, token, alg='ES256', jwk=ec), 'E_SHAPE'), 'of none': (lambda c: shown(c, token, alg='none', v=''), 'E_SHAPE'),
        'of HS256': (lambda c: shown(c, token, alg='HS256', jwk={'kty': 'oct', 'k': 'AAAA'}), 'E_SHAPE'),
        'of EdDSA': (lambda c: shown(c, token, alg='EdDSA'), 'E_SHAPE'), 'as a text': (lambda c: {**shown(c, token), 'holder': 'x'}, 'E_SHAPE'),
    }
    for name, (make, code) in cases.items():
        answer = run(auth_answer(taking, make, token=token, holder_key=agent[0]))
        assert answer == (code, {'E_AUTH': 4401, 'E_SHAPE': 4400, None: None}[code]), name


def test_a_proof_is_of_no_use_on_another_connection(services, agent):
    """Replayed as a whole: what the holder sent on one connection, on the next."""
    service = services['basic']
    token = bound(service, agent)

    async def work():
        first = raw_of(service, token=token, holder_key=agent[0])
        await first.to('READY')
        sent = first._shown()
        await first.close()
        return await auth_answer(service, lambda client: sent, token=token)

    assert run(work()) == ('E_AUTH', 4401)


def test_a_false_proof_is_refused_whatever_the_token(services, agent):
    service = services['basic']
    token = service.mint()
    assert run(auth_answer(service, lambda c: shown(c, token), token=token, holder_key=agent[0])) == (None, None)
    wrong = run(auth_answer(service, lambda c: shown(c, token, v='A' * 85 + 'A'), token=token, holder_key=agent[0]))
    assert wrong == ('E_AUTH', 4401)


@pytest.mark.parametrize('name, cnf', [('empty', {}), ('unknown', {'kid': 'x'}), ('a text', 'x'), ('a list', []),
                                       ('a number as the thumbprint', {'jkt': 7}), ('a thumbprint in hexadecimal', {'jkt': 'ab' * 32})],
                         ids=lambda value: value if isinstance(value, str) else '')
def test_a_token_bound_in_a_way_that_is_not_known_is_refused(services, agent, name, cnf):
    """Not taken as one that is not bound, nor with a proof of any key."""
    service = services['basic']
    strange, known = hs256(service, scope=SCOPE, cnf=cnf), hs256(service, scope=SCOPE, cnf={'jkt': agent[2], 'kid': 'x'})
    assert connect_code(service, token=strange) == 'E_AUTH'
    assert connect_code(service, token=strange, holder_key=agent[0]) == 'E_AUTH'
    assert connect_code(service, token=known, holder_key=agent[0]) is None


def test_a_session_is_refreshed_by_its_own_holder(taking, agent, thief):
    token, of_thief, loose = bound(taking, agent), bound(taking, thief), taking.mint('alice')
    thief_key = holder.load_key(thief[0])

    async def work():
        client = raw_of(taking, token=token, holder_key=agent[0])
        await client.connect()
        client.refresher.cancel()  # refreshes are counted, and those below are to be answered
        try:
            asked = [shown(client, token), {'method': 'jwt', 'credential': token}, shown(client, token, thief_key),
                     shown(client, of_thief, thief_key), {'method': 'jwt', 'credential': loose}]
            codes = []
            for one in asked:
                codes.append(await code_of(client.call('session.refresh', one)))
            return codes, await alive(client)
        finally:
            await client.close()

    assert run(work()) == ([None] + ['E_AUTH'] * 4, True)


def test_a_session_and_its_reconnections_go_on_with_fresh_bound_tokens(make_service, agent):
    """Refreshes and a new connection, each with a token and a proof of its own."""
    service = make_service('basic', security__session_token_lifetime=2, security__require_bound_tokens=True)

    async def work():
        client = client_of(service, token=lambda: asyncio.to_thread(bound, service, agent, 2), holder_key=agent[0])
        first = (await client.connect())['session_id']
        end = time.monotonic() + 5
        while time.monotonic() < end:
            assert await alive(client)
            await asyncio.sleep(0.2)
        refreshed = client.session['session_id'] == first
        client.refresher.cancel()
        await asyncio.sleep(2.5)
        assert await alive(client), 'a call that is told E_EXPIRED connects again'
        again = client.session['session_id'] != first
        await client.disconnect()
        return refreshed, again

    assert run(work()) == (True, True)


def write_client(service, token, key):
    """A client's file for the command line and the library."""
    file = client_config(service)
    lines = [line for line in file.read_text().splitlines() if not line.startswith('client_token')]
    at = lines.index('[security]') + 1
    lines[at:at] = ([f'client_token = "{token}"'] if token else []) + ([f'holder_key_path = "{key}"'] if key else [])
    file.write_text('\n'.join(lines) + '\n')
    return file


def call_by_command(service, file):
    return subprocess.run([str(service.binary), 'call', 'files.stat', 'path=notes/welcome.txt', '--config', str(file)], cwd=service.folder,
                          env=environment(), capture_output=True, text=True, timeout=60)


def test_the_command_line_proves_its_key(taking, agent, thief):
    token = bound(taking, agent)
    assert call_by_command(taking, write_client(taking, token, agent[0])).returncode == 0
    for key in (None, thief[0]):
        refused = call_by_command(taking, write_client(taking, token, key))
        assert refused.returncode == 1 and refused.stderr.startswith('E_AUTH: '), refused


def test_the_library_goes_on_with_fresh_bound_tokens(make_service, agent, tmp_path):
    """Refreshes, and after a pause that is longer than its token a new connection."""
    service = make_service('basic', security__session_token_lifetime=2, security__require_bound_tokens=True)
    token = tmp_path / 'token'

    def write_token():
        fresh = token.with_suffix('.new')
        fresh.write_text(bound(service, agent, 2))
        fresh.rename(token)

    async def keep_token():
        while True:
            await asyncio.to_thread(write_token)
            await asyncio.sleep(0.3)

    async def work():
        await asyncio.to_thread(write_token)
        keeper = asyncio.create_task(keep_token())
        config = write_client(service, token.read_text(), agent[0])
        process = await asyncio.create_subprocess_exec(PROGRAM, config, '8', token, cwd=service.folder, env=environment(),
                                                       stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        await asyncio.sleep(4)
        os.kill(process.pid, signal.SIGSTOP)
        await asyncio.sleep(3)
        os.kill(process.pid, signal.SIGCONT)
        report = await report_of(process)
        keeper.cancel()
        return report

    report = run(work())
    assert report['ok'] > 20 and set(report) <= {'ok', 'sessions', 'last'}, report
    assert 'credential refused' not in service.log.read_text()


def test_key_files_that_are_refused(services, agent, tmp_path):
    """By both clients, before anything is sent."""
    service = services['basic']
    token = bound(service, agent)
    rsa = tmp_path / 'rsa'
    service.run_bare('keygen', 'rsa', '--out', str(rsa))
    opened = tmp_path / 'open.key'
    with open(agent[0], encoding='ascii') as private:
        opened.write_text(private.read())
    opened.chmod(0o644)
    for file, rule in ((opened, 'must not be open to others'), (f'{rsa}.key', 'must be an Ed25519 private key')):
        with pytest.raises(ValueError, match=rule):
            client_of(service, token=token, holder_key=file)
        refused = call_by_command(service, write_client(service, token, file))
        assert refused.returncode != 0 and rule in refused.stderr, refused
    minted = service.run('mint-token', '--subject', 'x', '--scope', 'cap:list', '--holder', f'{rsa}.pub', check=False)
    assert minted.returncode == 1 and minted.stdout == '' and 'Ed25519' in minted.stderr


def test_tokens_that_are_not_bound_are_refused_where_they_must_be(make_service, agent):
    """The setting is put in force by a reload, and ends the sessions that it would not open."""
    service = make_service('encrypted')
    loose, tied = service.mint('bob'), bound(service, agent)

    async def work():
        bob = client_of(service, token=loose)
        alice = client_of(service, token=tied, holder_key=agent[0])
        by_key = client_of(service)
        for one in (bob, alice, by_key):
            await one.connect()
        await asyncio.to_thread(reload, service, security__require_bound_tokens=True)
        ended = await closed_with(bob)
        assert await alive(alice) and await alive(by_key), 'an API key is proved on each connection'
        await alice.disconnect()
        await by_key.disconnect()
        return ended, await code_of(client_of(service, token=loose).connect())

    assert run(work()) == ((4401, 'E_AUTH'), 'E_AUTH')
    assert connect_code(service, token=tied, holder_key=agent[0]) is None
    assert connect_code(service) is None


def test_the_trail_and_the_log_tell_the_binding(make_service, agent):
    service = make_service('basic')
    for token, key in ((bound(service, agent), agent[0]), (service.mint('bob'), None)):
        assert connect_code(service, token=token, holder_key=key) is None
    assert connect_code(service, token=bound(service, agent)) == 'E_AUTH'
    assert 'a bound token without a proof of possession' in [line.get('detail') for line in log_lines(service)]
    service.stop()
    lines = [json.loads(line) for file in sorted(service.audit.glob('audit-*.jsonl')) for line in file.read_text().splitlines()]
    calls = [line for line in lines if line['kind'] in ('open', 'seal')]
    told = {line['principal']['sub']: line['principal'].get('cnf') for line in calls}
    assert told == {'alice': {'jkt': agent[2]}, 'bob': None} and len(calls) == 4
    opened = {line['details']['principal']['sub']: line['details']['principal'].get('cnf') for line in lines
              if line['kind'] == 'event' and line['event'] == 'session_opened'}
    assert opened == told
    assert service.run('audit', 'verify').returncode == 0


def x5t(certificate):
    """As RFC 8705, section 3.1, writes it."""
    return keys.b64(x509.load_pem_x509_certificate(certificate.read_bytes()).fingerprint(hashes.SHA256()))


def test_a_token_bound_to_a_certificate(make_service, authority, agent):
    service = make_service('basic', server__client_ca=str(authority.roots), server__client_certificate='optional')
    own, other = authority.client('robot-11'), authority.client('robot-12')
    tied = hs256(service, scope=SCOPE, cnf={'x5t#S256': x5t(own[0])})
    assert connect_code(service, token=tied, certificate=own) is None
    assert connect_code(service, token=tied) == 'E_AUTH'
    assert connect_code(service, token=tied, certificate=other) == 'E_AUTH'
    assert connect_code(service, token=tied, holder_key=agent[0]) == 'E_AUTH'
    both = hs256(service, scope=SCOPE, cnf={'x5t#S256': x5t(own[0]), 'jkt': agent[2]})
    assert connect_code(service, token=both, certificate=own, holder_key=agent[0]) is None
    assert connect_code(service, token=both, certificate=own) == 'E_AUTH'
    assert connect_code(service, token=both, holder_key=agent[0]) == 'E_AUTH'
