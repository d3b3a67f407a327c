"""Masks that the reader's engine applies: what a table tells of them, to whom, and what becomes of it when policies change."""
import collections
import concurrent.futures
import dataclasses
import json
import pathlib
import re

import duckdb
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError, NoSuchViewError
from pyiceberg.types import StringType

from by_hand import Watched
from governed import clients_of
from lake_clients import duck as duckdb_client
from lake_clients import spark as spark_client
from rest import assert_error

GOVERNANCE = pathlib.Path(__file__).resolve().parents[3] / 'docs/lake/governance.md'
VENDED = {'X-Iceberg-Access-Delegation': 'vended-credentials'}


def path(governed, table='t'):
    return f'namespaces/{governed.schema}/tables/{table}'


def load(governed, client='ana', table='t', **request):
    answer = governed.clients[client].send('GET', path(governed, table), **request)
    assert answer.status_code == 200, answer.text
    return answer


def told(governed, client='ana'):
    """What the table tells the client of masks."""
    properties = load(governed, client).json()['metadata']['properties']
    return {key: value for key, value in properties.items()
            if key.startswith(('lakeproxy.masked-', 'lakeproxy.mask.')) or key == 'iceberg.row-filter'}


def docs(answer):
    metadata = answer.json()['metadata']
    schema = next(one for one in metadata['schemas'] if one['schema-id'] == metadata['current-schema-id'])
    return {field['name']: field.get('doc') for field in schema['fields']}


def pyiceberg(governed, client):
    caller = governed.clients[client]
    return load_catalog('lake', type='rest', uri=caller.uri, warehouse=caller.prefix, token=caller.token,
                        **{'header.X-Iceberg-Access-Delegation': 'vended-credentials'})


def rows_of(governed, client):
    table = pyiceberg(governed, client).load_table(f'{governed.schema}.t')
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row['id'])


@pytest.fixture
def masked(governed):
    """A mask on ssn and a filter of rows, of which a steward is let off."""
    governed.hide = governed.mask(body="left(v, 1) || '**'", unmasked_roles=[governed.name('steward')])
    governed.keep = governed.filter(unmasked_roles=[governed.name('steward')])
    governed.post('policy-attachments', **governed.on_column(governed.hide))
    governed.post('policy-attachments', **governed.on_table(governed.keep))
    governed.post('role-grants', role=governed.name('steward'), principal='bob')
    return governed


def test_a_load_tells_what_the_reader_has_to_apply(masked):
    answer = load(masked)
    assert told(masked) == {'lakeproxy.masked-columns': 'ssn', 'lakeproxy.mask.ssn': masked.plan()['masks']['ssn'],
                            'iceberg.row-filter': masked.plan()['row_filter']}
    assert docs(answer) == {'id': None, 'ssn': f'masked by policy {masked.hide}', 'region': None}
    # The steward's answer says nothing of masks.
    assert told(masked, 'bob') == {} and docs(load(masked, 'bob')) == {'id': None, 'ssn': None, 'region': None}


def test_the_masks_that_are_told_give_the_rows_of_the_policys_own_sql(masked):
    properties = told(masked)
    name = f'lake.{masked.schema}.t'
    by_hand = masked.duck.execute(f'''SELECT id, {properties['lakeproxy.mask.ssn']}, region FROM {name}
                                      WHERE {properties['iceberg.row-filter']}''').fetchall()
    assert by_hand == [(1, '1**', 'eu')]
    # The files are everybody's: that is what cooperative means.
    assert rows_of(masked, 'ana') == rows_of(masked, 'bob') == [
        {'id': 1, 'ssn': '123-45', 'region': 'eu'}, {'id': 2, 'ssn': '678-90', 'region': 'us'}]


def test_views_of_one_state_have_tags_of_their_own(masked):
    tags = {client: load(masked, client).headers['ETag'] for client in ('ana', 'bob')}
    assert tags['ana'] != tags['bob']
    for client, tag in tags.items():
        assert masked.clients[client].send('GET', path(masked), headers={'If-None-Match': tag}).status_code == 304
        other = 'bob' if client == 'ana' else 'ana'
        assert masked.clients[other].send('GET', path(masked), headers={'If-None-Match': tag}).status_code == 200


def test_each_change_of_governance_is_seen_at_the_next_request(governed):
    tag, mask, steward = governed.tag(), governed.mask(body="'1'", unmasked_roles=[governed.name('steward')]), governed.name('steward')
    untold = load(governed).headers['ETag']
    assert told(governed) == {}
    governed.post('policy-attachments', **governed.on_tag(mask, tag))
    governed.post('object-tags', **governed.tagged(tag))
    assert told(governed)['lakeproxy.mask.ssn'] == "'1'"
    first = load(governed).headers['ETag']
    # A replaced policy.
    governed.mask(body="'2'", unmasked_roles=[steward])
    assert told(governed)['lakeproxy.mask.ssn'] == "'2'"
    assert governed.clients['ana'].send('GET', path(governed), headers={'If-None-Match': first}).status_code == 200
    # A grant and its revocation.
    governed.post('role-grants', role=steward, principal='ana')
    assert told(governed) == {}
    governed.delete('role-grants', role=steward, principal='ana')
    assert told(governed)['lakeproxy.mask.ssn'] == "'2'"
    # Untagged, and tagged again; detached.
    governed.delete('object-tags', **governed.tagged(tag))
    assert told(governed) == {}
    governed.post('object-tags', **governed.tagged(tag))
    assert told(governed) != {}
    governed.delete('policy-attachments', **governed.on_tag(mask, tag))
    assert told(governed) == {} and load(governed).headers['ETag'] == untold


def test_a_rename_of_the_column_carries_its_mask(masked):
    masked.duck.execute(f'ALTER TABLE lake.{masked.schema}.t RENAME COLUMN ssn TO number')
    assert told(masked)['lakeproxy.masked-columns'] == 'number'
    assert '"number"' in told(masked)['lakeproxy.mask.number']


@pytest.mark.parametrize('by', ['duckdb', 'catalog'])
def test_a_rename_of_the_table_renames_its_view(masked, by):
    def view():
        return load(masked, table=name).json()['metadata']['properties']['lakeproxy.masking-view-name']
    def status(of):
        return masked.clients['ana'].send('GET', f'namespaces/{masked.schema}/views/{of}').status_code
    name = 't'
    before = view()
    assert before.startswith('__mask_t__') and status(before) == 200
    if by == 'duckdb':
        masked.duck.execute(f'ALTER TABLE lake.{masked.schema}.t RENAME TO u')
    else:
        pyiceberg(masked, 'admin').rename_table(f'{masked.schema}.t', f'{masked.schema}.u')
    name = 'u'
    after = view()
    assert after == before.replace('__mask_t__', '__mask_u__')
    assert (status(after), status(before)) == (200, 404)


def test_what_was_told_is_not_written_back(masked):
    """A client sends the schema back that it was shown, with another column."""
    masked.delete('role-grants', role=masked.name('steward'), principal='bob')
    table = pyiceberg(masked, 'bob').load_table(f'{masked.schema}.t')
    assert 'masked by policy' in table.schema().find_field('ssn').doc
    with table.update_schema() as change:
        change.add_column('more', StringType())
    assert docs(load(masked, 'bob'))['ssn'] == f'masked by policy {masked.hide}', 'noted once'
    masked.delete('policy-attachments', **masked.on_column(masked.hide))
    assert docs(load(masked, 'bob')) == {'id': None, 'ssn': None, 'region': None, 'more': None}
    with pytest.raises(ForbiddenError):
        table.refresh().transaction().set_properties({'lakeproxy.mask.ssn': 'ssn'}).commit_transaction()


def test_each_governed_load_has_a_record(masked):
    signature = masked.plan()['signature']
    load(masked)
    load(masked, 'bob')
    of_table = {'object': f'table {masked.schema}.t'}
    by_name = {entry['principal']: entry for entry in masked.audited('load_table', **of_table)}
    assert by_name.keys() == {'ana', 'bob'}
    entry = by_name['ana']
    assert entry['decision'] == 'masked' and entry['masked_cols'] == ['ssn'] and entry['applied_policies'] == sorted([masked.hide, masked.keep])
    assert entry['detail'] == {'tier': 'cooperative', 'signature': signature}
    entry = by_name['bob']
    assert entry['decision'] == 'unmasked' and entry['masked_cols'] == [] and entry['applied_policies'] == []
    assert entry['detail'] == {'lifted': sorted([masked.hide, masked.keep])}
    # 304 tells that nothing has changed: that is recorded, too.
    tag = load(masked).headers['ETag']
    before = len(masked.audited('load_table', **of_table))
    assert masked.clients['ana'].send('GET', path(masked), headers={'If-None-Match': tag}).status_code == 304
    assert len(masked.audited('load_table', **of_table)) == before + 1


def recorded(masked, requests):
    """How often each of these requests is in the trail as a load."""
    entries = masked.audited('load_table', object=f'table {masked.schema}.t')
    known = collections.Counter(one for entry in entries for one in [entry['request_id'], *entry['detail'].get('request_ids', [])])
    return {request: known[request] for request in requests}


def test_each_of_many_loads_at_once_has_a_record_before_its_answer(masked):
    load(masked)

    def load_and_look(client):
        request = load(masked, client).headers['X-Request-Id']
        return request, recorded(masked, [request])[request]

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        found = list(pool.map(load_and_look, ['ana', 'bob'] * 100))
    assert len({request for request, _ in found}) == 200
    assert [times for _, times in found] == [1] * 200
    for entry in masked.audited('load_table', object=f'table {masked.schema}.t'):
        assert entry['detail'].get('count', 1) == 1 + len(entry['detail'].get('request_ids', []))
        assert entry['decision'] == {'ana': 'masked', 'bob': 'unmasked'}[entry['principal']]


def test_loads_that_cannot_be_recorded_are_not_answered(masked):
    masked.duck.execute(f'CREATE TABLE lake.{masked.schema}.free (id INTEGER)')
    load(masked)
    masked.ask('ALTER TABLE lakeproxy_audit RENAME TO lakeproxy_audit_away')
    try:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda client: masked.clients[client].send('GET', path(masked)), ['ana', 'bob'] * 16))
        for answer in answers:
            assert_error(answer, 503)
            assert 'metadata-location' not in answer.text
        free = masked.clients['ana'].send('GET', path(masked, 'free'))
        assert free.status_code == 200, 'no policy has to do with it'
    finally:
        masked.ask('ALTER TABLE lakeproxy_audit_away RENAME TO lakeproxy_audit')
    assert recorded(masked, [load(masked).headers['X-Request-Id']]).popitem()[1] == 1


def test_a_load_of_a_table_without_policies_has_none(governed):
    load(governed)
    assert governed.audited('load_table', object=f'table {governed.schema}.t') == []


def damage(governed, policy):
    """What a broken sidecar looks like: the form in which a policy is kept cannot be read."""
    governed.ask(f"UPDATE lakeproxy_masking_policy SET compiled = '[]' WHERE name = '{policy}'")


def test_where_policies_cannot_be_told_a_read_is_open_by_default_and_recorded(masked, server):
    damage(masked, masked.hide)
    assert told(masked) == {}
    entry = masked.audited('load_table', object=f'table {masked.schema}.t', principal='ana')[0]
    assert entry['decision'] == 'failed_open' and entry['detail']['unmasked_because']
    # A change waits until they can be told.
    answer = masked.clients['bob'].send('POST', path(masked), json={'requirements': [], 'updates': [
        {'action': 'set-properties', 'updates': {'a': 'b'}}]})
    assert answer.status_code >= 500, answer.text
    assert 'LAKEPROXY_GOVERNANCE_FAIL_CLOSED' in server.log.read_text()


def test_where_a_mask_is_in_files_it_is_never_open(masked):
    masked.mask(body="'x'", file_layer_masking=True)
    damage(masked, masked.hide)
    assert_error(masked.clients['ana'].send('GET', path(masked)), 503)
    assert_error(masked.clients['ana'].send('GET', f'{path(masked)}/credentials'), 503)


def test_the_setting_closes_it(masked, stack, settings):
    with Watched.beside(stack, **settings, LAKEPROXY_GOVERNANCE_FAIL_CLOSED='1') as closed:
        client = clients_of(closed)['ana']
        assert client.send('GET', path(masked)).json()['metadata']['properties']['lakeproxy.masked-columns'] == 'ssn'
        damage(masked, masked.hide)
        answer = client.send('GET', path(masked))
        assert_error(answer, 503)
        assert 'its policies cannot be told' in answer.json()['error']['message']
        assert_error(client.send('GET', path(masked), headers=VENDED), 503)
        assert client.send('HEAD', path(masked)).status_code == 204, 'that it is there is no secret'
        log = [json.loads(line) for line in closed.log.read_text().splitlines() if line.startswith('{')]
        assert not any(line.get('setting') == 'LAKEPROXY_GOVERNANCE_FAIL_CLOSED' for line in log)


def is_marked(governed, client='ana'):
    return 'lakeproxy.masked-columns' in told(governed, client)


def view_name(governed, client='ana'):
    return load(governed, client).json()['metadata']['properties']['lakeproxy.masking-view-name']


def get_view(governed, name, client='ana'):
    return governed.clients[client].send('GET', f'namespaces/{governed.schema}/views/{name}')


def queries(answer):
    metadata = answer.json()['metadata']
    version, = metadata['versions']
    return {one['dialect']: one['sql'] for one in version['representations']}


def by_owner(governed):
    """The rows of the policy's own SQL, as the lake's owner runs it."""
    with governed.duck.cursor() as cursor:
        cursor.execute('USE lake')
        return cursor.execute(governed.plan()['view_sql']).fetchall()


def test_the_masking_view_of_the_caller_loads_by_its_name(masked):
    name = view_name(masked)
    assert name == f"__mask_t__{masked.plan()['signature']}"
    answer = get_view(masked, name)
    assert answer.status_code == 200, answer.text
    assert queries(answer)['duckdb'] == masked.plan()['view_sql']
    schema, = answer.json()['metadata']['schemas']
    assert {field['name']: field.get('doc') for field in schema['fields']}['ssn'] == f'masked by policy {masked.hide}'
    assert masked.clients['ana'].send('HEAD', f'namespaces/{masked.schema}/views/{name}').status_code == 204
    assert get_view(masked, name).json() == answer.json(), 'the same plan gives the same view'
    # It is in no list, and it is nobody else's.
    listed = masked.clients['ana'].send('GET', f'namespaces/{masked.schema}/views')
    assert listed.json()['identifiers'] == []
    assert_error(get_view(masked, name, 'bob'), 404)
    assert 'lakeproxy.masking-view-name' not in load(masked, 'bob').json()['metadata']['properties']
    for wrong in (name[:-1] + ('0' if name[-1] != '0' else '1'), '__mask_t__', f'__mask_gone__{name[-32:]}', name.upper()):
        assert_error(get_view(masked, wrong), 404)
    with pytest.raises(NoSuchViewError):
        pyiceberg(masked, 'bob').load_view(f'{masked.schema}.{name}')
    assert pyiceberg(masked, 'ana').load_view(f'{masked.schema}.{name}').sql_for('spark').sql


def test_a_change_of_policies_makes_another_view_and_ends_the_old_one(masked):
    first = view_name(masked)
    masked.mask(body="left(v, 2) || '**'", unmasked_roles=[masked.name('steward')])
    second = view_name(masked)
    assert second != first
    assert_error(get_view(masked, first), 404)
    assert queries(get_view(masked, second))['duckdb'] == masked.plan()['view_sql']
    masked.delete('policy-attachments', **masked.on_column(masked.hide))
    assert_error(get_view(masked, second), 404)
    masked.delete('policy-attachments', **masked.on_table(masked.keep))
    assert 'lakeproxy.masking-view-name' not in load(masked).json()['metadata']['properties']


def test_the_names_of_masking_views_are_nobodys_to_take(masked):
    name, send = view_name(masked), masked.clients['bob'].send
    columns = {'type': 'struct', 'schema-id': 0, 'fields': []}
    assert_error(send('POST', f'namespaces/{masked.schema}/tables', json={'name': name, 'schema': columns}), 400)
    version = {'version-id': 1, 'timestamp-ms': 1, 'schema-id': 0, 'summary': {}, 'default-namespace': [],
               'representations': [{'type': 'sql', 'sql': 'SELECT 1 AS a', 'dialect': 'duckdb'}]}
    body = {'name': name, 'schema': columns, 'properties': {}, 'view-version': version}
    assert_error(send('POST', f'namespaces/{masked.schema}/views', json=body), 400)
    names = {'source': {'namespace': [masked.schema], 'name': 't'}, 'destination': {'namespace': [masked.schema], 'name': name}}
    assert_error(send('POST', 'tables/rename', json=names), 400)
    assert_error(send('DELETE', f'namespaces/{masked.schema}/views/{name}'), 404)
    assert get_view(masked, name).status_code == 200


def test_a_table_may_have_no_masking_views(masked):
    name = view_name(masked)
    said = re.search(r'masking-disabled.*?```sql\n(.*?)```', GOVERNANCE.read_text(), re.DOTALL)[1]
    masked.ask(said.replace("'sales'", f"'{masked.schema}'").replace("'orders'", "'t'"))
    assert 'lakeproxy.masking-view-name' not in load(masked).json()['metadata']['properties'] and is_marked(masked)
    assert_error(get_view(masked, name), 404)
    answer = vend(masked, table='t')
    assert answer['masked_view'] is None and answer['post_attach_sql'] == [] and answer['row_filter'] == masked.plan()['row_filter']


def test_spark_reads_the_masking_view(masked, spark, lake):
    answer = queries(get_view(masked, view_name(masked)))
    assert answer['spark'] == (f"SELECT `id`, {masked.plan()['masks']['ssn'].replace(chr(34) + 'ssn' + chr(34), '`ssn`').replace(chr(34), '')} AS `ssn`, "
                               f"`region` FROM `t` WHERE ((`region` = 'eu'))")
    own = dataclasses.replace(lake, uri=masked.server.uri(), token_uri=f'{masked.server.uri()}/v1/oauth/tokens', credential='ana:s')
    name = spark_client.add_catalog(spark, own, f'masked_{masked.schema}')
    read = spark.sql(f'SELECT * FROM {name}.{masked.schema}.`{view_name(masked)}` ORDER BY id').collect()
    assert [tuple(row) for row in read] == by_owner(masked) == [(1, '1**', 'eu')]


def test_what_spark_would_take_otherwise_is_told_to_duckdb_alone(governed):
    governed.post('policy-attachments', **governed.on_column(governed.mask(body='md5(v)')))
    assert queries(get_view(governed, view_name(governed))).keys() == {'duckdb'}


def vend(governed, client='ana', status=200, **query):
    answer = governed.clients[client].send('GET', f'namespaces/{governed.schema}/ducklake-credentials', params=query)
    if status != 200:
        assert_error(answer, status)
        return answer.json()['error']['message']
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_duckdb_on_the_lake_reads_the_masked_table_by_its_name_alone(masked):
    plan, answer = masked.plan(), vend(masked, table='t')
    assert answer['masked_view'] == view_name(masked) and answer['mask_signature'] == plan['signature']
    assert answer['row_filter'] == plan['row_filter'] and plan['masks']['ssn'] in answer['mask_projection']
    assert answer['transparent'] is True and answer['file_layer'] is False
    with duckdb_client.connect_direct(answer) as duck:
        assert duck.execute('SELECT * FROM t').fetchall() == by_owner(masked) == [(1, '1**', 'eu')]
        assert duck.execute(f'SELECT * FROM "{answer["masked_view"]}"').fetchall() == [(1, '1**', 'eu')]
        # Whoever names the lake reads it: that is what cooperative means.
        assert len(duck.execute(f'SELECT * FROM lake.{masked.schema}.t').fetchall()) == 2
    entry = masked.audited('ducklake_credentials', principal='ana', object=f'table {masked.schema}.t')[0]
    assert entry['masked_cols'] == ['ssn'] and entry['applied_policies'] == sorted([masked.hide, masked.keep])
    assert entry['detail']['masked_tables'] == ['t']


def test_whoever_is_let_off_gets_the_table(masked):
    answer = vend(masked, 'bob', table='t')
    assert answer['post_attach_sql'] == [] and answer['transparent'] is False
    assert [answer[key] for key in ('masked_view', 'mask_signature', 'mask_projection', 'row_filter')] == [None] * 4
    with duckdb_client.connect_direct(answer) as duck:
        assert len(duck.execute(f'SELECT * FROM lake.{masked.schema}.t').fetchall()) == 2


def test_a_namespace_masks_each_of_its_tables(masked):
    schema = f'lake.{masked.schema}'
    masked.duck.execute(f'CREATE TABLE {schema}.open AS SELECT 1 AS a')
    masked.duck.execute(f"CREATE TABLE {schema}.other AS SELECT 'x' AS s")
    masked.duck.execute(f"CREATE TABLE {schema}.files AS SELECT 'raw' AS s")
    masked.post('policy-attachments', **masked.on_column(masked.mask('other', body="'o'"), 's', 'other'))
    masked.post('policy-attachments', **masked.on_column(masked.mask('files', body="'f'", file_layer_masking=True), 's', 'files'))
    answer = vend(masked)
    assert answer['transparent'] is True and answer['masked_view'] is None
    with duckdb_client.connect_direct(answer) as duck:
        assert duck.execute('SELECT * FROM t').fetchall() == [(1, '1**', 'eu')]
        assert duck.execute('SELECT s FROM other').fetchall() == [('o',)]
        assert duck.execute('SELECT a FROM open').fetchall() == [(1,)]
        with pytest.raises(duckdb.Error, match='masked for you'):
            duck.execute('SELECT count(*) FROM files')
    assert 'masked for you' in vend(masked, status=403, table='files')


def test_a_session_of_later_has_the_policies_of_then(masked):
    with duckdb_client.connect_direct(vend(masked, table='t')) as duck:
        masked.mask(body="'new'", unmasked_roles=[masked.name('steward')])
        for statement in vend(masked, table='t')['post_attach_sql']:
            duck.execute(statement)
        assert duck.execute('SELECT ssn FROM t').fetchall() == [('new',)]


def test_names_that_need_quotes_are_masked_too(governed):
    schema = f'lake.{governed.schema}'
    governed.duck.execute(f"""CREATE TABLE {schema}."it's ""so"", ok"("a ""b'" VARCHAR)""")
    governed.duck.execute(f"""INSERT INTO {schema}."it's ""so"", ok" VALUES ('secret')""")
    table = 'it\'s "so", ok'
    governed.post('policy-attachments', **governed.on_column(governed.mask(), 'a "b\'', table))
    with duckdb_client.connect_direct(vend(governed, table=table)) as duck:
        assert duck.execute('SELECT * FROM "it\'s ""so"", ok"').fetchall() == [('***',)]


def test_transparency_is_a_setting(masked, stack, settings):
    with Watched.beside(stack, **settings, LAKEPROXY_TRANSPARENT_MASKING='0') as server:
        masked.clients = clients_of(server)
        answer = vend(masked, table='t')
        assert answer['transparent'] is False and answer['masked_view']
        assert not any('search_path' in statement for statement in answer['post_attach_sql'])
        with duckdb_client.connect_direct(answer) as duck:
            assert duck.execute(f'SELECT * FROM lake_masked.{masked.schema}."{answer["masked_view"]}"').fetchall() == [(1, '1**', 'eu')]
            with pytest.raises(duckdb.Error, match='does not exist'):
                duck.execute('SELECT * FROM t')


def test_credentials_of_duckdb_are_open_and_closed_as_loads_are(masked, stack, settings):
    damage(masked, masked.hide)
    assert vend(masked, table='t')['masked_view'] is None
    entry = masked.audited('ducklake_credentials', principal='ana', object=f'table {masked.schema}.t')[0]
    assert entry['decision'] == 'failed_open' and entry['detail']['unmasked_because'].startswith('t: ')
    with Watched.beside(stack, **settings, LAKEPROXY_GOVERNANCE_FAIL_CLOSED='1') as closed:
        masked.clients = clients_of(closed)
        assert 'its policies cannot be told' in vend(masked, status=503, table='t')
