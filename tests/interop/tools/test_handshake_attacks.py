"""Somebody on the way changes the handshake: neither side goes on. docs/wire-3.0.md, section 4."""
import asyncio
import json
import secrets

import pytest
from raw import CLOSE, Raw, raw_of, run
from scp import Refused
from scp.canonical import canonical, parse
from scp.keys import api_key_credential, b64, make_share, unb64
from tool_stack.meddler import Meddler

TWO_SUITES = ('X25519_A256GCM_S256', 'P256_A256GCM_S256')


def flipped(text):
    return b64(bytes([unb64(text)[0] ^ 1]) + unb64(text)[1:])


def other_shares(shares):
    return {group: b64(make_share(group)[1]) for group in shares}


# What is changed in hello on its way: name, change of the payload, modes it applies to.
HELLO = [
    ('another version beside', lambda p: p.update(versions=['2.0', '3.0'])),
    ('a nonce with one bit flipped', lambda p: p.update(nonce_c=flipped(p['nonce_c']))),
    ('the name of the client', lambda p: p['client'].update(name='other')),
    ('another channel beside', lambda p: p.update(channels=['none', 'tls-exporter'])),
    ('other proofs', lambda p: p.update(proofs=['hmac', 'none'])),
    ('suites in another order', lambda p: p.update(suites=p['suites'][::-1])),
    ('the best suite left out', lambda p: p.update(suites=p['suites'][1:])),
    ('a share of the attacker', lambda p: p.update(eph_c=other_shares(p['eph_c']))),
    ('an unknown member', lambda p: p.update(extra=1)),
]
WELCOME = [
    ('a lower version', lambda p: p.update(version='2.0')),
    ('a higher version', lambda p: p.update(version='3.1')),
    ('a mode', lambda p: p.update(mode='basic')),
    ('a suite that was not offered', lambda p: p.update(suite='X25519_C20P_S256')),
    ('no encryption', lambda p: p.update(suite='NONE')),
    ('a nonce with one bit flipped', lambda p: p.update(nonce_s=flipped(p['nonce_s']))),
    ('another node', lambda p: p.update(node_id='node-x')),
    ('another cluster', lambda p: p.update(cluster='cluster-x')),
    ('fewer methods', lambda p: p.update(auth=['jwt'])),
    ('more limits', lambda p: p['limits'].update(message_bytes=1 << 30)),
    ('another channel', lambda p: p.update(channel='tls-exporter')),
    ('no proof', lambda p: p.pop('proof')),
    ('a proof of kind none', lambda p: p.update(proof={'kind': 'none'})),
    ('a wrong proof', lambda p: p['proof'].update(v=b64(bytes(32)))),
    ('a key beside the proof of the secret', lambda p: p.update(node_key={'crv': 'Ed25519', 'kty': 'OKP', 'x': b64(bytes(32))})),
    ('a share of the attacker', lambda p: p.update(eph_s=b64(make_share('X25519')[1]))),
    ('a share of nothing', lambda p: p.update(eph_s=b64(bytes(32)))),
    ('an unknown member', lambda p: p.update(extra=1)),
]


def editor(side, change):
    """Changes the first message of `side`; all else passes."""
    def edit(of, index, data):
        if of != side or index != 0:
            return data
        message = parse(data)
        change(message['p'])
        return canonical(message).decode()

    return edit


def applies(name, mode):
    return mode == 'encrypted' or not any(word in name for word in ('suite', 'encryption'))


async def met(service, edit, client, tls=None):
    """What `client` gets from the changed handshake, and what it sent."""
    async with Meddler(service, edit, tls) as meddler:
        client.url = meddler.url
        try:
            await client.connect()
            outcome = 'connected'
            await client.disconnect()
        except Refused as refused:
            outcome = refused.code
        return outcome, [data for side, data in meddler.seen if side == 'client']


def options(mode):
    return {'suites': TWO_SUITES} if mode == 'encrypted' else {}


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
def test_nothing_changed_passes(services, mode):
    outcome, _ = run(met(services[mode], lambda side, index, data: data, raw_of(services[mode], **options(mode))))
    assert outcome == 'connected'


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
@pytest.mark.parametrize('side, name, change', [('client', *one) for one in HELLO] + [('server', *one) for one in WELCOME],
                         ids=lambda value: value if isinstance(value, str) else '')
def test_the_client_refuses_and_shows_no_credential(services, mode, side, name, change):
    if not applies(name, mode):
        return
    outcome, sent = run(met(services[mode], editor(side, change), raw_of(services[mode], **options(mode))))
    assert outcome in ('E_SIG', 'E_VERSION', 'E_SHAPE')
    assert len(sent) == 1, 'nothing after hello'


class Gullible(Raw):
    """Believes what it is told, as an attacker's victim with a bug would; the server must see it."""

    def _check_proof(self, welcome, th1):
        return self.psks[0]


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
@pytest.mark.parametrize('side, name, change', [('client', *one) for one in HELLO] + [('server', *one) for one in WELCOME if one[0] in (
    'a nonce with one bit flipped', 'more limits', 'a share of the attacker', 'an unknown member', 'a wrong proof')],
    ids=lambda value: value if isinstance(value, str) else '')
def test_the_server_refuses_what_was_changed(services, mode, side, name, change):
    if not applies(name, mode):
        return
    service = services[mode]
    client = Gullible(service.url, mode, secret_key=service.secret('secret_key'), kdf_salt=service.secret('kdf_salt'),
                      api_key=service.secret('api_key'), **options(mode))
    outcome, sent = run(met(service, editor(side, change), client))
    if name == 'a wrong proof':  # it is no part of the transcript
        assert outcome == 'connected'
    else:
        assert outcome == 'E_SIG' and len(sent) == 2


@pytest.mark.parametrize('mode', ['basic', 'enterprise'])
def test_a_relay_with_a_trusted_certificate_is_seen(services, authority, mode):
    """It has a certificate that the client trusts, but the two ends see different ones."""
    service = services[mode]
    tls = authority.server_tls(f'relay-{mode}')
    outcome, sent = run(met(service, lambda side, index, data: data, raw_of(service), tls))
    assert outcome == 'E_SIG' and len(sent) == 1


@pytest.mark.parametrize('name, edit', [
    ('the client\'s hello as welcome', lambda seen: seen[0]),
    ('an err', lambda seen: json.dumps({**json.loads(seen[0]), 't': 'err', 'p': {'code': 'E_AUTH', 'num': 4010, 'msg': 'no'}})),
    ('an evt', lambda seen: json.dumps({**json.loads(seen[0]), 't': 'evt', 'seq': 0, 'aud': ''})),
    ('nonsense', lambda seen: '{'),
    ('a record', lambda seen: b'S\x01' + bytes(60)),
], ids=lambda value: value if isinstance(value, str) else '')
def test_the_client_takes_nothing_else_for_welcome(services, name, edit):
    first = []

    def answer(side, index, data):
        first.append(data)
        return edit(first) if side == 'server' else data

    outcome, sent = run(met(services['simple'], answer, raw_of(services['simple'])))
    assert outcome in ('E_SHAPE', 'E_STATE', 'E_AUTH', 'E_REPLAY') and len(sent) == 1


def test_the_servers_own_messages_sent_back(service):
    """A reflected message is of the wrong direction: by its type, its key, its counter."""
    async def work():
        client = await raw_of(service).to('READY')
        try:
            await client.send(client.request('session.ping'))
            answer = await asyncio.wait_for(client.socket.recv(), 10)
            await client.socket.send(answer)
            try:
                while True:
                    await asyncio.wait_for(client.socket.recv(), 10)
            except Exception:  # noqa: BLE001 the connection ends, or else the time is over
                return client.socket.close_code
        finally:
            await client.close()

    assert run(work()) in ((4409,) if service.mode == 'encrypted' else (4400,))


def test_welcome_sent_back(service):
    async def work():
        client = await raw_of(service).to('CONNECTED')
        try:
            await client.socket.send(client._make_hello())
            welcome = await client._receive()
            client._take_welcome(welcome)
            await client.socket.send(welcome)
            return await client.refusal()
        finally:
            await client.close()

    # Where messages are signed, that there is no signature comes first (section 3.2).
    assert run(work()) == ('E_STATE' if service.mode == 'encrypted' else 'E_SHAPE', 4400)


async def greeted(service, own=None, **changes):
    """The server's answer to a hello with `changes`, and the close code. `own` are changes of the client."""
    client = await raw_of(service, **(own or {})).to('CONNECTED')
    try:
        await client.socket.send(client._make_hello(**changes))
        return await client.refusal()
    finally:
        await client.close()


P256_ORDER_SHARE = b'\x04' + b'\xff' * 64  # not below the field's prime


@pytest.mark.parametrize('suite, group, share', [
    ('NONE', 'X25519', bytes(32)), ('NONE', 'X25519', b'\x09' * 31), ('NONE', 'P256', b'\x04' + b'\x01' * 64),
    ('X25519_A256GCM_S256', 'X25519', bytes(32)),
    ('X25519_A256GCM_S256', 'X25519', b'\x01' + bytes(31)),  # order 1
    ('X25519_A256GCM_S256', 'X25519', bytes.fromhex('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800')),  # order 8
    ('X25519_A256GCM_S256', 'X25519', bytes.fromhex('ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f')),  # p - 1
    ('X25519_A256GCM_S256', 'X25519', bytes.fromhex('edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f')),  # p
    ('X25519_A256GCM_S256', 'X25519', b'\x09' * 31), ('X25519_A256GCM_S256', 'X25519', b'\x09' * 33), ('X25519_A256GCM_S256', 'X25519', b''),
    ('P256_A256GCM_S256', 'P256', b'\x04' + bytes(64)), ('P256_A256GCM_S256', 'P256', b'\x04' + b'\x01' * 64),
    ('P256_A256GCM_S256', 'P256', P256_ORDER_SHARE), ('P256_A256GCM_S256', 'P256', b'\x02' + b'\x01' * 32),
    ('P256_A256GCM_S256', 'P256', b'\x00'), ('P256_A256GCM_S256', 'P256', b'\x06' + b'\x01' * 64), ('P256_A256GCM_S256', 'P256', b'\x04' + b'\x01' * 63),
], ids=lambda value: value.hex()[:12] if isinstance(value, bytes) else value)
def test_shares_that_are_no_point(services, suite, group, share):
    service = services['simple' if suite == 'NONE' else 'encrypted']
    assert run(greeted(service, {'suites': (suite,)}, eph_c={group: b64(share)})) == ('E_SHAPE', 4400)


@pytest.mark.parametrize('changes, code', [
    ({'channels': []}, 'E_SHAPE'), ({'channels': 'none'}, 'E_SHAPE'),
    ({'proofs': []}, 'E_SHAPE'), ({'proofs': ['ps256']}, 'E_SHAPE'), ({'proofs': ['hmac'] * 5}, 'E_SHAPE'), ({'proofs': 'hmac'}, 'E_SHAPE'),
    ({'versions': ['2.0']}, 'E_SHAPE'), ({'versions': []}, 'E_SHAPE'), ({'versions': ['3']}, 'E_SHAPE'), ({'versions': ['3.0'] * 17}, 'E_SHAPE'),
    ({'suites': []}, 'E_SHAPE'), ({'suites': ['NULL_NULL_NULL']}, 'E_SHAPE'), ({'suites': ['X'] * 9}, 'E_SHAPE'),
    ({'nonce_c': 'AAAA'}, 'E_SHAPE'), ({'nonce_c': 'A' * 43 + '='}, 'E_SHAPE'), ({'nonce_c': 7}, 'E_SHAPE'),
    ({'client': {'name': 'x' * 65, 'version': '1'}}, 'E_SHAPE'), ({'client': 'x'}, 'E_SHAPE'), ({'want_mode': ''}, 'E_AUTH'), ({'want_mode': 'none'}, 'E_AUTH'), ({'want_mode': 0}, 'E_SHAPE'),
    ({'eph_c': []}, 'E_SHAPE'),
], ids=str)
def test_hellos_that_break_a_rule(service, changes, code):
    assert run(greeted(service, **changes)) == (code, CLOSE[code])


def test_a_channel_of_another_transport(services):
    assert run(greeted(services['basic'], channels=['none'])) == ('E_SHAPE', 4400)
    assert run(greeted(services['basic'], channels=['tls-unique'])) == ('E_SHAPE', 4400)
    for mode in ('simple', 'encrypted'):
        assert run(greeted(services[mode], channels=['tls-exporter', 'tls-server-end-point'])) == ('E_SHAPE', 4400)


def test_no_version_in_common(service):
    async def work():
        client = await raw_of(service).to('CONNECTED')
        try:
            client._make_hello(versions=['2.7', '4.1'])
            await client.send({**client.asked, 'v': '4.1'})
            answer = await client.receive()
            return answer['p'], await client.refusal()
        finally:
            await client.close()

    error, (_, close) = run(work())
    assert error['code'] == 'E_VERSION' and error['data']['versions'] == ['3.0'] and close == 4426


@pytest.mark.parametrize('want', ['simple', 'basic', 'encrypted', 'enterprise'])
def test_another_mode_than_the_servers(service, want):
    if want != service.mode:
        assert run(greeted(service, want_mode=want)) == ('E_AUTH', 4401)


def test_plain_suite_in_mode_encrypted(services):
    async def work():
        client = await raw_of(services['encrypted']).to('CONNECTED')
        try:
            await client.socket.send(client._make_hello(suites=['NONE'], eph_c={}))
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) == ('E_SHAPE', 4400)


async def answered_auth(client, **members):
    """The refusal of an auth with `members` in place of its own."""
    try:
        await client.to('NEGOTIATED')
        auth = client._make_auth()
        await client.send({**auth, 'p': {**auth['p'], **members}})
        return await client.refusal()
    finally:
        await client.close()


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
def test_an_api_key_credential_of_another_connection(services, mode):
    service = services[mode]

    class Thief(Raw):
        def _credential(self):
            return 'api_key', api_key_credential(self.api_key, stolen)

    stolen = secrets.token_bytes(32)
    assert run(answered_auth(Thief(service.url, mode, secret_key=service.secret('secret_key'), kdf_salt=service.secret('kdf_salt'),
                                   api_key=service.secret('api_key')))) == ('E_AUTH', 4401)


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
def test_the_api_key_itself_is_no_credential(services, mode):
    service = services[mode]

    class Naive(Raw):
        def _credential(self):
            return 'api_key', self.api_key

    assert run(answered_auth(Naive(service.url, mode, secret_key=service.secret('secret_key'), kdf_salt=service.secret('kdf_salt'),
                                   api_key=service.secret('api_key')))) == ('E_AUTH', 4401)


def test_a_confirm_of_another_connection(service):
    """A token that was captured with its confirm is of no use without the keys of this connection."""
    async def work():
        first, second = raw_of(service), raw_of(service)
        try:
            await first.to('NEGOTIATED')
            captured = first._make_auth()['p']
        finally:
            await first.close()
        return await answered_auth(second, **captured)

    assert run(work()) == ('E_SIG', 4401)


@pytest.mark.parametrize('confirm', ['', b64(bytes(32)), b64(bytes(31)), 7], ids=str)
def test_wrong_confirms(service, confirm):
    code, close = run(answered_auth(raw_of(service), confirm=confirm))
    assert (code, close) in ([('E_SIG', 4401)] if confirm == b64(bytes(32)) else [('E_SHAPE', 4400), ('E_SIG', 4401)])


@pytest.mark.parametrize('method', ['none', 'password', 'mtls', 'node', ''])
def test_methods_that_are_not_offered(service, method):
    code, close = run(answered_auth(raw_of(service), method=method))
    # The method is under the confirm, so that a change of it alone is E_SIG too.
    assert (code, close) in [('E_AUTH', 4401), ('E_SIG', 4401), ('E_SHAPE', 4400)]


@pytest.mark.parametrize('method', ['none', 'password', 'mtls', 'node'])
def test_methods_that_are_not_offered_with_a_right_confirm(service, method):
    client = raw_of(service)
    client._credential = lambda: (method, '')

    async def work():
        await client.to('NEGOTIATED')
        client.methods.append(method)
        try:
            await client.send(client._make_auth())
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) in [('E_AUTH', 4401), ('E_SHAPE', 4400)]


def test_credentials_in_the_address_count_for_nothing(services):
    """A token in a query string ends up in logs: it opens nothing, and does not reach ours."""
    service = services['basic']
    token = service.mint()

    async def work():
        client = raw_of(service, token='')
        client.url += f'?access_token={token}&token={token}'
        try:
            await client.dial(additional_headers={'Authorization': 'Bearer ' + token, 'Cookie': 'token=' + token})
            await client.socket.send(client._make_hello())
            client._take_welcome(await client._receive())
            client._credential = lambda: ('jwt', '')
            await client.send(client._make_auth())
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) in [('E_AUTH', 4401), ('E_SHAPE', 4400)]
    assert token not in service.log.read_text()


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
@pytest.mark.parametrize('name, change', [('another session', lambda p: p.update(session_id='0' * 26)),
                                          ('more scopes', lambda p: p.update(scopes=['admin:audit'])), ('no confirm', lambda p: p.pop('confirm'))],
                         ids=lambda value: value if isinstance(value, str) else '')
def test_a_changed_ready_is_refused(services, mode, name, change):
    """Signed or sealed, so that the change is seen before its confirm is."""
    def edit(side, index, data):
        if side != 'server' or index != 1:
            return data
        if isinstance(data, bytes):
            return data[:-1] + bytes([data[-1] ^ 1])
        message = parse(data)
        change(message['p'])
        return canonical(message).decode()

    outcome, _ = run(met(services[mode], edit, raw_of(services[mode])))
    assert outcome == 'E_SIG'


def test_shares_are_fresh_for_each_session(services, make_service):
    """With forward secrecy asked for and not: no share and no nonce of the server comes twice."""
    for service in (*services.values(), make_service('encrypted', crypto__perfect_forward_secrecy=False)):
        async def welcome(service=service):
            client = await raw_of(service).to('CONNECTED')
            await client.socket.send(client._make_hello())
            text = await client._receive()
            await client.close()
            return parse(text)['p']

        seen = [run(welcome()) for _ in range(4)]
        assert len({one['eph_s'] for one in seen}) == 4 and len({one['nonce_s'] for one in seen}) == 4


@pytest.mark.parametrize('name', ['secret_key', 'secret_key_previous', 'kdf_salt', 'api_key'])
@pytest.mark.parametrize('weak', ['x', 'changeme-changeme-changeme-changeme', 'a' * 40, 'abcdefghijklmnopqrstuvwxyz0123456789', 'abcd1234' * 5])
def test_weak_secrets_are_refused_by_the_library(name, weak):
    with pytest.raises(ValueError, match=f'^{name}: ') as refused:
        Raw('ws://127.0.0.1:1/scp/v3', 'encrypted', **{name: weak})
    assert weak not in str(refused.value) or len(weak) == 1


def test_strong_secrets_are_taken_by_the_library():
    for size in (24, 32, 48):
        made = {name: secrets.token_urlsafe(size) for name in ('secret_key', 'kdf_salt', 'api_key')}
        Raw('ws://127.0.0.1:1/scp/v3', 'encrypted', **made)
        with pytest.raises(ValueError, match='api_key: must have nothing in common with secret_key'):
            Raw('ws://127.0.0.1:1/scp/v3', 'encrypted', **{**made, 'api_key': made['secret_key']})
