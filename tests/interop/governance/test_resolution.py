"""Which policies reach a table for whom, after changes of governance and of the table, by every writer."""
import pytest

from by_hand import Watched
from governed import clients_of
from rest import assert_error
from stack import process


def test_a_table_without_policies_is_raw(governed):
    effective = governed.effective()
    assert effective['principal'] == 'ana' and effective['table'] == f'{governed.schema}.t'
    assert effective['column_masks'] == [] and effective['row_access_policies'] == []
    plan = effective['enforcement']
    assert plan['kind'] == 'raw' and plan['masked_columns'] == [] and plan['row_filter'] is None and plan['view_sql'] is None


def test_masks_and_filters_say_why_they_apply(governed):
    tag, mask, rows = governed.tag(), governed.mask(body="left(v, 1) || '**'"), governed.filter()
    governed.post('object-tags', **governed.tagged(tag))
    governed.post('policy-attachments', **governed.on_tag(mask, tag))
    governed.post('policy-attachments', **governed.on_table(rows))
    effective = governed.effective()
    assert effective['column_masks'] == [{'column': 'ssn', 'masking_policies': [
        {'name': mask, 'why': f'tag {tag["tag_namespace"]}.ssn of the column', 'unmasked-roles': [], 'bypassed': False, 'file-layer-masking': False}]}]
    assert effective['row_access_policies'] == [{'name': rows, 'why': 'attached to the table', 'unmasked-roles': [], 'bypassed': False}]
    plan = effective['enforcement']
    assert plan['kind'] == 'cooperative'
    assert plan['masked_columns'] == ['ssn'] and plan['applied_policies'] == sorted([mask, rows])
    assert plan['row_filter'] == """(("region" = 'eu'))"""
    with governed.duck.cursor() as cursor:
        cursor.execute(f'USE lake.{governed.schema}')
        assert cursor.execute(plan['view_sql']).fetchall() == [(1, '1**', 'eu')]


def test_filters_run_on_raw_values_in_the_order_of_their_names(governed):
    mask = governed.mask()
    b, a = governed.filter('b'), governed.filter('a', 'id < 10', '(id BIGINT)')
    for policy in (b, a):
        governed.post('policy-attachments', **governed.on_table(policy))
    governed.post('policy-attachments', **governed.on_column(mask, 'region'))
    plan = governed.plan()
    assert plan['row_filter'] == """(("id" < 10)) AND (("region" = 'eu'))"""
    with governed.duck.cursor() as cursor:
        cursor.execute(f'USE lake.{governed.schema}')
        assert cursor.execute(plan['view_sql']).fetchall() == [(1, '123-45', '***')]


def test_tags_reach_down_from_the_schema_and_the_table(governed):
    tag, mask = governed.tag(), governed.mask()
    governed.post('policy-attachments', **governed.on_tag(mask, tag))
    governed.duck.execute(f'CREATE TABLE lake.{governed.schema}.u(a VARCHAR)')
    governed.post('object-tags', **governed.tagged(tag, 'table'))
    assert governed.plan()['masked_columns'] == ['id', 'ssn', 'region']
    assert governed.plan(table='u')['kind'] == 'raw'
    governed.delete('object-tags', **governed.tagged(tag, 'table'))
    assert governed.plan()['kind'] == 'raw'
    governed.post('object-tags', **governed.tagged(tag, 'schema'))
    assert governed.plan(table='u')['masks'] == {'a': "'***'"}
    assert governed.effective(table='u')['column_masks'][0]['masking_policies'][0]['why'].endswith('of the schema')
    # A namespace around it, or one whose name begins so, is another one.
    governed.duck.execute(f'CREATE SCHEMA lake.{governed.schema}2')
    governed.duck.execute(f'CREATE TABLE lake.{governed.schema}2.u(a VARCHAR)')
    other = governed.send('GET', 'effective-policies', table=f'{governed.schema}2.u', principal='ana')
    assert other.json()['enforcement']['kind'] == 'raw'


def test_roles_of_a_grant_and_of_a_token_let_off(governed):
    auditor = governed.name('auditor')
    mask, rows = governed.mask(unmasked_roles=[auditor]), governed.filter(unmasked_roles=['manager'])
    governed.post('policy-attachments', **governed.on_column(mask))
    governed.post('policy-attachments', **governed.on_table(rows))
    assert governed.plan()['applied_policies'] == sorted([mask, rows])
    governed.post('role-grants', role=auditor, principal='ana')
    effective = governed.effective()
    assert auditor in effective['roles']
    assert effective['enforcement']['masked_columns'] == [] and effective['enforcement']['applied_policies'] == [rows]
    assert effective['column_masks'][0]['masking_policies'][0]['bypassed'] is True
    assert governed.plan('bob')['applied_policies'] == sorted([mask, rows])
    assert governed.plan(roles=f'manager,{auditor}')['kind'] == 'raw'
    assert governed.plan('bob', roles=auditor.upper())['masked_columns'] == ['ssn']
    governed.delete('role-grants', role=auditor, principal='ana')
    assert governed.plan()['masked_columns'] == ['ssn']


def test_a_change_is_seen_by_every_server_at_its_next_request(stack, governed, settings):
    mask = governed.mask()
    with Watched.beside(stack, **settings) as other:
        there = clients_of(other)['admin']

        def masked():
            answer = there.get('governance/effective-policies', params={'table': f'{governed.schema}.t', 'principal': 'ana'})
            return answer.json()['enforcement']['masked_columns']
        for _ in range(5):
            assert masked() == []
            governed.post('policy-attachments', **governed.on_column(mask))
            assert masked() == ['ssn']
            governed.delete('policy-attachments', **governed.on_column(mask))


def test_file_layer_masking_is_a_kind_of_its_own(governed):
    mask = governed.mask(file_layer_masking=True)
    governed.post('policy-attachments', **governed.on_column(mask))
    assert governed.plan()['kind'] == 'file_mask'


# The life of a table

@pytest.mark.parametrize('by', ['DuckDB', 'Iceberg'])
def test_policies_go_with_a_table_and_a_column_that_are_renamed(governed, catalog, by):
    mask, rows, tag = governed.mask(), governed.filter(), governed.tag()
    governed.post('policy-attachments', **governed.on_column(mask))
    governed.post('policy-attachments', **governed.on_table(rows))
    governed.post('object-tags', **governed.tagged(tag, 'table'))
    if by == 'DuckDB':
        governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t RENAME TO u')
        governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.u RENAME COLUMN ssn TO number')
        governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.u RENAME COLUMN region TO ssn')
    else:
        catalog.rename_table(f'{governed.schema}.t', f'{governed.schema}.u')
        with catalog.load_table(f'{governed.schema}.u').update_schema() as change:
            change.rename_column('ssn', 'number')
        with catalog.load_table(f'{governed.schema}.u').update_schema() as change:
            change.rename_column('region', 'ssn')
    plan = governed.plan(table='u')
    assert plan['masks'] == {'number': "'***'"} and plan['row_filter'] == """(("ssn" = 'eu'))"""
    assert [entry['object'] for entry in governed.listed('object-tags') if entry['schema'] == governed.schema] == ['u']
    renamed = [entry for entry in governed.audited('rename_table_governance') if entry['detail']['from'] == 't' and entry['object'] == 'u'
               and entry['detail']['table_id'] == table_id(governed, 'u')]
    assert len(renamed) == 1
    columns = [entry for entry in governed.audited('rename_column_governance') if entry['detail']['table_id'] == table_id(governed, 'u')]
    assert {(entry['detail']['from'], entry['object']) for entry in columns} == {('ssn', 'u.number'), ('region', 'u.ssn')}
    # The name that is free again is nobody's: a new table has no policies.
    governed.duck.execute(f'CREATE TABLE lake.{governed.schema}.t(ssn VARCHAR)')
    assert governed.plan()['kind'] == 'raw'


@pytest.mark.parametrize('by', ['DuckDB', 'Iceberg'])
def test_what_happens_to_a_governed_table_is_in_the_trail_before_anybody_reads_it(governed, catalog, by):
    """Behind the next request of any kind; the principal says whose login of PostgreSQL it was."""
    governed.post('policy-attachments', **governed.on_column(governed.mask()))
    identifier = table_id(governed, 't')
    if by == 'DuckDB':
        governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t RENAME COLUMN ssn TO number')
    else:
        with catalog.load_table(f'{governed.schema}.t').update_schema() as change:
            change.rename_column('ssn', 'number')
    of_table = f"(detail->>'table_id')::bigint = {identifier}"

    def moved():
        assert governed.clients['bob'].get(f'namespaces/{governed.schema}/tables/t').status_code == 200
        return governed.ask(f"SELECT principal FROM lakeproxy_audit WHERE operation = 'rename_column_governance' AND {of_table}")
    assert process.wait_until(moved, 60), 'the rename is not in the trail'
    assert moved() == 'lake:' + governed.ask('SELECT session_user')
    assert governed.ask(f'SELECT count(*) FROM lakeproxy_governance_event WHERE {of_table}') == '0'
    entries = [entry for entry in governed.audited('rename_column_governance') if entry['detail']['table_id'] == identifier]
    assert [entry['principal'] for entry in entries] == [moved()]


def test_a_table_that_moves_gets_the_tags_of_its_new_namespace_but_no_second_mask(governed, catalog):
    one, two, tag = governed.mask('one'), governed.mask('two'), governed.tag()
    other = f'{governed.schema}_other'
    governed.duck.execute(f'CREATE SCHEMA lake.{other}')
    governed.post('policy-attachments', **governed.on_tag(two, tag))
    governed.post('object-tags', object_kind='schema', schema=other, **tag)
    governed.post('policy-attachments', **governed.on_column(one))
    move = {'source': {'namespace': [governed.schema], 'name': 't'}, 'destination': {'namespace': [other], 'name': 't'}}
    refused = governed.clients['bob'].post('tables/rename', move)
    assert_error(refused, 409)
    assert one in refused.text and two in refused.text
    assert governed.plan()['masks'] == {'ssn': "'***'"}
    governed.delete('policy-attachments', **governed.on_column(one))
    assert governed.clients['bob'].post('tables/rename', move).status_code == 204
    answer = governed.send('GET', 'effective-policies', table=f'{other}.t', principal='ana').json()
    assert answer['enforcement']['masked_columns'] == ['id', 'ssn', 'region']


@pytest.mark.parametrize('in_files', (False, True))
def test_a_table_that_moves_is_loaded_by_the_tags_of_its_new_namespace_at_once(governed, in_files):
    """No policy changes with the move, and each event loop keeps what it was told of policies."""
    other, tag = f'{governed.schema}_other', governed.tag()
    governed.duck.execute(f'CREATE SCHEMA lake.{other}')
    governed.post('policy-attachments', **governed.on_tag(governed.mask(body='NULL', file_layer_masking=in_files), tag))
    governed.post('object-tags', object_kind='schema', schema=other, **tag)

    def load(schema):
        found = []
        process.wait_until(lambda: found.append(governed.clients['ana'].get(f'namespaces/{schema}/tables/t')) or found[-1].status_code != 503, 60)
        assert found[-1].status_code == 200, found[-1].text
        return found[-1].json()['metadata']

    def is_masked(schema):
        shown = {'/masked/' in metadata['location'] if in_files else 'lakeproxy.mask.ssn' in metadata['properties']
                 for metadata in (load(schema) for _ in range(8))}
        assert len(shown) == 1
        return shown.pop()

    def move(source, destination):
        places = {'source': {'namespace': [source], 'name': 't'}, 'destination': {'namespace': [destination], 'name': 't'}}
        assert governed.clients['admin'].post('tables/rename', places).status_code == 204

    for _ in range(2):
        assert not is_masked(governed.schema)
        move(governed.schema, other)
        assert is_masked(other)
        move(other, governed.schema)


def test_a_table_that_came_back_with_two_masks_may_be_renamed(governed):
    """Two masks may meet on what a drop took away; a rename adds none of them."""
    one, two, tag, other = governed.mask('one'), governed.mask('two'), governed.tag(), f'{governed.schema}_other'
    governed.duck.execute(f'CREATE SCHEMA lake.{other}')
    governed.post('object-tags', object_kind='column', schema=governed.schema, object='t', column='ssn', **tag)
    governed.post('policy-attachments', **governed.on_tag(one, tag))
    bob, table = governed.clients['bob'], f'namespaces/{governed.schema}/tables/t'
    metadata = bob.get(table).json()['metadata-location']
    assert bob.send('DELETE', table).status_code == 204
    governed.post('policy-attachments', **governed.on_tag(two, tag))
    bob.post(f'namespaces/{governed.schema}/register', {'name': 't', 'metadata-location': metadata})
    place = {'namespace': [governed.schema], 'name': 't'}
    assert bob.post('tables/rename', {'source': place, 'destination': {**place, 'name': 'u'}}).status_code == 204
    # Nor does a move where no more is met; one that adds a third does.
    third, more = governed.mask('third'), governed.tag('more')
    governed.post('policy-attachments', **governed.on_tag(third, more))
    moved = {'source': {**place, 'name': 'u'}, 'destination': {'namespace': [other], 'name': 'u'}}
    governed.post('object-tags', object_kind='schema', schema=other, **more)
    assert_error(bob.post('tables/rename', moved), 409)
    governed.delete('object-tags', object_kind='schema', schema=other, **more)
    assert bob.post('tables/rename', moved).status_code == 204


def table_id(governed, table):
    return int(governed.ask(f"""SELECT t.table_id FROM ducklake_table t JOIN ducklake_schema s USING (schema_id)
        WHERE s.schema_name = '{governed.schema}' AND t.table_name = '{table}' AND t.end_snapshot IS NULL"""))


@pytest.mark.parametrize('by', ['DuckDB', 'Iceberg'])
def test_what_is_said_of_a_table_that_is_dropped_is_in_force_no_more(governed, catalog, by):
    mask, rows, tag = governed.mask(), governed.filter(), governed.tag()
    governed.post('policy-attachments', **governed.on_column(mask))
    governed.post('policy-attachments', **governed.on_table(rows))
    governed.post('object-tags', **governed.tagged(tag))
    identifier = table_id(governed, 't')
    if by == 'DuckDB':
        governed.duck.execute(f'DROP TABLE lake.{governed.schema}.t')
    else:
        catalog.drop_table(f'{governed.schema}.t')
    assert [entry['object'] for entry in governed.audited('purge_table_governance') if entry['detail']['table_id'] == identifier] == ['t']
    assert governed.schema not in [entry['schema'] for entry in governed.listed('object-tags')]
    assert governed.schema not in [entry.get('schema') for entry in governed.listed('policy-attachments')]
    governed.duck.execute(f'CREATE TABLE lake.{governed.schema}.t(id BIGINT, ssn VARCHAR, region VARCHAR)')
    assert governed.plan()['kind'] == 'raw'
    # They hold nothing up.
    for path in (f'masking-policies/{mask}', f'row-access-policies/{rows}', f'tags/{tag["tag_namespace"]}/ssn'):
        governed.delete(path)


def test_a_table_that_is_registered_again_is_masked_as_before(governed, catalog):
    """Whoever may write a namespace must not strip masks by a drop."""
    mask = governed.mask()
    governed.post('policy-attachments', **governed.on_column(mask))
    location = catalog.load_table(f'{governed.schema}.t').metadata_location
    catalog.drop_table(f'{governed.schema}.t')
    bob = governed.clients['bob']
    answer = bob.post(f'namespaces/{governed.schema}/register', {'name': 't', 'metadata-location': location})
    assert answer.status_code == 200, answer.text
    assert governed.plan()['masks'] == {'ssn': "'***'"}


def test_a_table_comes_back_though_who_registers_it_may_not_see_it(governed, catalog):
    """The answer says that it is there, instead of a refusal as if nothing had been done."""
    tag, rows = governed.tag(), governed.filter()
    governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t DROP COLUMN region')
    location = catalog.load_table(f'{governed.schema}.t').metadata_location
    governed.post('policy-attachments', **governed.on_tag(rows, tag, 'row_access'))
    governed.post('object-tags', **governed.tagged(tag, 'table'))
    bob, path = governed.clients['bob'], f'namespaces/{governed.schema}/tables/t'
    assert_error(bob.get(path), 403)
    assert bob.send('DELETE', path).status_code == 204
    answer = bob.post(f'namespaces/{governed.schema}/register', {'name': 't', 'metadata-location': location})
    assert_error(answer, 403)
    assert 'was made' in answer.json()['error']['message'] and rows in answer.json()['error']['message']
    assert bob.send('HEAD', path).status_code == 204
    # One who may see it is answered with it.
    governed.delete('object-tags', **governed.tagged(tag, 'table'))
    location = catalog.load_table(f'{governed.schema}.t').metadata_location
    assert bob.send('DELETE', path).status_code == 204
    answer = bob.post(f'namespaces/{governed.schema}/register', {'name': 't', 'metadata-location': location})
    assert answer.status_code == 200, answer.text


def test_a_dropped_column_takes_its_policies_along(governed):
    mask, rows = governed.mask(), governed.filter()
    governed.post('policy-attachments', **governed.on_column(mask))
    governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t DROP COLUMN ssn')
    governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t ADD COLUMN ssn VARCHAR')
    assert governed.plan()['kind'] == 'raw', 'another column of the same name'
    # The attachment is still there, for snapshots that have the column, and can be taken back by its last name.
    governed.delete(f'masking-policies/{mask}', 409)
    # A row-access policy whose column is gone lets nothing through, and says so.
    governed.post('policy-attachments', **governed.on_table(rows))
    governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t DROP COLUMN region')
    plan = governed.plan()
    assert plan['kind'] == 'refused' and rows in plan['reason'] and 'region' in plan['reason']
    assert plan['masked_columns'] == [] and plan['view_sql'] is None
    governed.delete('policy-attachments', **governed.on_table(rows))
    assert governed.plan()['kind'] == 'raw'


def test_what_somebody_wrote_past_the_server_refuses_the_read(governed):
    """Two masks, or an attachment without its policy: PostgreSQL has them, the resolver lets nothing through."""
    one, two = governed.mask('one'), governed.mask('two')
    governed.post('policy-attachments', **governed.on_column(one))
    identifier = table_id(governed, 't')
    governed.ask(f"""INSERT INTO lakeproxy_policy_attachment (policy_kind, policy_name, target_kind, table_id, column_id)
        SELECT 'masking', '{two}', 'column', {identifier}, column_id FROM ducklake_column
         WHERE table_id = {identifier} AND column_name = 'ssn' AND end_snapshot IS NULL""")
    plan = governed.plan()
    assert plan['kind'] == 'refused' and 'ssn' in plan['reason'] and one in plan['reason'] and two in plan['reason']
    governed.delete('policy-attachments', **governed.on_column(two))
    assert governed.plan()['kind'] == 'cooperative'
    governed.ask(f"DELETE FROM lakeproxy_masking_policy WHERE name = '{one}'")
    plan = governed.plan()
    assert plan['kind'] == 'refused' and one in plan['reason']
    governed.mask('one')
    assert governed.plan()['kind'] == 'cooperative'


def test_what_the_lake_forgets_is_forgotten(governed):
    mask = governed.mask()
    governed.post('policy-attachments', **governed.on_column(mask))
    identifier = table_id(governed, 't')
    attached = f'SELECT count(*) FROM lakeproxy_policy_attachment WHERE table_id = {identifier}'
    governed.duck.execute(f'DROP TABLE lake.{governed.schema}.t')
    assert governed.ask(attached) == '1'
    governed.ask(f'DELETE FROM ducklake_table WHERE table_id = {identifier}')
    assert governed.ask(attached) == '0'


def test_the_trail_is_whole_after_all_that(governed, server):
    import subprocess
    checked = subprocess.run([server.binary, 'audit', 'verify'], env=server.environment(), cwd=server.folder, timeout=120,
                             capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    newest = governed.send('GET', 'audit', limit=2).json()['entries']
    assert newest[0]['id'] == newest[1]['id'] + 1
    older = governed.send('GET', 'audit', limit=1, before=newest[1]['id']).json()['entries']
    assert older[0]['id'] == newest[1]['id'] - 1
