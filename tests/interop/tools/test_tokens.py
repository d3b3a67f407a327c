"""Tokens that are forged, bent, borrowed or old. docs/wire-3.0.md, section 6."""
import asyncio
import json
import time

import pytest
from claim_sets import from_now, resolved
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from raw import raw_of, run
from scp import Refused
from scp.keys import b64, hkdf, hmac, unb64
from tool_stack.authority import make_rsa


def client_key(service, label=b'scp3 client jwt'):
    return hkdf(service.secret('jwt_secret').encode(), service.secret('kdf_salt').encode(), label, 32)


def claims_for(service, **changes):
    now = int(time.time())
    claims = {'iss': 'node-b', 'aud': 'cluster-1', 'sub': 'mallory', 'iat': now, 'nbf': now, 'exp': now + 300, 'jti': 'j-1',
              'scope': 'cap:list tool:invoke:files.read', **changes}
    return resolved(claims, now)


def hs256(service, header=None, key=None, **changes):
    """A client token, forged with the node's own secret: only what `header` and `changes` say is wrong."""
    head = {'alg': 'HS256', 'typ': 'scp-client+jwt', **(header or {})}
    head = {name: value for name, value in head.items() if value is not None}
    body = b64(json.dumps(head).encode()) + '.' + b64(json.dumps(claims_for(service, **changes)).encode())
    return body + '.' + b64(hmac(key or client_key(service), body.encode()))


async def opened(service, token, **options):
    client = raw_of(service, token=token, **options)
    await client.connect()
    try:
        return client.session
    finally:
        await client.close()


def refusal(service, token):
    with pytest.raises(Refused) as refused:
        run(opened(service, token))
    return refused.value.code


@pytest.fixture(params=['simple', 'basic', 'encrypted'])
def taking(request, services):
    """A service that takes client tokens."""
    return services[request.param]


def test_a_token_with_the_right_key_opens(taking):
    assert run(opened(taking, hs256(taking)))['principal'] == {'sub': 'mallory', 'iss': 'node-b'}


HEADERS = [
    ('alg none', {'alg': 'none'}), ('alg NONE', {'alg': 'nOnE'}), ('alg HS512', {'alg': 'HS512'}), ('alg RS256', {'alg': 'RS256'}), ('no alg', {'alg': None}),
    ('another typ', {'typ': 'JWT'}), ('no typ', {'typ': None}), ('typ of a session token', {'typ': 'scp-session+jwt'}),
    ('typ of an access token', {'typ': 'at+jwt'}), ('crit', {'crit': ['exp']}), ('empty crit', {'crit': []}), ('jku', {'jku': 'https://evil.example/k'}),
    ('jwk', {'jwk': {'kty': 'oct', 'k': 'AAAA'}}), ('x5u', {'x5u': 'https://evil.example/c'}), ('x5c', {'x5c': ['AAAA']}),
    ('kid as a path', {'kid': '../../../../dev/null'}), ('kid as SQL', {'kid': "' OR 1=1 --"}), ('kid too long', {'kid': 'k' * 65}),
    ('empty kid', {'kid': ''}), ('kid as a number', {'kid': 7}),
]
CLAIMS = [
    ('expired', {'exp': from_now(-120), 'iat': from_now(-300), 'nbf': from_now(-300)}, 'E_EXPIRED'), ('not yet', {'nbf': from_now(600)}, 'E_AUTH'),
    ('another audience', {'aud': 'cluster-2'}, 'E_AUTH'), ('no audience', {'aud': None}, 'E_AUTH'), ('another issuer', {'iss': 'node-x'}, 'E_AUTH'),
    ('no issuer', {'iss': None}, 'E_AUTH'), ('no exp', {'exp': None}, 'E_AUTH'), ('exp as a text', {'exp': lambda now: str(now + 60)}, 'E_AUTH'),
    ('exp as a fraction', {'exp': from_now(60.5)}, 'E_AUTH'), ('exp beyond all', {'exp': 1e400}, 'E_AUTH'), ('a life of more than a day', {'exp': from_now(90_000)}, 'E_AUTH'),
    ('no subject', {'sub': None}, 'E_AUTH'), ('empty subject', {'sub': ''}, 'E_AUTH'), ('subject as a number', {'sub': 5}, 'E_AUTH'),
    ('scope as a list', {'scope': ['cap:list']}, 'E_AUTH'), ('no jti', {'jti': None}, 'E_AUTH'),
]


@pytest.mark.parametrize('name, header', HEADERS, ids=lambda value: value if isinstance(value, str) else '')
def test_headers_that_are_refused(taking, name, header):
    assert refusal(taking, hs256(taking, header)) == 'E_AUTH'


@pytest.mark.parametrize('name, changes, code', CLAIMS, ids=lambda value: value if isinstance(value, str) else '')
def test_claims_that_are_refused(services, name, changes, code):
    assert refusal(services['basic'], hs256(services['basic'], **changes)) == code


def test_bent_tokens_are_refused(services):
    service = services['basic']
    good = hs256(service)
    head, body, sig = good.split('.')
    other = hs256(service, scope='cap:list admin:audit')
    bent = {
        'without a signature': f'{head}.{body}.', 'in two parts': f'{head}.{body}', 'in four parts': good + '.x',
        'with the claims of another': f'{head}.{other.split(".")[1]}.{sig}', 'with a bit flipped': good[:-2] + ('A' if good[-2] != 'A' else 'B') + good[-1],
        'padded': good + '=', 'with white space': ' ' + good, 'with a line end': good + '\n', 'in standard base64': good.replace('-', '+').replace('_', '/') + '+',
        'of another secret': hs256(service, key=b'k' * 32), 'of the session tokens\' key': hs256(service, key=client_key(service, b'scp3 session jwt')),
        'of the secret itself': hs256(service, key=service.secret('jwt_secret').encode()), 'over 8 KiB': hs256(service, scope='cap:list ' + 'x' * 9000),
        'a member twice': b64(b'{"alg":"HS256","alg":"HS256","typ":"scp-client+jwt"}') + '.' + body + '.' + sig, 'empty': '.', 'dots': '..',
    }
    for name, token in bent.items():
        assert refusal(service, token) in ('E_AUTH', 'E_SHAPE'), name


def test_a_session_token_is_no_client_token(taking):
    async def work():
        return (await opened(taking, hs256(taking)))['session_token']

    token = run(work())
    header = json.loads(unb64(token.split('.')[0]))
    claims = json.loads(unb64(token.split('.')[1]))
    assert header['typ'] == 'scp-session+jwt' and claims['cnf']['scp_th'] and claims['sid'] and claims['mode'] == taking.mode
    assert claims['exp'] <= time.time() + 331, 'it outlives the credential by its leeway and no more'
    assert refusal(taking, token) == 'E_AUTH'


def test_a_client_token_is_no_access_token(services):
    assert refusal(services['enterprise'], hs256(services['enterprise'])) == 'E_AUTH'


def test_a_token_of_another_cluster_or_node(services, make_service):
    other = make_service('basic', cluster__name='cluster-2', jwt_secret=services['basic'].secret('jwt_secret'),
                         kdf_salt=services['basic'].secret('kdf_salt'), secret_key=services['basic'].secret('secret_key'))
    assert refusal(other, services['basic'].mint()) == 'E_AUTH'
    assert run(opened(other, other.mint()))['principal']['sub'] == 'alice'


@pytest.mark.parametrize('tool, arguments', [('files.list', {'path': 'notes'}), ('sql.query', {'sql': 'SELECT 1'}), ('files.write', {
    'path': 'notes/n.txt', 'content': 'x', 'mode': 'create'}), ('admin.secret', {})])
def test_a_scope_for_one_tool_is_for_no_other(taking, tool, arguments):
    async def work():
        client = raw_of(taking, token=hs256(taking, scope='tool:invoke:files.read'))
        await client.connect()
        try:
            assert not (await client.invoke_tool('files.read', path='notes/welcome.txt'))['is_error']
            await client.invoke_tool(tool, **arguments)
        finally:
            await client.close()

    with pytest.raises(Refused) as refused:
        run(work())
    # Not told apart from a tool that does not exist.
    assert refused.value.code == 'E_TOOL'


def test_describe_alone_does_not_invoke(taking):
    async def work():
        client = raw_of(taking, token=hs256(taking, scope='cap:list tool:describe:files.*'))
        await client.connect()
        try:
            assert {one['id'].split('.')[0] for one in await client.list_capabilities()} == {'files'}
            await client.invoke_tool('files.read', path='notes/welcome.txt')
        finally:
            await client.close()

    with pytest.raises(Refused) as refused:
        run(work())
    assert refused.value.code == 'E_SCOPE' and refused.value.data == {'scope': 'tool:invoke:files.read'}


@pytest.mark.parametrize('scope', ['tool:invoke:*', 'tool:invoke:*.*', 'tool:*', '*', 'tool:invoke:files', 'tool:invoke:FILES.READ', 'tool:invoke:file.*',
                                   'tool:invoke:files.rea', 'tool:invoke:files.read.x', 'fed:forward', 'flow:run'])
def test_scopes_that_grant_nothing(services, scope):
    """There is no scope for all tools, and none by likeness."""
    async def work():
        client = raw_of(services['basic'], token=hs256(services['basic'], scope='cap:list ' + scope))
        await client.connect()
        try:
            return await client.list_capabilities(), await code_of(client.invoke_tool('files.read', path='notes/welcome.txt'))
        finally:
            await client.close()

    assert run(work()) == ([], 'E_TOOL')


@pytest.mark.parametrize('op, scope', [('cap.list', 'cap:list'), ('admin.audit.head', 'admin:audit'), ('admin.session.list', 'admin:session'),
                                       ('admin.session.close', 'admin:session'), ('admin.consent.list', 'admin:consent'), ('admin.consent.revoke', 'admin:consent')])
def test_operations_need_their_scope(taking, op, scope):
    async def work():
        client = raw_of(taking, token=hs256(taking, scope='tool:invoke:files.read'))
        await client.connect()
        try:
            await client.call(op, {})
        finally:
            await client.close()

    with pytest.raises(Refused) as refused:
        run(work())
    assert refused.value.code == 'E_SCOPE' and refused.value.data == {'scope': scope}


async def code_of(awaitable):
    try:
        await awaitable
    except Refused as refused:
        return refused.code
    return None


def test_a_token_that_ends_during_the_session(services):
    """Past its end nothing is done for it, until another for the same subject comes."""
    taking = services['encrypted']

    async def work():
        # Taken for 30 s after its end, since clocks differ, and no longer used after that either.
        now = int(time.time())
        client = raw_of(taking, token=hs256(taking, iat=now - 100, nbf=now - 100, exp=now - 28))
        await client.connect()
        client.refresher.cancel()  # refreshes are counted, and those below are to be answered
        try:
            assert client.session['expires_at'] <= (time.time() + 2) * 1000
            assert await code_of(client.call('cap.list', {})) is None
            await asyncio.sleep(max(0.0, client.session['expires_at'] / 1000 - time.time()) + 0.05)
            codes = [await code_of(client.call('cap.list', {})), await code_of(client.invoke_tool('files.read', path='notes/welcome.txt')),
                     await code_of(client.call('session.refresh', {})), await code_of(client.call('session.ping', {})),
                     await code_of(client.call('session.refresh', {'method': 'jwt', 'credential': hs256(taking, sub='eve')})),
                     await code_of(client.call('session.refresh', {'method': 'jwt', 'credential': 'x.y.z'})),
                     await code_of(client.call('session.refresh', {'method': 'oauth2', 'credential': hs256(taking)})),
                     await code_of(client.call('cap.list', {}))]
            fresh = await client.call('session.refresh', {'method': 'jwt', 'credential': hs256(taking)})
            assert fresh['expires_at'] > time.time() * 1000
            return codes, await code_of(client.call('cap.list', {}))
        finally:
            await client.close()

    codes, after = run(work())
    assert codes == ['E_EXPIRED', 'E_EXPIRED', 'E_EXPIRED', None, 'E_AUTH', 'E_AUTH', 'E_AUTH', 'E_EXPIRED']
    assert after is None


def test_a_refresh_takes_the_scopes_of_the_new_token(services):
    async def work():
        client = raw_of(services['basic'], token=hs256(services['basic'], scope='cap:list'))
        await client.connect()
        try:
            assert await code_of(client.invoke_tool('files.read', path='notes/welcome.txt')) == 'E_TOOL'
            await client.call('session.refresh', {'method': 'jwt', 'credential': hs256(services['basic'], scope='tool:invoke:files.read')})
            return await code_of(client.invoke_tool('files.read', path='notes/welcome.txt')), await code_of(client.call('cap.list', {}))
        finally:
            await client.close()

    assert run(work()) == (None, 'E_SCOPE')


@pytest.fixture(scope='module')
def federation(make_service, services, tmp_path_factory):
    """Two nodes with RS256: one mints, the other holds the public key alone."""
    folder = tmp_path_factory.mktemp('federation')
    services['basic'].run_bare('keygen', 'rsa', '--out', str(folder / 'issuer'))
    services['basic'].run_bare('keygen', 'rsa', '--out', str(folder / 'own'))
    issuer = make_service('basic', security__jwt_algorithm='rs256', security__jwt_private_key_path=str(folder / 'issuer.key'),
                          security__federation_issuer='federation-1', security__federation_audience='all-nodes', jwt_secret=None)
    verifier = make_service('basic', node_id='node-c', security__jwt_algorithm='rs256', security__jwt_private_key_path=str(folder / 'own.key'),
                            security__federation_jwt_public_key_path=str(folder / 'issuer.pub'), security__federation_issuer='federation-1',
                            security__federation_audience='all-nodes', jwt_secret=None)
    return issuer, verifier, folder


def test_rs256_tokens_of_the_minting_node_open_both(federation):
    issuer, verifier, _ = federation
    token = issuer.mint('alice')
    assert json.loads(unb64(token.split('.')[0]))['alg'] == 'RS256'
    for node in (issuer, verifier):
        assert run(opened(node, token))['principal'] == {'sub': 'alice', 'iss': 'federation-1'}


def test_the_session_token_is_signed_by_the_node(federation):
    issuer, verifier, folder = federation
    token = run(opened(verifier, issuer.mint()))['session_token']
    head, body, sig = token.split('.')
    assert json.loads(unb64(head))['alg'] == 'RS256'
    public = serialization.load_pem_public_key((folder / 'own.pub').read_bytes())
    public.verify(unb64(sig), f'{head}.{body}'.encode(), padding.PKCS1v15(), hashes.SHA256())
    assert json.loads(unb64(body))['iss'] == 'node-c'


@pytest.fixture(scope='module')
def verifying(federation, make_service):
    """A node with the public key alone; its own transport keeps the shared secret."""
    return make_service('basic', node_id='node-d', security__federation_jwt_public_key_path=str(federation[2] / 'issuer.pub'),
                        security__federation_issuer='federation-1', security__federation_audience='all-nodes')


def test_a_node_that_only_verifies_signs_its_own_sessions_with_hs256(federation, verifying):
    """Its transport keeps the shared secret, whatever the federation's tokens are signed with."""
    ready = run(opened(verifying, federation[0].mint('alice')))
    assert ready['principal'] == {'sub': 'alice', 'iss': 'federation-1'}
    head, body, _ = ready['session_token'].split('.')
    assert json.loads(unb64(head))['alg'] == 'HS256' and json.loads(unb64(body))['iss'] == 'node-d'
    # The shared secret makes no token of the federation.
    assert refusal(verifying, hs256(verifying, iss='federation-1', aud='all-nodes')) == 'E_AUTH'


@pytest.mark.parametrize('name, changes, code', [
    ('nothing wrong', {}, None), ('another issuer', {'iss': 'federation-2'}, 'E_AUTH'), ('the node itself as issuer', {'iss': 'node-b'}, 'E_AUTH'),
    ('no issuer', {'iss': None}, 'E_AUTH'), ('another audience', {'aud': 'other-nodes'}, 'E_AUTH'), ('the cluster as audience', {'aud': 'cluster-1'}, 'E_AUTH'),
    ('no audience', {'aud': None}, 'E_AUTH'), ('other audiences', {'aud': ['a', 'b']}, 'E_AUTH'), ('no exp', {'exp': None}, 'E_AUTH'),
    ('expired', {'exp': from_now(-120), 'iat': from_now(-300), 'nbf': from_now(-300)}, 'E_EXPIRED'),
], ids=lambda value: value if isinstance(value, str) else '')
def test_a_token_of_the_federation_is_for_its_issuer_and_audience(federation, verifying, name, changes, code):
    """Signed by the right key: what its claims say decides, at every node."""
    key = serialization.load_pem_private_key((federation[2] / 'issuer.key').read_bytes(), None)
    claims = claims_for(None, **{'iss': 'federation-1', 'aud': 'all-nodes', **changes})
    body = b64(json.dumps({'alg': 'RS256', 'typ': 'scp-client+jwt'}).encode()) + '.' + b64(json.dumps(claims).encode())
    token = body + '.' + b64(key.sign(body.encode(), padding.PKCS1v15(), hashes.SHA256()))
    for node in (*federation[:2], verifying):
        assert run(code_of(opened(node, token))) == code


def program(service, key, token):
    """The program's client with a public key for the node's session tokens."""
    return service.run('list', '--set', f'SCP_SECURITY_JWT_PUBLIC_KEY_PATH={key}', '--set', f'SCP_SECURITY_CLIENT_TOKEN={token}', check=False)


def test_a_client_with_the_public_key_knows_the_node(federation):
    """Who has the shared secret and another key cannot sign this node's session tokens; both clients see it."""
    issuer, verifier, folder = federation
    token = issuer.mint('alice')
    for service, key, good in ((verifier, 'own.pub', True), (verifier, 'issuer.pub', False), (issuer, 'issuer.pub', True), (issuer, 'own.pub', False)):
        done = program(service, folder / key, token)
        assert done.returncode == (0 if good else 1) and good == ('E_SIG' not in done.stderr), done
        if good:
            assert run(opened(service, token, token_key=folder / key))['principal']['sub'] == 'alice'
            continue
        with pytest.raises(Refused) as refused:
            run(opened(service, token, token_key=folder / key))
        assert refused.value.code == 'E_SIG'


def test_a_client_with_the_public_key_takes_no_hs256_token(federation, services):
    _, _, folder = federation
    done = program(services['basic'], folder / 'own.pub', services['basic'].mint())
    assert done.returncode == 1 and 'E_SIG' in done.stderr


def test_a_node_with_the_public_key_alone_cannot_mint(federation, verifying):
    """It says so; and what one signs with a key of its own opens no other node, nor itself."""
    issuer, verifier, _ = federation
    refused = verifying.run('mint-token', '--subject', 'eve', '--scope', 'cap:list', check=False)
    assert refused.returncode != 0 and refused.stdout == '' and 'security.jwt_private_key_path' in refused.stderr
    forged = verifier.mint('eve', ['cap:list'])
    for node in (issuer, verifier, verifying):
        assert refusal(node, forged) == 'E_AUTH'


def test_rs256_attacks(federation):
    issuer, verifier, folder = federation
    now = int(time.time())
    claims = b64(json.dumps({'iss': 'federation-1', 'aud': 'all-nodes', 'sub': 'eve', 'iat': now, 'nbf': now, 'exp': now + 60, 'jti': 'j',
                             'scope': 'cap:list'}).encode())
    public = (folder / 'issuer.pub').read_bytes()

    def made(header, sign):
        body = b64(json.dumps({'typ': 'scp-client+jwt', **header}).encode()) + '.' + claims
        return body + '.' + b64(sign(body.encode()))

    other, own = make_rsa(), serialization.load_pem_private_key((folder / 'issuer.key').read_bytes(), None)
    attacks = {
        'HS256 with the public key': made({'alg': 'HS256'}, lambda data: hmac(public, data)), 'none': made({'alg': 'none'}, lambda _: b''),
        'another key': made({'alg': 'RS256'}, lambda data: other.sign(data, padding.PKCS1v15(), hashes.SHA256())),
        # Good signatures by the issuer's own key: what is wrong is the algorithm alone.
        'PS256': made({'alg': 'PS256'}, lambda data: own.sign(data, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())),
        'RS512': made({'alg': 'RS512'}, lambda data: own.sign(data, padding.PKCS1v15(), hashes.SHA512())),
        'a signature of zeros': made({'alg': 'RS256'}, lambda _: bytes(own.key_size // 8)), 'a short signature': made({'alg': 'RS256'}, lambda _: b'\1'),
    }
    for name, token in attacks.items():
        for node in (issuer, verifier):
            assert refusal(node, token) == 'E_AUTH', name
