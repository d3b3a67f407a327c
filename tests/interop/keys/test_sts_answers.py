"""What is asked of a Security Token Service, and what its answers come to. AWS cannot be reached from here: its documented answers."""
import datetime
import json
import time

import pyarrow as pa
import pytest

from by_hand import Watched
from lake_clients import iceberg as iceberg_client
from rest import assert_error
from vended import SETTINGS, as_client, sts_that_answers

ROWS = pa.table({'a': [1, 2, 3]})
PATH = 'namespaces/keys/tables/sts'
ROLE = 'arn:aws:iam::123456789012:role/lake'


@pytest.fixture(scope='module')
def table(lake):
    catalog = iceberg_client.connect(lake)
    catalog.create_namespace_if_not_exists('keys')
    if catalog.table_exists('keys.sts'):
        catalog.drop_table('keys.sts')
    table = catalog.create_table('keys.sts', ROWS.schema)
    table.append(ROWS)
    return table


@pytest.fixture
def sts():
    with sts_that_answers() as made:
        yield made


@pytest.fixture
def server(stack, sts, table):
    settings = {**SETTINGS, 'LAKEPROXY_STS_ENDPOINT': sts.endpoint(), 'LAKEPROXY_STS_ROLE_ARN': ROLE,
                'LAKEPROXY_STS_MAX_DURATION': '7200'}
    with Watched.beside(stack, **settings) as made:
        yield made


def test_the_request_is_as_aws_documents_it(server, sts):
    assert as_client(server, 'reader').get(PATH).status_code == 200
    (form, headers), = sts.asked
    policy = form.pop('Policy')
    assert form.pop('RoleSessionName').startswith('reader-')
    assert form == {'Action': 'AssumeRole', 'Version': '2011-06-15', 'RoleArn': ROLE, 'DurationSeconds': '7200'}
    assert json.dumps(json.loads(policy), separators=(',', ':')) == policy and len(policy) <= 2048
    assert headers['Content-Type'] == 'application/x-www-form-urlencoded'
    signed = headers['Authorization']
    assert signed.startswith('AWS4-HMAC-SHA256 Credential=') and '/us-east-1/sts/aws4_request' in signed
    assert 'host;' in signed and 'x-amz-date' in signed


def test_a_role_that_allows_less_is_asked_for_an_hour_once(server, sts):
    sts.refusal = lambda form: (400, 'ValidationError') if int(form['DurationSeconds']) > 3600 else None
    assert as_client(server, 'reader').get(PATH).json()['config']['s3.access-key-id'] == 'ASIA1'
    assert [form['DurationSeconds'] for form, _ in sts.asked] == ['7200', '3600']
    assert as_client(server, 'second').get(PATH).status_code == 200
    assert sts.asked[-1][0]['DurationSeconds'] == '3600'


def test_a_refusal_at_an_hour_is_not_asked_again(server, sts):
    sts.refusal = (400, 'ValidationError')
    assert_error(as_client(server, 'reader').get(PATH), 503)
    assert len(sts.asked) == 2


@pytest.mark.parametrize('refusal', [(403, 'AccessDenied'), (400, 'PackedPolicyTooLarge'), (400, 'MalformedPolicyDocument'),
                                     (500, 'InternalFailure'), (200, 'Nonsense')])
def test_a_refusal_is_503_without_keys(server, sts, refusal):
    sts.refusal = refusal
    caller = as_client(server, 'reader')
    for path in (PATH, PATH + '/credentials'):
        answer = caller.get(path)
        assert_error(answer, 503)
        assert 'secret' not in answer.text and 'Retry-After' in answer.headers
    assert 'secret words' not in server.log.read_text()
    plain = caller.get(PATH, headers={'X-Iceberg-Access-Delegation': ''})
    assert plain.status_code == 200, 'who brings keys needs none'
    sts.refusal = None
    assert caller.get(PATH).status_code == 200


def test_a_service_that_is_away_is_503_without_keys(server, sts):
    sts.shutdown()
    sts.server_close()
    assert_error(as_client(server, 'reader').get(PATH), 503)


def test_a_change_that_was_made_is_told_without_keys(server, sts):
    sts.refusal = (500, 'InternalFailure')
    answer = as_client(server, 'writer').post(PATH, {'requirements': [], 'updates': [
        {'action': 'set-properties', 'updates': {'colour': 'blue'}}]})
    assert answer.status_code == 200 and 's3.access-key-id' not in answer.json()['config']


def test_keys_are_told_for_half_their_life_and_then_others(server, sts):
    sts.life = 6
    caller = as_client(server, 'reader')
    first = caller.get(PATH)
    tag = {'If-None-Match': first.headers['ETag']}
    assert caller.get(PATH, headers=tag).status_code == 304
    assert len(sts.asked) == 1
    time.sleep(3.5)
    later = caller.get(PATH, headers=tag)
    assert later.status_code == 200, 'a 304 would leave the client with keys that end'
    assert later.json()['config']['s3.access-key-id'] == 'ASIA2'
    assert len(sts.asked) == 2


@pytest.mark.parametrize('given, life', [(1200, 1200), (7200, 3600)])
def test_a_login_ends_with_keys_that_are_given_for_less_than_was_asked(stack, server, sts, given, life):
    """That of DuckDB on the lake itself; and never later than by its own limit."""
    sts.life = given
    answer = as_client(server, 'reader').get('namespaces/keys/ducklake-credentials')
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told['s3']['expiration'] == told['pg_valid_until']
    ends = datetime.datetime.fromisoformat(told['pg_valid_until'].replace('Z', '+00:00')).timestamp()
    assert life - 20 < ends - time.time() <= life
    kept = stack.postgres.query('postgres', f"SELECT extract(epoch FROM rolvaliduntil)::bigint FROM pg_roles WHERE rolname = '{told['pg_role']}'")
    assert int(kept) == int(ends)
    (form, _), = sts.asked
    assert 3580 < int(form['DurationSeconds']) <= 3600 and 'CurrentTime' not in form['Policy']


def test_keys_that_have_ended_are_not_told(server, sts):
    sts.life = -10
    assert_error(as_client(server, 'reader').get(PATH), 503)


def test_one_session_serves_all_that_ask_at_once(server, sts):
    from concurrent.futures import ThreadPoolExecutor
    caller = as_client(server, 'reader')
    with ThreadPoolExecutor(16) as pool:
        keys = {answer.json()['config']['s3.access-key-id'] for answer in pool.map(lambda _: caller.get(PATH), range(32))}
    assert keys == {'ASIA1'} and len(sts.asked) == 1
