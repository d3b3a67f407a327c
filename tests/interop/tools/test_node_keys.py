"""Servers that prove themselves by their node key, and members of the group who know only the secret. docs/wire-3.0.md,
sections 4.6 and 4.7."""
import asyncio

import pytest
import websockets
from cryptography.hazmat.primitives import serialization
from raw import raw_of, run
from scp import Client, Refused, keys, node_key
from scp.canonical import canonical, parse
from test_handshake_attacks import editor, met
from tool_clients import MODES, client_of
from tool_stack.service import strong, to_toml
from typescript_client import TypescriptClient

CALL = {'path': 'notes/welcome.txt'}


@pytest.fixture(scope='module')
def pairs(services, tmp_path_factory):
    """Two key pairs, made by the command line: (private file, public file, thumbprint)."""
    folder = tmp_path_factory.mktemp('node-keys')
    return [tuple(services['simple'].run_bare('keygen', 'ed25519', '--out', str(folder / name)).stdout.split()) for name in ('gateway', 'member')]


@pytest.fixture(scope='module')
def gateways(make_service, pairs):
    """A service of each mode with a node key."""
    return {mode: make_service(mode, security__proof_signing_key_path=pairs[0][0]) for mode in MODES}


@pytest.fixture(params=MODES)
def gateway(request, gateways):
    return gateways[request.param]


def knowing(service, server_key, kind=Client):
    """A client that has a credential and the key, and no secret of the group."""
    return client_of(service, kind, secret_key='', kdf_salt='', server_key=server_key)


def command_line(service, folder, server_key, more=None):
    """What `securetool call` says, with the configuration of such a client."""
    settings = {'mode': service.mode, 'server_url': service.url, 'security.allow_insecure_transit': True}
    if service.tls:
        settings['security.ca_cert_path'] = str(service.authority.roots)
    if service.mode in ('simple', 'encrypted'):
        settings['api_key'] = service.secret('api_key')
    else:
        settings['security.client_token'] = service.mint()
    settings |= more or {}
    config = folder / f'{service.mode}.toml'
    config.touch(mode=0o600)
    config.write_text(to_toml(settings))
    return service.run_bare('call', 'files.read', 'path=notes/welcome.txt', '--config', str(config), '--server-key', server_key, check=False)


@pytest.mark.parametrize('kind', [Client, TypescriptClient])
def test_a_client_that_knows_the_key_needs_no_secret(gateway, pairs, kind):
    async def work(server_key):
        client = knowing(gateway, server_key, kind)
        await client.connect()
        try:
            return await client.invoke_tool('files.read', **CALL)
        finally:
            await client.disconnect()

    _, public, thumbprint = pairs[0]
    assert 'Hello from the file tool.' in str(run(work(thumbprint)))
    assert 'Hello from the file tool.' in str(run(work(public)))
    with pytest.raises(Refused) as refused:
        run(work(pairs[1][2]))
    assert refused.value.code == 'E_SIG'


@pytest.mark.parametrize('mode', ['simple', 'basic', 'encrypted'])
def test_the_command_line_knows_it_too(gateways, pairs, tmp_path, mode):
    for key in pairs[0][1:]:
        called = command_line(gateways[mode], tmp_path, key)
        assert called.returncode == 0 and 'Hello from the file tool.' in called.stdout, called.stderr
    refused = command_line(gateways[mode], tmp_path, pairs[1][2])
    assert refused.returncode == 1 and refused.stderr.startswith('E_SIG') and refused.stdout == ''
    wrong = command_line(gateways[mode], tmp_path, pairs[1][2][:-1])
    assert wrong.returncode == 2 and 'thumbprint' in wrong.stderr


def test_a_client_of_the_secret_is_served_as_before(gateway):
    async def work():
        client = client_of(gateway)
        await client.connect()
        assert await client.list_capabilities()
        await client.disconnect()

    run(work())


def test_a_server_with_a_key_needs_no_secret_either(make_service, pairs, tmp_path):
    service = make_service('encrypted', secret_key=None, security__proof_signing_key_path=pairs[0][0], audit__checkpoint_key_path=pairs[1][0])
    assert command_line(service, tmp_path, pairs[0][2]).returncode == 0
    with pytest.raises(Refused) as refused:  # who knows it by a secret has nothing to hold it by
        run(client_of(service, secret_key=strong(), kdf_salt=strong(24)).connect())
    assert refused.value.code == 'E_SHAPE'


class Member:
    """Somebody who has the secret of the group and stands where the clients dial. Use as an asynchronous context."""

    def __init__(self, service, key=None, tls=None):
        self.service, self.key, self.tls, self.shown = service, key, tls, []

    async def __aenter__(self):
        self.server = await websockets.serve(self._serve, '127.0.0.1', 0, subprotocols=['scp.v3.json'], compression=None, ssl=self.tls)
        self.url = f'{"wss" if self.tls else "ws"}://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/scp/v3'
        return self

    async def __aexit__(self, *_):
        self.server.close()
        await self.server.wait_closed()

    async def _serve(self, socket):
        hello = await socket.recv()
        asked = parse(hello)
        suite = asked['p']['suites'][0]
        welcome = {**asked, 't': 'res', 'aud': '', 'p': {
            'version': '3.0', 'mode': self.service.mode, 'suite': suite, 'nonce_s': keys.b64(bytes(32)), 'node_id': 'node-b', 'cluster': 'cluster-1',
            'auth': ['api_key', 'jwt'], 'channel': 'none', 'limits': {'message_bytes': 1 << 20, 'in_flight': 64, 'deadline_ms': 30000, 'idle_ms': 300000}}}
        dh = b''
        for group, share in asked['p']['eph_c'].items():
            private, own = keys.make_share(group)
            dh = keys.agree(group, private, keys.unb64(share))
            welcome['p']['eph_s'] = keys.b64(own)
        if self.key:
            welcome['p']['node_key'] = self.key
        th1 = keys.th1(hello.encode(), canonical(welcome), b'')
        psk = keys.make_psk(self.service.secret('secret_key').encode(), self.service.secret('kdf_salt').encode())
        welcome['p']['proof'] = {'kind': 'hmac', 'v': keys.b64(keys.proof(psk, th1))}
        await socket.send(canonical(welcome).decode())
        try:
            auth = await socket.recv()
            if isinstance(auth, bytes):
                auth = keys.Records(suite, keys.schedule(th1, dh, psk), 'c2s', th1).open(auth)
            self.shown.append(parse(auth)['p'])
        except websockets.ConnectionClosed:
            pass


def test_a_member_of_the_group_gets_a_token_of_who_knows_only_the_secret(gateways, pairs):
    """The reason for node keys, and what they stop."""
    service, token = gateways['simple'], gateways['simple'].mint()

    async def shown_to_member(server_key=None, key=None):
        async with Member(service, key) as member:
            client = client_of(service, token=token, server_key=server_key)
            client.url = member.url
            with pytest.raises((Refused, websockets.ConnectionClosed)) as ended:
                await client.connect()
            return isinstance(ended.value, Refused) and ended.value.code, [one['credential'] for one in member.shown]

    _, shown = run(shown_to_member())
    assert shown == [token]
    assert run(shown_to_member(pairs[0][2])) == ('E_SIG', [])
    # With the key's name, which everybody can know, beside the proof of the secret.
    name = node_key.holder.jwk_of(serialization.load_pem_public_key(open(pairs[0][1], 'rb').read()))
    assert run(shown_to_member(pairs[0][2], name)) == ('E_SIG', [])


def test_the_command_line_shows_a_member_nothing(gateways, pairs, tmp_path):
    service = gateways['simple']

    async def work(*flags):
        async with Member(service) as member:
            done = await asyncio.to_thread(service.run, 'list', '--set', f'SCP_SERVER_URL={member.url}', *flags, check=False)
            return done.returncode, len(member.shown)

    assert run(work()) == (1, 1)
    assert run(work('--server-key', pairs[0][2])) == (1, 0)


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
@pytest.mark.parametrize('left', [['hmac'], ['hmac', 'none'], ['none']], ids=str)
def test_taking_the_key_out_of_hello_ends_the_handshake(gateways, pairs, mode, left):
    """By somebody on the way who has the secret as well: server and client are members."""
    edit = editor('client', lambda p: p.update(proofs=left))
    outcome, sent = run(met(gateways[mode], edit, raw_of(gateways[mode], server_key=pairs[0][2])))
    assert outcome == ('E_SHAPE' if left == ['none'] else 'E_SIG') and len(sent) == 1


@pytest.mark.parametrize('change', [
    lambda p: p.update(node_key={**p['node_key'], 'x': keys.b64(bytes(32))}), lambda p: p.pop('node_key'), lambda p: p.update(node_id='node-x'),
    lambda p: p['proof'].update(kind='hmac', v=keys.b64(bytes(32))), lambda p: p.update(eph_s=keys.b64(keys.make_share('X25519')[1])),
], ids=['another key', 'no key', 'another node', 'another kind', 'a share of the attacker'])
def test_a_changed_welcome_is_refused(gateways, pairs, change):
    outcome, sent = run(met(gateways['simple'], editor('server', change), raw_of(gateways['simple'], server_key=pairs[0][2])))
    assert outcome == 'E_SIG' and len(sent) == 1


def test_who_passes_the_proof_on_cannot_sign_what_follows(gateways, pairs):
    """Suite NONE on this machine: whoever took the port sees every byte, and has no key of the session."""
    service = gateways['simple']
    for edit, outcome in [(lambda side, index, data: data, 'connected'), (forge, 'E_SIG')]:
        client = raw_of(service, server_key=pairs[0][2])
        assert run(met(service, edit, client))[0] == outcome


def forge(side, index, data):
    """A ready in the name of the server, under the keys that everybody could make without a share."""
    if side != 'server' or index != 1:
        return data
    ready = parse(data)
    ready['p']['scopes'] = ['admin:session']
    ready.pop('sig')
    made = keys.schedule(bytes(32), b'', keys.make_psk(b'', b''))
    value = keys.signature(made['s2c sig'], bytes(32), canonical(ready))
    return canonical({**ready, 'sig': {'alg': 'HS256', 'kid': 's', 'v': keys.b64(value)}}).decode()
