"""The S3 gateway and static keys, for stores that make no keys: a masked principal gets its folder through the one, and
nothing through the other."""
import json
import secrets
import subprocess

import pytest
from by_hand import Watched
from masked import NAMESPACE, SETTINGS, VENDED, Keys, Store, as_client
from rest import assert_error
from stack import ports

TABLE = f'keyless_{secrets.token_hex(3)}'
STATIC_KEYS = 'governance/static-s3-keys'


@pytest.fixture(scope='module')
def gateway(stack):
    port = ports.any_free()
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_STS_ENDPOINT='none', LAKEPROXY_S3_GATEWAY='1',
                        LAKEPROXY_S3_GATEWAY_PORT=str(port)) as made:
        made.gateway = f'127.0.0.1:{port}'
        yield made


@pytest.fixture(scope='module')
def keyless(stack):
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_STS_ENDPOINT='none') as made:
        yield made


@pytest.fixture(scope='module', autouse=True)
def table(duck, governance, governed):
    for name in (TABLE, TABLE + '_open'):
        duck.execute(f"CREATE TABLE lake.{NAMESPACE}.{name} AS SELECT n AS id, 'secret-' || n AS ssn FROM range(20) r(n)")
    governance.mask(TABLE, 'ssn', 'VARCHAR', "'***'")


def keys_of(server, client, store):
    answer = as_client(server, client).load(TABLE, headers=VENDED)
    assert answer.status_code == 200, answer.text
    return answer.json(), Keys(answer.json()['config'], Store(server.gateway, store.bucket, store.client))


def test_gateway_keys_of_the_masked_open_masked_copies_alone(gateway, store):
    masked, keys = keys_of(gateway, 'analyst', store)
    raw, steward_keys = keys_of(gateway, 'steward', store)
    own = store.key(masked['metadata']['location'])
    folder = store.key(raw['metadata']['location'])
    opened = {key for key in store.under(folder + '/') if keys.get(key) is not None}
    assert opened and all(key.startswith(own + '/') for key in opened)
    assert {key for key in store.under(own + '/') if '/data/' in key} <= opened
    assert steward_keys.get(store.key(raw['metadata-location'])) is not None


def test_gateway_keys_of_before_the_mask_open_nothing_more(gateway, governance, store):
    name = f'{TABLE}_open'
    answer = as_client(gateway, 'analyst').load(name, headers=VENDED).json()
    keys = Keys(answer['config'], Store(gateway.gateway, store.bucket, store.client))
    document = store.key(answer['metadata-location'])
    assert keys.get(document) is not None
    governance.mask(name, 'ssn', 'VARCHAR', "'***'")
    as_client(gateway, 'analyst').load(name)
    assert keys.get(document) is None
    governance.unmask(name, 'ssn')
    assert as_client(gateway, 'analyst').keys(name, Store(gateway.gateway, store.bucket, store.client)).get(document) is not None


def test_static_keys_never_open_a_masked_table(keyless, admin, store):
    for client in ('analyst', 'steward'):
        body = {'principal': client, 'access-key-id': f'{client}-{TABLE}', 'secret-access-key': 'for-this-test-alone',
                'confined': True}
        assert admin.post(STATIC_KEYS, body).status_code == 200
    try:
        refused = as_client(keyless, 'analyst').load(TABLE, headers=VENDED)
        assert_error(refused, 403)
        assert 'masked' in refused.json()['error']['message']
        done = subprocess.run([keyless.binary, 'bucket-policy'], env=keyless.environment(), cwd=keyless.folder, check=False,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        named = json.dumps(json.loads(done.stdout))
        assert f'/{NAMESPACE}/{TABLE}_open/' in named and f'/{NAMESPACE}/{TABLE}/' not in named
    finally:
        for client in ('analyst', 'steward'):
            assert admin.send('DELETE', f'{STATIC_KEYS}/{client}-{TABLE}').status_code == 200
