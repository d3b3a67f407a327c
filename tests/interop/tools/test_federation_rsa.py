"""Nodes whose keys are of RSA: forwarding proofs are then RSA-PSS signatures, and nothing else is one. Specification, section 5.2.4;
docs/wire-3.0.md, section 18."""
import json

import pytest
from bridged import await_tools, run
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from federated import (
    PSS,
    FakeNode,
    Federation,
    Signer,
    answer_of,
    await_call,
    calls_of,
    invoke,
    jws,
    node_client,
    record_of,
)
from scp import Refused, keys
from stack import ports
from test_modes import session
from tool_clients import client_of
from tool_stack.authority import make_rsa

SQL = {'sql': 'SELECT 1'}


@pytest.mark.parametrize('mode', ['encrypted', 'basic'])
def test_two_nodes_call_each_other(tmp_path, authority, mode):
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-b'], 'node-b': ['node-a']}, mode=mode, kind='rsa')
    try:
        nodes.start()
        for node, other in (('node-a', 'node-b'), ('node-b', 'node-a')):
            token = nodes[node].mint(scopes=['cap:list', f'tool:invoke:{other}.sql_query'])
            answer = run(session(client_of(nodes[node], token=token), lambda client: invoke(client, f'{other}.sql_query', sql='SELECT 7')))
            assert answer['structured']['rows'] == [[7]]
            line = await_call(nodes[other], lambda one: one.get('way') == node, 'the record')
            assert line['principal'] == {'sub': 'alice', 'iss': f'node:{node}:{node}', 'method': 'node'}
    finally:
        nodes.stop()


def test_a_proof_is_a_pss_signature_by_the_key_of_its_node(tmp_path, authority):
    """As another program verifies it, that has nothing but the node's public key."""
    port, signer = ports.any_free(), Signer('node-x', key=make_rsa())
    made = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-x']}, mode='simple', kind='rsa',
                      strangers={'node-x': (f'ws://127.0.0.1:{port}', signer.write_public(tmp_path))})
    node = made['node-a']
    fake = FakeNode(signer, port, node.secret('secret_key'), node.secret('kdf_salt'), [record_of('echo.say')])
    fake.proves = None  # The handshake has no proof by such a key; the list of tools does.
    fake.forward = lambda link, message: link.answer(message, answer_of('done'))
    try:
        made.start()

        async def work(client):
            await await_tools(client, ['node-x.echo_say'])
            return [await client.invoke_tool('node-x.echo_say', word=word) for word in ('one', 'two')]

        assert [one['content'][0]['text'] for one in run(session(client_of(node), work))] == ['done'] * 2
    finally:
        made.stop()
        fake.stop()
    proofs = [message['p']['proofs'] for message in fake.asked if message['op'] == 'fed.forward']
    assert [len(one) for one in proofs] == [1, 1]
    public = serialization.load_pem_public_key(made.keys['node-a'][1].read_bytes())
    for (proof,) in proofs:
        head, body, value = proof.split('.')
        assert json.loads(keys.unb64(head)) == {'alg': 'PS256', 'typ': 'scp-fwd+jws', 'kid': 'node-a'}
        claims = json.loads(keys.unb64(body))
        assert (claims['iss'], claims['aud'], claims['tool']) == ('node-a', 'node-x', 'echo.say')
        public.verify(keys.unb64(value), f'{head}.{body}'.encode(), PSS, hashes.SHA256())
        with pytest.raises(InvalidSignature):
            public.verify(keys.unb64(value), f'{head}.{body}'.encode(), padding.PKCS1v15(), hashes.SHA256())


@pytest.fixture(scope='module')
def target(tmp_path_factory, authority):
    """node-b, which knows node-x, that is this test, by its RSA key."""
    folder = tmp_path_factory.mktemp('rsa')
    signer = Signer('node-x', key=make_rsa())
    made = Federation(folder, authority, {'node-b': []}, strangers={'node-x': ('-', signer.write_public(folder))}, kind='rsa')
    made.signer = signer
    yield made.start()
    made.stop()


class Other(Signer):
    """Signs by the key of node-x, and in another way."""

    def __init__(self, key, alg, sign):
        super().__init__('node-x', key=key)
        self.alg, self.way = alg, sign

    def sign(self, typ, claims, to):
        return jws(self.way, self.alg, typ, self.name, claims)


def forgers(target):
    key = target.signer.key
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    pkcs1 = lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA256())  # noqa: E731
    return {
        'another RSA key': Signer('node-x', key=make_rsa()), 'an Ed25519 key': Signer('node-x'),
        'the shared secret': Signer('node-x', (target['node-b'].secret('secret_key'), target['node-b'].secret('kdf_salt'))),
        'PKCS1 that says so': Other(key, 'RS256', pkcs1), 'PKCS1 that says PSS': Other(key, 'PS256', pkcs1),
        'HMAC by the public key': Other(key, 'HS256', lambda data: keys.hmac(public, data)), 'no signature': Other(key, 'none', lambda data: b''),
    }


def refusal(awaited):
    with pytest.raises(Refused) as caught:
        run(awaited)
    return caught.value.code


def test_only_a_pss_signature_by_the_registered_key_is_a_proof(target):
    node = target['node-b']

    def forwarded(signer):
        async def ask(client):
            proof = signer.forward_proof('node-b', client.session['session_id'], 'sql.query', SQL)
            return await client.forward('sql.query', SQL, [proof])

        return session(node_client(target.signer, node), ask)

    assert run(forwarded(target.signer))['structured']['rows'] == [[1]]
    before = len(calls_of(node, 'sql.query'))
    for name, signer in forgers(target).items():
        assert refusal(forwarded(signer)) == 'E_SIG', name
    allowed = [line for line in calls_of(node, 'sql.query')[before:] if line['decision']['verdict'] == 'allowed']
    assert not allowed


def test_only_a_pss_signature_by_the_registered_key_opens_a_link(target):
    for name, signer in forgers(target).items():
        assert refusal(session(node_client(signer, target['node-b']), lambda client: client.call('fed.caps', {}))) == 'E_AUTH', name
    assert run(session(node_client(target.signer, target['node-b']), lambda client: client.call('fed.caps', {})))['capabilities']
