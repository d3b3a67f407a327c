"""Keys to one table: what they open, and that they open nothing beside it. Each is tried at the store."""
import json

import pyarrow as pa
import pytest
import requests
from minio.credentials import AssumeRoleProvider

from by_hand import Watched
from lake_clients import iceberg as iceberg_client
from rest import Rest, assert_error, table_body
from stack.process import wait_until
from vended import SETTINGS, VENDED, Keys, Store, as_client

ROWS = pa.table({'a': [1, 2, 3]})


@pytest.fixture(scope='module')
def server(stack):
    with Watched.beside(stack, **SETTINGS) as made:
        yield made


@pytest.fixture(scope='module')
def store(stack, lake):
    return Store.of(stack, lake)


@pytest.fixture(scope='module')
def tables(lake, duck):
    """keys.t, keys.u beside it, and others.v, made through the stack's own server, which is open."""
    catalog = iceberg_client.connect(lake)
    for name in ('keys', 'others'):
        catalog.create_namespace_if_not_exists(name)
    for name in ('keys.t', 'keys.u', 'others.v'):
        if catalog.table_exists(name):
            catalog.drop_table(name)
        table = catalog.create_table(name, ROWS.schema)
        table.append(ROWS)
        table.append(ROWS)
    return catalog


class Places:
    """Names of the objects of a table."""

    def __init__(self, catalog, store, name):
        table = catalog.load_table(name)
        self.folder = store.key(table.location())
        self.data = sorted(store.key(task.file.file_path) for task in table.scan().plan_files())
        self.list = store.key(table.current_snapshot().manifest_list)
        self.document = store.key(table.metadata_location)


@pytest.fixture(scope='module')
def t(tables, store):
    return Places(tables, store, 'keys.t')


@pytest.fixture(scope='module')
def u(tables, store):
    return Places(tables, store, 'keys.u')


@pytest.fixture(scope='module')
def reader(server, store, t):
    return as_client(server, 'reader').keys('keys.t', store)


@pytest.fixture(scope='module')
def writer(server, store, t):
    return as_client(server, 'writer').keys('keys.t', store)


# What keys open

def test_a_reader_reads_the_table(reader, t):
    assert len(t.data) == 2
    for key in (*t.data, t.list, t.document):
        assert reader.gets(key), key
    assert reader.lists(t.folder + '/') and reader.lists(t.folder + '/data/')


def test_a_writer_adds_objects(writer, t):
    for key in (*t.data, t.list, t.document):
        assert writer.gets(key), key
    assert writer.puts(f'{t.folder}/data/new.parquet') and writer.gets(f'{t.folder}/data/new.parquet')
    assert writer.puts(f'{t.folder}/metadata/new.avro')
    assert writer.puts_in_parts(f'{t.folder}/data/large.parquet')


def test_the_servers_own_objects_lie_in_a_folder_of_their_own(t, store):
    own = f'{t.folder}/metadata/lake/'
    assert t.list.startswith(own) and t.document.startswith(own)

    def strangers():
        return [key for key in store.under(f'{t.folder}/metadata/') if 'new' not in key and not key.startswith(own)]

    # The manifests that the client put are removed behind the answer to its commit.
    assert wait_until(lambda: not strangers(), 30), strangers()


def test_keys_say_where_and_until_when_they_are_good(reader, server, lake):
    assert reader.config['s3.endpoint'] == server.environment()['LAKEPROXY_S3_ENDPOINT']
    assert reader.config['s3.region'] == lake.s3_region and reader.config['s3.path-style-access'] == 'true'
    assert reader.config['s3.credentials-expiration'].endswith('Z')
    assert int(reader.config['s3.session-token-expires-at-ms']) > 0
    assert reader.config['client.refresh-credentials-endpoint'] == 'v1/lake/namespaces/keys/tables/t/credentials'


# Attacks

def test_keys_are_on_record_before_they_are_told(reader, writer, server):
    trail = as_client(server, 'admin')

    def recorded(principal):
        entries = trail.get('governance/audit', params={'operation': 'load_credentials', 'principal': principal}).json()['entries']
        return {(entry['object'], entry['decision'], entry['detail']['access']) for entry in entries}

    assert recorded('reader') >= {('keys.t', 'allowed', 'read')}
    assert recorded('writer') >= {('keys.t', 'allowed', 'read-write')}
    assert not recorded('neighbour')


def test_attack_a_sibling_key(reader, store, t):
    sibling = f'{t.folder}/data/nobody-shows-it.parquet'
    store.put(sibling)
    assert not reader.gets(sibling)
    assert not reader.gets(t.data[0] + 'x')


def test_attack_another_table(reader, writer, u):
    for keys in (reader, writer):
        for key in u.data:
            assert not keys.gets(key) and not keys.puts(key) and not keys.deletes(key)


def test_attack_the_metadata_of_another_table(reader, writer, u):
    for keys in (reader, writer):
        assert not keys.gets(u.list) and not keys.gets(u.document)
        assert not keys.puts(f'{u.folder}/metadata/x.avro')


def test_attack_a_prefix_that_begins_alike(reader, writer, store, t):
    alike = f'{t.folder}2/data/a.parquet'
    store.put(alike)
    for keys in (reader, writer):
        assert not keys.gets(alike) and not keys.puts(alike) and not keys.lists(f'{t.folder}2/')
        assert not keys.lists(t.folder), 'it lists what begins alike, too'


def test_attack_put_with_keys_that_read(reader, t):
    for key in (f'{t.folder}/data/mine.parquet', t.data[0], f'{t.folder}/metadata/mine.avro', t.list):
        assert not reader.puts(key), key


def test_attack_a_manifest_under_the_servers_next_name(writer, t, store):
    before = store.under(f'{t.folder}/metadata/lake/')
    for key in (t.list, t.document, f'{t.folder}/metadata/lake/99-0-m0-0123456789abcdef.avro',
                f'{t.folder}/metadata/lake/snap-99-0-0123456789abcdef.avro', f'{t.folder}/metadata/lake/a/b'):
        assert not writer.puts(key), key
    assert not writer.puts_in_parts(f'{t.folder}/metadata/lake/large')
    assert store.under(f'{t.folder}/metadata/lake/') == before


def test_attack_replace_a_recorded_file(writer, t):
    for key in t.data:
        assert not writer.puts(key), key


def test_attack_delete(reader, writer, t, store):
    for keys in (reader, writer):
        for key in (*t.data, t.list, t.document):
            assert not keys.deletes(key), key
    assert {*t.data, t.list, t.document} <= store.under(t.folder + '/')


def test_attack_list_what_is_not_the_tables(reader, writer, t, u):
    for keys in (reader, writer):
        for prefix in ('', 'data/', u.folder + '/', t.folder.rsplit('/', 1)[0] + '/'):
            assert not keys.lists(prefix), prefix


def test_attack_a_table_that_names_another_tables_files(server, store, duck, lake, tables, u):
    duck.execute('DROP TABLE IF EXISTS lake.keys.thief')
    duck.execute('CREATE TABLE lake.keys.thief (a BIGINT)')
    v = Places(tables, store, 'others.v')
    stolen = v.data[0]
    duck.execute(f"CALL ducklake_add_data_files('lake', 'thief', 's3://{lake.s3_bucket}/{stolen}', schema => 'keys')")
    shown = [file.file.file_path for file in tables.load_table('keys.thief').scan().plan_files()]
    assert shown == [f's3://{lake.s3_bucket}/{stolen}'], 'the table shows it'
    for client in ('reader', 'writer'):
        keys = as_client(server, client).keys('keys.thief', store)
        assert not keys.gets(stolen) and not keys.puts(stolen)
    assert as_client(server, 'neighbour').keys('others.v', store).gets(stolen)


def test_attack_keys_of_a_namespace_that_the_scope_does_not_open(server, t):
    stranger = as_client(server, 'neighbour')
    assert_error(stranger.get('namespaces/keys/tables/t'), 403)
    assert_error(stranger.get('namespaces/keys/tables/t/credentials'), 403)


def test_attack_read_with_a_scope_that_writes(server, t):
    blind = as_client(server, 'blind')
    answer = blind.post('namespaces/keys/tables/t', {'requirements': [], 'updates': [
        {'action': 'set-properties', 'updates': {'touched': 'yes'}}]})
    assert answer.status_code == 200, answer.text
    assert 's3.access-key-id' not in answer.text and 'storage-credentials' not in answer.json()


def test_attack_a_narrowed_token_gets_keys_of_the_wider_one(server, store, t, writer):
    narrow = as_client(server, 'writer', scope='ns:keys:r').keys('keys.t', store)
    assert narrow.gets(t.data[0]) and not narrow.puts(f'{t.folder}/data/mine.parquet')


# Answers

def test_keys_come_only_to_whom_asks(server, t):
    caller = as_client(server, 'reader')
    for headers in ({'X-Iceberg-Access-Delegation': ''}, {'X-Iceberg-Access-Delegation': 'remote-signing'},
                    {'X-Iceberg-Access-Delegation': 'something-else'}):
        answer = caller.get('namespaces/keys/tables/t', headers=headers)
        assert answer.status_code == 200
        assert 's3.access-key-id' not in answer.json()['config'] and 'storage-credentials' not in answer.json()
        assert 'Cache-Control' not in answer.headers
    both = caller.get('namespaces/keys/tables/t', headers={'X-Iceberg-Access-Delegation': 'remote-signing, vended-credentials'})
    assert both.json()['config']['s3.access-key-id']


def test_where_the_store_is_is_told_to_everybody(server, lake, t):
    config = as_client(server, 'reader').get('namespaces/keys/tables/t', headers={'X-Iceberg-Access-Delegation': ''}).json()['config']
    assert config['s3.endpoint'] == server.environment()['LAKEPROXY_S3_ENDPOINT']
    assert config['s3.region'] == lake.s3_region and config['s3.path-style-access'] == 'true'
    assert not {'s3.access-key-id', 's3.secret-access-key', 's3.session-token'} & config.keys()


def test_root_keys_are_told_only_where_they_are_let_out(stack, lake, t):
    with Watched.beside(stack, LAKEPROXY_SUPPRESS_ROOT_CREDS='0') as open_one:
        answer = Rest(open_one.uri(), 'lake').get('namespaces/keys/tables/t')
    assert answer.json()['config']['s3.access-key-id'] == lake.s3_access_key
    assert answer.json()['config']['s3.secret-access-key'] == lake.s3_secret_key
    with Watched.beside(stack) as closed:
        answer = Rest(closed.uri(), 'lake').get('namespaces/keys/tables/t')
    assert answer.status_code == 200 and lake.s3_access_key not in answer.text and lake.s3_secret_key not in answer.text


def test_an_answer_with_keys_is_kept_by_nobody(server, t):
    for coding in ('identity', 'gzip'):
        answer = as_client(server, 'reader').get('namespaces/keys/tables/t', headers={'Accept-Encoding': coding})
        assert answer.headers['Cache-Control'] == 'no-store'
        assert answer.json()['config']['s3.session-token']


def test_storage_credentials_have_the_folders_of_the_table(server, t, lake, store):
    answer = as_client(server, 'reader').get('namespaces/keys/tables/t').json()
    folder = f's3://{lake.s3_bucket}/{t.folder}/'
    given = {one['prefix']: one['config'] for one in answer['storage-credentials']}
    assert folder in given and not any(prefix != folder and prefix.startswith(folder) for prefix in given)
    assert all(config == answer['config'] for config in given.values())


def test_the_credentials_endpoint_gives_the_same_keys(server, t, store, lake):
    caller = as_client(server, 'reader')
    answer = caller.get('namespaces/keys/tables/t/credentials', headers={'X-Iceberg-Access-Delegation': ''})
    assert answer.status_code == 200 and answer.headers['Cache-Control'] == 'no-store'
    one, = answer.json()['storage-credentials']
    assert one['prefix'] == f's3://{lake.s3_bucket}/{t.folder}/'
    assert one['config'] == caller.get('namespaces/keys/tables/t').json()['config']
    assert Keys(one['config'], store).gets(t.data[0])


def test_a_304_is_for_whoever_has_these_keys(server, t):
    reader, second = as_client(server, 'reader'), as_client(server, 'second')
    first = reader.get('namespaces/keys/tables/t')
    tag = {'If-None-Match': first.headers['ETag']}
    assert reader.get('namespaces/keys/tables/t', headers=tag).status_code == 304
    other = second.get('namespaces/keys/tables/t', headers=tag)
    assert other.status_code == 200 and other.json()['config']['s3.access-key-id'] != first.json()['config']['s3.access-key-id']
    plain = reader.get('namespaces/keys/tables/t', headers={'X-Iceberg-Access-Delegation': '', **tag})
    assert plain.status_code == 200


def test_keys_are_reused_until_the_files_change(server, tables, t, store):
    caller = as_client(server, 'reader')
    first = caller.keys('keys.u', store)
    assert caller.keys('keys.u', store).config == first.config
    table = tables.load_table('keys.u')
    with table.transaction() as change:
        change.set_properties(colour='green')
    assert caller.keys('keys.u', store).config == first.config, 'the files are the same'
    table.append(ROWS)
    later = caller.keys('keys.u', store)
    newest = Places(tables, store, 'keys.u').data
    assert all(later.gets(key) for key in newest)
    assert not all(first.gets(key) for key in newest)


def test_a_table_of_many_files_is_opened_as_a_folder(server, tables, store, duck):
    duck.execute('DROP TABLE IF EXISTS lake.keys.many')
    duck.execute('CREATE TABLE lake.keys.many (a BIGINT)')
    for _ in range(40):
        duck.execute('INSERT INTO lake.keys.many SELECT n FROM range(20) r(n)')
    places = Places(tables, store, 'keys.many')
    assert len(places.data) == 40
    keys = as_client(server, 'reader').keys('keys.many', store)
    assert all(keys.gets(key) for key in places.data)
    assert not keys.puts(f'{places.folder}/data/x.parquet') and not keys.gets(Places(tables, store, 'others.v').data[0])
    writer = as_client(server, 'writer').keys('keys.many', store)
    assert not writer.puts(places.list) and writer.puts(f'{places.folder}/data/x.parquet')
    assert '"operation":"sts_degraded"' in server.log.read_text()
    trail = as_client(server, 'admin')
    def degraded(principal):
        asked = {'operation': 'sts_degraded', 'principal': principal}
        return {(one['object'], one['detail']['access']) for one in trail.get('governance/audit', params=asked).json()['entries']}
    assert degraded('reader') == {('keys.many', 'read')} and not degraded('second')


def test_answers_to_changes_have_keys(server, store):
    caller = as_client(server, 'writer')
    caller.send('DELETE', 'namespaces/keys/tables/made')
    staged = caller.post('namespaces/keys/tables', {**table_body('made'), 'stage-create': True})
    assert staged.status_code == 200 and staged.headers['Cache-Control'] == 'no-store', staged.text
    folder = store.key(staged.json()['metadata']['location'])
    assert Keys(staged.json()['config'], store).puts(f'{folder}/data/early.parquet')
    assert not Keys(staged.json()['config'], store).puts(f'{folder}/metadata/lake/early.avro')
    made = caller.post('namespaces/keys/tables', table_body('made'))
    assert made.status_code == 200, made.text
    folder = store.key(made.json()['metadata']['location'])
    assert Keys(made.json()['config'], store).puts(f'{folder}/data/early.parquet')
    changed = caller.post('namespaces/keys/tables/made', {'requirements': [], 'updates': [
        {'action': 'set-properties', 'updates': {'colour': 'red'}}]})
    assert changed.status_code == 200 and Keys(changed.json()['config'], store).puts(f'{folder}/data/late.parquet')
    place = changed.json()['metadata-location']
    assert caller.send('DELETE', 'namespaces/keys/tables/made').status_code == 204
    again = caller.post('namespaces/keys/register', {'name': 'made', 'metadata-location': place})
    assert again.status_code == 200, again.text
    assert Keys(again.json()['config'], store).puts(f'{folder}/data/again.parquet')
    caller.send('DELETE', 'namespaces/keys/tables/made')


def test_secrets_are_in_no_log_metric_or_error(server, reader, writer):
    seen = server.log.read_text() + requests.get(f'{server.uri()}/metrics', timeout=30).text
    assert 'keys issued' in seen and 'lakeproxy_vended_keys_total' in seen
    for keys in (reader, writer):
        for name in ('s3.secret-access-key', 's3.session-token'):
            assert keys.config[name] not in seen
    assert server.environment()['LAKEPROXY_S3_ROOT_SECRET'] not in seen


def test_a_store_without_sts_gives_no_keys(stack, t):
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_STS_ENDPOINT='none') as none:
        answer = as_client(none, 'reader').get('namespaces/keys/tables/t', headers=VENDED)
        assert answer.status_code == 200
        assert 's3.secret-access-key' not in answer.text


def test_what_a_pattern_in_a_name_means_to_the_store(stack, store):
    """Why a name with one is never put into a policy: the store knows no way to say it alone."""
    names = ['patterns/a*b', 'patterns/axb', 'patterns/a${*}b', 'patterns/a${x}b']
    for name in names:
        store.put(name)
    assert opened_by(stack, store, 'patterns/a*b', names) == names, 'a pattern'
    assert opened_by(stack, store, 'patterns/a${*}b', names) == ['patterns/a${*}b', 'patterns/a${x}b'], 'no variable of IAM'


def opened_by(stack, store, resource, names):
    policy = {'Version': '2012-10-17', 'Statement': [{'Effect': 'Allow', 'Action': 's3:GetObject',
                                                      'Resource': f'arn:aws:s3:::{store.bucket}/{resource}'}]}
    made = AssumeRoleProvider(sts_endpoint=stack.store.endpoint(), access_key=stack.store.access_key,
                              secret_key=stack.store.secret_key, policy=json.dumps(policy), region='us-east-1').retrieve()
    keys = Keys({'s3.access-key-id': made.access_key, 's3.secret-access-key': made.secret_key,
                 's3.session-token': made.session_token, 's3.region': 'us-east-1'}, store)
    return [name for name in names if keys.gets(name)]
