"""Every way to the objects beside vended keys: signed requests, logins of DuckDB, other tables' keys, names that wait for
a table. Each refusal has the one whom the policy lets through beside it."""
import json
import secrets
import subprocess

import pytest
from by_hand import Watched
from masked import NAMESPACE, SETTINGS, VENDED, Governance, Keys, as_client
from own_lake import own_stack
from rest import assert_error
from stack.postgres import BINARIES

TABLE = f'doors_{secrets.token_hex(3)}'


@pytest.fixture(scope='module', autouse=True)
def table(duck, governance, governed):
    duck.execute(f'DROP TABLE IF EXISTS lake.{NAMESPACE}.{TABLE}')
    duck.execute(f'CREATE TABLE lake.{NAMESPACE}.{TABLE} (id BIGINT, ssn VARCHAR)')
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => '{TABLE}', schema => '{NAMESPACE}')")
    duck.execute(f"INSERT INTO lake.{NAMESPACE}.{TABLE} VALUES (1, '1-secret')")
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 10, table_name => '{TABLE}', schema => '{NAMESPACE}')")
    duck.execute(f"INSERT INTO lake.{NAMESPACE}.{TABLE} VALUES (2, 'inlined-secret')")
    duck.execute(f'DROP TABLE IF EXISTS lake.{NAMESPACE}.beside')
    duck.execute(f'CREATE TABLE lake.{NAMESPACE}.beside AS SELECT 7 AS id')
    governance.mask(TABLE, 'ssn', 'VARCHAR', "'***'")


@pytest.fixture(scope='module')
def raw(steward, store):
    """A data file, the metadata and the folder of the table itself."""
    loaded = steward.pyiceberg().load_table(f'{NAMESPACE}.{TABLE}')
    data = next(iter(loaded.scan().plan_files())).file.file_path
    return [data, loaded.metadata_location, loaded.current_snapshot().manifest_list]


@pytest.fixture(scope='module')
def sign(server, lake):
    """Asks for a signature for reading an object, of the table's own signer or of the one of all tables."""
    def ask(caller, location, path=None):
        uri = f"{server.environment()['LAKEPROXY_S3_ENDPOINT']}/{location.removeprefix('s3://')}"
        return caller.post(path or caller.table(TABLE) + '/sign',
                           {'region': lake.s3_region, 'method': 'GET', 'uri': uri, 'headers': {}})
    return ask


def test_requests_for_base_objects_are_not_signed(analyst, steward, sign, raw):
    masked(analyst)
    for location in raw:
        for path in (None, 'aws/s3/sign'):
            assert_error(sign(analyst, location, path), 403)
            assert sign(steward, location, path).status_code == 200


def test_requests_for_masked_copies_are_signed(analyst, sign):
    copy = next(iter(masked(analyst).scan().plan_files())).file.file_path
    assert sign(analyst, copy).status_code == 200


def test_names_that_lead_out_of_the_masked_folder_are_not_signed(analyst, sign, raw):
    folder = masked(analyst).metadata.location
    up = '/'.join(['..'] * 4)
    for location in (f'{folder}/{up}/x', f'{folder}//x', f'{folder}/%2e%2e/x', f'{folder}/..%2fx', folder + 'x/y'):
        assert sign(analyst, location).status_code in (400, 403), location


def masked(caller):
    assert caller.load(TABLE).status_code == 200
    return caller.pyiceberg().load_table(f'{NAMESPACE}.{TABLE}')


def test_keys_of_the_table_beside_open_nothing_of_it(analyst, steward, store, raw):
    keys = analyst.keys('beside', store)
    own = next(iter(steward.pyiceberg().load_table(f'{NAMESPACE}.beside').scan().plan_files())).file.file_path
    assert keys.get(store.key(own)) is not None
    for location in raw:
        assert keys.get(store.key(location)) is None, location


def direct(caller, name=None):
    return caller.get(f'namespaces/{NAMESPACE}/ducklake-credentials', params={'table': name} if name else {})


def as_login(dsn, sql):
    """What PostgreSQL answers a login, as lines."""
    done = subprocess.run([BINARIES / 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-c', sql, dsn], check=False, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_login_of_duckdb_does_not_know_the_masked_table(analyst, steward, stack, server):
    assert_error(direct(analyst, TABLE), 403)
    assert direct(steward, TABLE).status_code == 200
    database = server.environment()['LAKEPROXY_PG_DATABASE']
    own = stack.postgres.query(database, f"SELECT max(table_id) FROM ducklake_table WHERE table_name = '{TABLE}'").strip()
    inlined = stack.postgres.query(database, f'SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = {own}')
    masked_login = direct(analyst).json()['ducklake_dsn']
    raw_login = direct(steward).json()['ducklake_dsn']
    for relation in ('table', 'column', 'data_file', 'file_column_stats', 'table_column_stats', 'inlined_data_tables'):
        sql = f'SELECT count(*) FROM ducklake_{relation} WHERE table_id = {own}'
        assert as_login(masked_login, sql) == ['0'], relation
        assert as_login(raw_login, sql) != ['0'], relation
    for name in inlined.split():
        assert as_login(masked_login, f'SELECT count(*) FROM {name}') == ['0']


def test_keys_of_a_namespace_leave_the_masked_table_out(analyst, steward, store, raw):
    answer = direct(analyst).json()
    assert answer['s3'] is not None, json.dumps(answer)
    keys = Keys(as_config(answer['s3']), store)
    for location in raw:
        assert keys.get(store.key(location)) is None, location
    keys = Keys(as_config(direct(steward).json()['s3']), store)
    assert keys.get(store.key(raw[0])) is not None


def as_config(s3):
    return {f's3.{name}': value for name, value in s3.items()}


def test_who_is_masked_gets_no_metadata_by_unregistering(analyst):
    assert_error(analyst.post(analyst.table(TABLE) + '/unregister'), 403)


def test_a_table_in_a_transaction_is_refused_with_all_others(analyst, duck):
    updates = [{'action': 'set-properties', 'updates': {'a': 'b'}}]
    changes = [{'identifier': {'namespace': [NAMESPACE], 'name': name}, 'requirements': [], 'updates': updates}
               for name in ('beside', TABLE)]
    assert_error(analyst.post('transactions/commit', {'table-changes': changes}), 403)
    assert 'a' not in analyst.load('beside').json()['metadata']['properties']


def test_a_renamed_column_stays_masked(analyst, duck):
    duck.execute(f'ALTER TABLE lake.{NAMESPACE}.{TABLE} RENAME COLUMN ssn TO number')
    try:
        for _ in range(600):
            read = masked(analyst).scan().to_arrow()
            if 'number' in read.column_names:
                break
        assert set(read['number'].to_pylist()) == {'***'}, 'by the name that it has now'
    finally:
        duck.execute(f'ALTER TABLE lake.{NAMESPACE}.{TABLE} RENAME COLUMN number TO ssn')


def test_keys_that_are_held_are_not_told_again_when_a_table_in_the_folder_is_masked(duck, governance, analyst, steward):
    """DuckDB gives a table the folder of its name, also where one that had the name before lives in it under another."""
    name = f'folder_{secrets.token_hex(3)}'
    duck.execute(f"CREATE TABLE lake.{NAMESPACE}.{name} AS SELECT n AS id, 'secret-' || n AS ssn FROM range(20) r(n)")
    duck.execute(f'ALTER TABLE lake.{NAMESPACE}.{name} RENAME TO {name}_old')
    duck.execute(f'CREATE TABLE lake.{NAMESPACE}.{name} AS SELECT 1 AS id')
    for caller in (analyst, steward):
        held, again = (caller.load(name, headers=VENDED).json()['config']['s3.access-key-id'] for _ in range(2))
        assert held == again
    governance.mask(f'{name}_old', 'ssn', 'VARCHAR', "'***'")
    assert_error(analyst.get(analyst.table(name), headers=VENDED), 403)
    assert steward.get(steward.table(name), headers=VENDED).json()['config']['s3.access-key-id'] == held


def test_the_first_policy_of_a_lake_holds_for_commits_on_a_server_that_has_not_heard_of_it():
    """The server has the table in its cache, and asks the lake nothing before it writes."""
    with own_stack('firstpolicy') as own, \
            Watched.beside(own.stack, **SETTINGS) as here, Watched.beside(own.stack, **SETTINGS) as there:
        own.duck.execute(f'CREATE SCHEMA lake.{NAMESPACE}')
        own.duck.execute(f"CREATE TABLE lake.{NAMESPACE}.t AS SELECT 1 AS id, 'secret' AS ssn")
        analyst, steward = as_client(there, 'analyst'), as_client(there, 'steward')
        commit = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'k': 'v'}}]}
        assert analyst.load('t').status_code == 200
        assert analyst.post(analyst.table('t'), commit).status_code == 200
        Governance(as_client(here, 'admin')).mask('t', 'ssn', 'VARCHAR', "'***'")
        assert_error(analyst.post(analyst.table('t'), commit), 403)
        several = {'table-changes': [{'identifier': {'namespace': [NAMESPACE], 'name': 't'}, **commit}]}
        assert_error(analyst.post('transactions/commit', several), 403)
        assert steward.post(steward.table('t'), commit).status_code == 200


def test_a_table_that_is_created_is_told_as_the_policies_of_now_want_it():
    """A policy of the namespace's tag reaches each new table; the server that creates it has not heard of the policy."""
    with own_stack('newtable') as own, \
            Watched.beside(own.stack, **SETTINGS) as here, Watched.beside(own.stack, **SETTINGS) as there:
        own.duck.execute(f'CREATE SCHEMA lake.{NAMESPACE}')
        analyst = as_client(there, 'analyst')
        columns = {'type': 'struct', 'fields': [{'id': 1, 'name': 'ssn', 'type': 'string', 'required': False}]}
        tables = f'namespaces/{NAMESPACE}/tables'
        assert analyst.post(tables, {'name': 'before', 'schema': columns}).status_code == 200
        governance = Governance(as_client(here, 'admin'))
        governance.post('tags', {'namespace': 'pii', 'name': 'any'})
        governance.post('masking-policies', {'name': 'stars', 'signature': '(v VARCHAR)', 'body': "'***'"})
        governance.post('policy-attachments', {'policy-kind': 'masking', 'policy-name': 'stars', 'target-kind': 'tag',
                                               'tag-namespace': 'pii', 'tag-name': 'any'})
        governance.post('object-tags', {'object-kind': 'schema', 'schema': NAMESPACE, 'tag-namespace': 'pii', 'tag-name': 'any'})
        made = analyst.post(tables, {'name': 'after', 'schema': columns})
        assert made.status_code == 200, made.text
        told = {name for name in made.json()['metadata']['properties'] if name.startswith('lakeproxy.mask.')}
        assert told == {name for name in analyst.load('after').json()['metadata']['properties'] if name.startswith('lakeproxy.mask.')}
        assert told
