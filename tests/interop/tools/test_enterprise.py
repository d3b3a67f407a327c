"""Access tokens of a real provider, and the ones that must not pass."""
import json
import time

import pytest
from claim_sets import from_now, resolved
from tool_clients import AGENT_SECRET, client_of
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from scp import Refused, holder
from scp.keys import b64, hmac
from test_modes import run, session
from test_tool_command_line import flags
from tool_stack.authority import Authority, make_rsa
from tool_stack.identity import IdentityProvider

PSS = padding.PSS(padding.MGF1(hashes.SHA256()), 32)


@pytest.fixture(scope='module')
def pinned(make_service, identity, tmp_path_factory):
    """A service that knows one public key instead of a JWKS, and that key's private half."""
    key = make_rsa()
    file = tmp_path_factory.mktemp('keys') / 'issuer.pub'
    file.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    return make_service('enterprise', oauth2__jwks_url=None, oauth2__local_public_key_path=str(file)), key, file


def token(key, service, header=None, sign=None, **changes):
    now = int(time.time())
    claims = {'iss': service.identity.issuer, 'aud': service.identity.audience, 'sub': 'agent', 'iat': now, 'exp': now + 300,
              'scope': 'cap:list tool:invoke:sql.query', **changes}
    claims = resolved(claims, now)
    body = b64(json.dumps({'alg': 'RS256', 'typ': 'at+jwt', **(header or {})}).encode()) + '.' + b64(json.dumps(claims).encode())
    sign = sign or (lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA256()))
    return body + '.' + b64(sign(body.encode()))


def connect(service, credential, **options):
    async def nothing(client):
        return client.session

    return run(session(client_of(service, token=credential, **options), nothing))


def test_a_pinned_key_takes_its_issuers_token(pinned):
    service, key, _ = pinned
    assert connect(service, token(key, service))['principal']['sub'] == 'agent'


@pytest.mark.parametrize('name, changes, code', [
    ('expired', {'exp': from_now(-60)}, 'E_EXPIRED'), ('no exp', {'exp': None}, 'E_AUTH'), ('no iat', {'iat': None}, 'E_AUTH'),
    ('no audience', {'aud': None}, 'E_AUTH'), ('no issuer', {'iss': None}, 'E_AUTH'), ('other audience', {'aud': 'https://other.example'}, 'E_AUTH'),
    ('other issuer', {'iss': 'https://localhost:1'}, 'E_AUTH'), ('not yet', {'nbf': from_now(600)}, 'E_AUTH'),
], ids=lambda value: value if isinstance(value, str) else '')
def test_claims_that_do_not_fit_are_refused(pinned, name, changes, code):
    service, key, _ = pinned
    with pytest.raises(Refused) as refused:
        connect(service, token(key, service, **changes))
    assert refused.value.code == code


def test_an_access_token_that_is_bound_opens_for_its_holder_alone(pinned, tmp_path):
    """As a provider mints it that knows the client's key (RFC 9449); without `cnf` it is anybody's, unless that is refused."""
    service, key, _ = pinned
    service.run_bare('keygen', 'ed25519', '--out', str(tmp_path / 'agent'))
    service.run_bare('keygen', 'ed25519', '--out', str(tmp_path / 'thief'))
    own = holder.load_key(tmp_path / 'agent.key')
    bound = token(key, service, cnf={'jkt': holder.thumbprint(holder.jwk_of(own.public_key()))})
    assert connect(service, bound, holder_key=tmp_path / 'agent.key')['principal']['sub'] == 'agent'
    for options in ({}, {'holder_key': tmp_path / 'thief.key'}):
        with pytest.raises(Refused) as refused:
            connect(service, bound, **options)
        assert refused.value.code == 'E_AUTH'


def test_algorithms_that_are_not_pinned_are_refused(pinned):
    service, key, file = pinned
    attacks = {
        'none': token(key, service, {'alg': 'none'}, lambda _: b''),
        'HS256 with the public key as its secret': token(key, service, {'alg': 'HS256'}, lambda data: hmac(file.read_bytes(), data)),
        # Good signatures by the right key: what is wrong is the algorithm alone.
        'PS256': token(key, service, {'alg': 'PS256'}, lambda data: key.sign(data, PSS, hashes.SHA256())),
        'RS512': token(key, service, {'alg': 'RS512'}, lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA512())),
        'PS256 that says RS256': token(key, service, {}, lambda data: key.sign(data, PSS, hashes.SHA256())),
        'a key in the header': token(make_rsa(), service, {'jwk': {'kty': 'RSA', 'n': 'AQAB', 'e': 'AQAB'}}),
        'another key': token(make_rsa(), service),
        'jku': token(key, service, {'jku': 'https://evil.example/jwks'}),
        'kid as a path': token(key, service, {'kid': '../../../../dev/null'}),
    }
    for name, attack in attacks.items():
        with pytest.raises(Refused) as refused:
            connect(service, attack)
        assert refused.value.code == 'E_AUTH', name


@pytest.fixture
def rotating(tmp_path, authority, identity):
    """A provider of its own: services that know the other one's keys keep them."""
    provider = IdentityProvider(tmp_path / 'identity', authority, identity.audience, identity.clients)
    provider.start()
    yield provider
    provider.stop()


def test_a_rotated_key_is_found_and_not_asked_for_at_will(make_service, rotating):
    """A service that runs takes the provider's new key by itself, and no longer the old one."""
    # Each event loop has its own cache of keys.
    service = make_service('enterprise', rotating, server__workers=1)
    began = time.monotonic()
    assert connect(service, rotating.token('agent'))['principal']['sub'] == 'agent'
    old = rotating.token('agent')
    rotating.rotate()
    # An unknown key makes the cache ask again, but not sooner than 30 s after it last did.
    refusals = 0
    while True:
        try:
            assert connect(service, rotating.token('agent'))['principal']['sub'] == 'agent'
            break
        except Refused as refused:
            assert refused.code == 'E_AUTH' and time.monotonic() - began < 90
            refusals += 1
            time.sleep(1)
    assert refusals > 0 and time.monotonic() - began >= 29
    with pytest.raises(Refused) as refused:
        connect(service, old)
    assert refused.value.code == 'E_AUTH'


def test_scopes_of_the_provider_bind(services, identity):
    async def work(client):
        assert [one['id'] for one in await client.list_capabilities()] == ['files.read']

    run(session(client_of(services['enterprise'], token=identity.token('reader')), work))


def test_an_unknown_authority_is_not_trusted(services, authority, tmp_path):
    other = Authority(tmp_path / 'other')
    with pytest.raises(Exception, match='(?i)certificate'):
        run(client_of(services['enterprise'], ca=other.roots).connect())


def test_a_provider_whose_certificate_is_not_trusted_is_not_believed(make_service, identity, tmp_path):
    """Its keys are not taken from whoever answers at its address: the authority is the one that is pinned."""
    service = make_service('enterprise', oauth2__ca_cert_path=str(Authority(tmp_path / 'other').roots))
    with pytest.raises(Refused) as refused:
        connect(service, identity.token('agent'))
    assert refused.value.code == 'E_UPSTREAM'


def test_the_programs_client_asks_no_provider_that_is_not_trusted(services, tmp_path):
    """The secret of the client goes to the provider whose authority is the one that is pinned, and to nobody else."""
    service, words = services['enterprise'], ['list', *flags(services['enterprise'])]
    assert 'files.read' in service.run(*words).stdout
    done = service.run(*words, '--set', f'SCP_OAUTH2_CA_CERT_PATH={Authority(tmp_path / "other").roots}', check=False)
    assert done.returncode == 1 and done.stdout == '' and 'E_UPSTREAM: no access token' in done.stderr and AGENT_SECRET not in done.stderr, done
