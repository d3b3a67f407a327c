"""Masks that the reader's engine applies: what a table tells of them, to whom, and what becomes of it when policies change."""
import json

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError
from pyiceberg.types import StringType

from by_hand import Watched
from governed import clients_of
from rest import assert_error

VENDED = {'X-Iceberg-Access-Delegation': 'vended-credentials'}


def path(governed, table='t'):
    return f'namespaces/{governed.schema}/tables/{table}'


def load(governed, client='ana', **request):
    answer = governed.clients[client].send('GET', path(governed), **request)
    assert answer.status_code == 200, answer.text
    return answer


def told(governed, client='ana'):
    """What the table tells the client of masks."""
    properties = load(governed, client).json()['metadata']['properties']
    return {key: value for key, value in properties.items() if key.startswith('lakeproxy.mask') or key == 'iceberg.row-filter'}


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
