"""Mode encrypted behind nginx, which ends TLS: what it sees, and what somebody in its place can do. docs/wire-3.0.md, sections 4.5
and 7."""
import asyncio
import ssl

import pytest
import websockets
from cut_proxy import CutProxy
from raw import run
from scp import Client, Refused
from test_node_keys import Member, command_line
from tool_clients import client_of
from tool_stack.meddler import Meddler
from tool_stack.terminator import Terminator
from typescript_client import TypescriptClient

# Base64 and masks do not matter: what is searched for is long, and both sides of each connection are kept as they pass.
CONTENT = 'nobody on the way may read this: ' + 'plaintext ' * 20
TEXT = b'nobody on the way may read this'


@pytest.fixture(scope='module')
def key(services, tmp_path_factory):
    """(private file, public file, thumbprint) of the node."""
    made = services['encrypted'].run_bare('keygen', 'ed25519', '--out', str(tmp_path_factory.mktemp('node') / 'node'))
    return made.stdout.split()


@pytest.fixture(scope='module')
def node(make_service, key):
    return make_service('encrypted', security__proof_signing_key_path=key[0])


def unmasked(seen):
    """The payloads of WebSocket frames among these bytes, under every mask that stands in them: clients mask what they send."""
    found = bytearray()
    for at in range(len(seen) - 6):
        if seen[at] in (0x81, 0x82) and seen[at + 1] & 0x80:
            length, start = seen[at + 1] & 0x7f, at + 2
            if length == 126:
                length, start = int.from_bytes(seen[at + 2:at + 4], 'big'), at + 4
            elif length == 127:
                continue
            mask = seen[start:start + 4]
            found += bytes(one ^ mask[index % 4] for index, one in enumerate(seen[start + 4:start + 4 + length]))
    return bytes(found)


@pytest.mark.parametrize('kind', [Client, TypescriptClient])
@pytest.mark.parametrize('pinned', [True, False], ids=['by the key', 'by the secret'])
def test_wss_to_nginx_and_ws_to_the_node(node, key, tmp_path, kind, pinned):
    async def work():
        async with CutProxy(node.port) as between:
            with Terminator(tmp_path, node.authority, between.port) as terminator:
                own = {'secret_key': '', 'kdf_salt': '', 'server_key': key[2]} if pinned else {}
                client = client_of(node, at(terminator.url, kind), **own)
                await client.connect()
                written = await client.invoke_tool('files.write', path='notes/secret.txt', content=CONTENT, mode='replace')
                read = await client.invoke_tool('files.read', path='notes/secret.txt')
                await client.disconnect()
                return written, read, bytes(between.seen)

    written, read, seen = run(work())
    assert not written['is_error'] and CONTENT in str(read)
    passed = seen + unmasked(seen)
    assert b'session.hello' in passed and b'"channel":"none"' in passed, 'the handshake is text'
    assert TEXT not in passed and b'files.read' not in passed and node.secret('api_key').encode() not in passed


def at(url, kind):
    """`kind`, which dials `url` whatever it is told."""
    return lambda _, mode, **options: kind(url, mode, **options)


def test_the_search_finds_what_is_not_encrypted(services, tmp_path):
    """The same in mode simple, on the plain side."""
    service = services['simple']

    async def work():
        async with CutProxy(service.port) as between:
            client = client_of(service, at(f'ws://127.0.0.1:{between.port}/scp/v3', Client))
            await client.connect()
            await client.invoke_tool('files.write', path='notes/secret.txt', content=CONTENT, mode='replace')
            await client.disconnect()
            return bytes(between.seen)

    assert TEXT in unmasked(run(work()))


def test_the_command_line_through_nginx(node, key, tmp_path):
    with Terminator(tmp_path, node.authority, node.port) as terminator:
        settings = {'server_url': terminator.url, 'security.ca_cert_path': str(node.authority.roots)}
        called = command_line(node, tmp_path, key[2], settings)
        assert called.returncode == 0 and 'Hello from the file tool.' in called.stdout, called.stderr
        # TLS is still what it was: a certificate that nobody vouches for is refused before a word is said.
        stranger = command_line(node, tmp_path, key[2], {'server_url': terminator.url})
        assert stranger.returncode == 1 and 'certificate' in stranger.stderr


def test_a_bound_mode_behind_nginx_is_refused(services, tmp_path):
    """Its messages are only signed: nginx could read them all, so its client wants the server's own TLS."""
    service = services['simple']
    with Terminator(tmp_path, service.authority, service.port) as terminator:
        with pytest.raises(Refused) as refused:
            run(client_of(service, at(terminator.url, Client)).connect())
    assert refused.value.code == 'E_SHAPE'


# ---- Somebody in the place of nginx: it has a certificate that the client trusts, and is a member of the group. ----

def altered(data):
    return data[:-1] + bytes([data[-1] ^ 1])


ATTACKS = {
    'a changed record of the client': ('client', 2, lambda data: altered(data), 'E_SIG'),
    'a record of the client twice': ('client', 2, lambda data: [data, data], 'E_REPLAY'),
    'a record of the client left out': ('client', 2, lambda data: [], 'E_REPLAY'),
    'text in place of a record': ('client', 2, lambda data: '{}', 'E_STATE'),
    'a changed record of the server': ('server', 2, lambda data: altered(data), None),
    'a record of the server twice': ('server', 2, lambda data: [data, data], None),
}


@pytest.mark.parametrize('name', ['nothing', *ATTACKS])
def test_who_ends_tls_can_neither_change_nor_repeat(node, key, name):
    side, at_index, change, code = ATTACKS.get(name, ('client', -1, None, None))

    def edit(of, index, data):
        return change(data) if of == side and index == at_index else data

    async def work():
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*node.authority.server('terminator'))
        async with Meddler(node, edit, tls) as meddler:
            client = client_of(node, at(meddler.url, Client), secret_key='', kdf_salt='', server_key=key[2])
            await client.connect()
            first = asyncio.ensure_future(client.call('session.ping', {}))
            second = asyncio.ensure_future(client.call('session.ping', {}))
            answers = await asyncio.gather(first, second, return_exceptions=True)
            await client.socket.close()
            await client.reader
            return answers, client.socket.close_code

    answers, closed = run(work())
    if name == 'nothing':
        assert answers == [{}, {}]
        return
    refused = [one for one in answers if isinstance(one, Exception)]
    assert refused and closed == 4400  # the client ends it, by the server's err or by its own check
    assert code is None or code in [getattr(one, 'code', None) for one in refused]


def test_who_ends_tls_cannot_pose_to_who_knows_the_key(node, key):
    """It puts its own share in place of the node's, and proves the secret of the group, which it has."""
    async def read_by_it(**known):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*node.authority.server('poser'))
        async with Member(node, tls=tls) as member:
            with pytest.raises((Refused, websockets.ConnectionClosed)) as ended:
                await client_of(node, at(member.url, Client), **known).connect()
            return isinstance(ended.value, Refused) and ended.value.code, [one['method'] for one in member.shown]

    assert run(read_by_it()) == (False, ['api_key'])
    assert run(read_by_it(server_key=key[2])) == ('E_SIG', [])
