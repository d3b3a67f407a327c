"""What an administrator writes of governance: made, listed, taken back, refused, and audited."""
import json

import pytest

from governed import without_token
from rest import assert_error

# A request that would be made, and the path by which it would be taken back where that names it.
OBJECTS = {
    'tags': ({'namespace': 'n', 'name': 't'}, '/n/t'),
    'object-tags': ({'object-kind': 'schema', 'schema': 'main', 'tag-namespace': 'n', 'tag-name': 't'}, ''),
    'masking-policies': ({'name': 'm', 'signature': '(v VARCHAR)', 'body': 'v'}, '/m'),
    'row-access-policies': ({'name': 'm', 'signature': '(v VARCHAR)', 'body': 'v IS NULL'}, '/m'),
    'policy-attachments': ({'policy-kind': 'masking', 'policy-name': 'm', 'target-kind': 'tag', 'tag-namespace': 'n', 'tag-name': 't'}, ''),
    'roles': ({'name': 'r'}, '/r'),
    'role-grants': ({'role': 'r', 'principal': 'ana'}, ''),
    'object-grants': ({'object-kind': 'schema', 'schema': 'main', 'privilege': 'insert', 'role': 'r'}, ''),
}


@pytest.mark.parametrize('collection', OBJECTS)
def test_only_an_administrator_governs(governed, collection):
    body, path = OBJECTS[collection]
    for client in ('ana', 'bob'):
        assert_error(governed.send('GET', collection, client=client), 403)
        assert_error(governed.send('POST', collection, body, client=client), 403)
        assert_error(governed.send('DELETE', collection + path, None if path else body, client=client), 403)
    assert body not in governed.listed(collection)


def test_nobody_without_a_token_governs(governed, server):
    assert_error(without_token(server), 401)
    assert_error(governed.send('GET', 'effective-policies', client='ana', table=f'{governed.schema}.t', principal='ana'), 403)


def test_objects_are_made_listed_and_taken_back(governed):
    tag = governed.tag()
    name_space = tag['tag_namespace']
    assert governed.post('tags', namespace=name_space, name='level', allowed_values=['high', 'low']) == {
        'status': 'created', 'namespace': name_space, 'name': 'level'}
    mask, rows = governed.mask(unmasked_roles=['auditor']), governed.filter()
    role = governed.name('reader')
    assert governed.post('roles', name=role) == {'status': 'created', 'name': role}
    assert governed.post('object-tags', **governed.tagged(tag, value='x'))['status'] == 'assigned'
    assert governed.post('policy-attachments', **governed.on_tag(mask, tag))['status'] == 'attached'
    assert governed.post('policy-attachments', **governed.on_table(rows))['status'] == 'attached'
    assert governed.post('role-grants', role=role, principal='ana') == {'status': 'granted', 'role': role, 'principal': 'ana'}
    grant = {'object_kind': 'table', 'schema': governed.schema, 'object': 't', 'privilege': 'insert', 'role': role}
    assert governed.post('object-grants', **grant)['status'] == 'granted'

    assert {'namespace': name_space, 'name': 'level', 'allowed-values': ['high', 'low']} in governed.listed('tags')
    assert {'object-kind': 'column', 'schema': governed.schema, 'object': 't', 'column': 'ssn', 'tag-namespace': name_space, 'tag-name': 'ssn',
            'value': 'x'} in governed.listed('object-tags')
    assert {'name': mask, 'signature': '(v VARCHAR)', 'body': "'***'", 'unmasked-roles': ['auditor'],
            'file-layer-masking': False} in governed.listed('masking-policies')
    assert {'name': rows, 'signature': '(region VARCHAR)', 'body': "region = 'eu'", 'unmasked-roles': []} in governed.listed('row-access-policies')
    attachments = governed.listed('policy-attachments')
    assert {'policy-kind': 'masking', 'policy-name': mask, 'target-kind': 'tag', 'tag-namespace': name_space, 'tag-name': 'ssn'} in attachments
    assert {'policy-kind': 'row_access', 'policy-name': rows, 'target-kind': 'table', 'schema': governed.schema, 'object': 't',
            'columns': ['region']} in attachments
    assert {'name': role} in governed.listed('roles')
    assert {'role': role, 'principal': 'ana'} in governed.listed('role-grants')
    assert {key.replace('_', '-'): value for key, value in grant.items()} in governed.listed('object-grants')

    # What is used stays, and is not changed by the attempt.
    assert 'attached' in governed.delete(f'masking-policies/{mask}', 409)
    assert 'attached' in governed.delete(f'row-access-policies/{rows}', 409)
    assert 'assigned' in governed.delete(f'tags/{name_space}/ssn', 409)
    assert 'granted' in governed.delete(f'roles/{role}', 409)
    assert governed.delete('policy-attachments', **governed.on_tag(mask, tag))['status'] == 'detached'
    assert governed.delete('policy-attachments', **governed.on_table(rows))['status'] == 'detached'
    assert governed.delete(f'masking-policies/{mask}') == {'status': 'deleted', 'name': mask}
    assert governed.delete(f'row-access-policies/{rows}')['status'] == 'deleted'
    assert governed.delete('object-tags', **governed.tagged(tag))['status'] == 'removed'
    assert governed.delete(f'tags/{name_space}/ssn') == {'status': 'deleted', 'namespace': name_space, 'name': 'ssn'}
    assert governed.delete('object-grants', **grant)['status'] == 'revoked'
    assert governed.delete('role-grants', role=role, principal='ana')['status'] == 'revoked'
    assert governed.delete(f'roles/{role}')['status'] == 'deleted'
    for collection in OBJECTS:
        entries = [entry for entry in governed.listed(collection) if entry.get('name') != 'level']
        assert governed.schema not in json.dumps(entries), collection


def test_what_is_not_there_is_not_found(governed):
    tag, mask, role = governed.tag(), governed.mask(), governed.name('r')
    missing = {'tag_namespace': tag['tag_namespace'], 'tag_name': 'none'}
    governed.refused(404, 'object-tags', **governed.tagged(missing))
    governed.refused(404, 'object-tags', **{**governed.tagged(tag), 'column': 'none'})
    governed.refused(404, 'object-tags', **{**governed.tagged(tag), 'object': 'none'})
    governed.refused(404, 'object-tags', **{**governed.tagged(tag), 'schema': 'none'})
    governed.refused(404, 'policy-attachments', **governed.on_tag('none', tag))
    governed.refused(404, 'policy-attachments', **governed.on_tag(mask, missing))
    governed.refused(404, 'policy-attachments', **governed.on_column(mask, 'SSN'))
    governed.refused(404, 'policy-attachments', **governed.on_column(mask, 'ſsn'))
    governed.delete('tags/none/none', 404)
    governed.delete('masking-policies/none', 404)
    governed.delete('row-access-policies/none', 404)
    governed.delete('roles/none', 404)
    governed.delete('role-grants', 404, role=role, principal='ana')
    governed.delete('object-tags', 404, **governed.tagged(tag))
    governed.delete('policy-attachments', 404, **governed.on_column(mask))
    assert_error(governed.send('GET', 'effective-policies', table=f'{governed.schema}.none', principal='ana'), 404)
    for query in ({}, {'table': 't', 'principal': 'ana'}, {'table': f'{governed.schema}.t'}, {'table': 'a%zz.t', 'principal': 'ana'}):
        assert_error(governed.send('GET', 'effective-policies', **query), 400)


def test_an_attachment_that_no_read_would_follow_is_refused(governed):
    mask, rows = governed.mask(), governed.filter()
    table = {'schema': governed.schema, 'object': 't'}
    assert governed.refused(400, 'policy-attachments', policy_kind='masking', policy_name=mask, target_kind='table', **table).startswith('target-kind')
    assert governed.refused(400, 'policy-attachments', policy_kind='row_access', policy_name=rows, target_kind='column', column='region',
                            **table).startswith('target-kind')
    assert governed.refused(400, 'policy-attachments', **governed.on_table(rows, columns=['none'])).startswith('columns')
    assert governed.refused(400, 'policy-attachments', **governed.on_table(rows, columns=['region', 'ssn'])).startswith('columns')
    other = governed.filter('other', 'part = 1', '(part INTEGER)')
    assert governed.refused(400, 'policy-attachments', **governed.on_table(other)).startswith('columns')
    assert governed.post('policy-attachments', **governed.on_table(other, columns=['id']))['status'] == 'attached'


def test_a_member_of_the_wrong_kind_is_named(governed):
    cases = [('tags', {'namespace': 'a'}, 'name'), ('tags', {'namespace': 'a', 'name': 'b', 'comment': 'c'}, 'comment'),
             ('tags', {'namespace': 'a', 'name': 7}, 'name'), ('roles', {'name': 'x' * 256}, 'name'), ('roles', {'name': 'a\nb'}, 'name'),
             ('masking-policies', {'name': 'm', 'signature': '(v VARCHAR)', 'body': ['v']}, 'body'),
             ('masking-policies', {'name': 'm', 'signature': '(v VARCHAR)', 'body': 'v', 'unmasked-roles': 'r'}, 'unmasked-roles'),
             ('object-grants', {'object-kind': 'table', 'schema': 's', 'object': 't', 'privilege': 'own', 'role': 'r'}, 'privilege'),
             ('object-tags', {'object-kind': 'file', 'schema': 's', 'object': 't', 'tag-namespace': 'a', 'tag-name': 'b'}, 'object-kind')]
    for collection, body, member in cases:
        answer = governed.send('POST', collection, body)
        assert_error(answer, 400)
        assert answer.json()['error']['message'].startswith(member + ': '), answer.text
    assert_error(governed.send('POST', 'roles', ['r']), 400)
    broken = governed.clients['admin'].send('POST', 'governance/roles', data='{"name": ', headers={'Content-Type': 'application/json'})
    assert_error(broken, 400)


def test_a_tag_takes_only_values_that_it_allows(governed):
    name_space = governed.name('pii')
    governed.post('tags', namespace=name_space, name='level', allowed_values=['high'])
    tag = {'tag_namespace': name_space, 'tag_name': 'level'}
    assert governed.refused(400, 'object-tags', **governed.tagged(tag, value='low')).startswith('value: ')
    governed.refused(400, 'object-tags', **governed.tagged(tag))
    governed.post('object-tags', **governed.tagged(tag, value='high'))


def test_a_second_mask_on_a_column_is_refused_from_each_side(governed):
    one, two, tag, other = governed.mask('one'), governed.mask('two'), governed.tag('a'), governed.tag('b')
    governed.post('policy-attachments', **governed.on_column(one))
    assert 'ssn' in governed.refused(409, 'policy-attachments', **governed.on_column(two))
    governed.post('policy-attachments', **governed.on_column(one))  # The same again is no second one.

    # The tag is there, the mask comes; the mask is at the tag, the tag comes: to the column, the table, the schema.
    for kind in ('column', 'table', 'schema'):
        governed.post('object-tags', **governed.tagged(tag, kind))
        governed.refused(409, 'policy-attachments', **governed.on_tag(two, tag))
        governed.delete('object-tags', **governed.tagged(tag, kind))
        governed.post('policy-attachments', **governed.on_tag(two, tag))
        governed.refused(409, 'object-tags', **governed.tagged(tag, kind))
        governed.delete('policy-attachments', **governed.on_tag(two, tag))
    governed.delete('policy-attachments', **governed.on_column(one))

    # Two tags with a mask each, on levels that no column has of its own.
    governed.post('policy-attachments', **governed.on_tag(one, tag))
    governed.post('policy-attachments', **governed.on_tag(two, other))
    governed.post('object-tags', **governed.tagged(tag, 'schema'))
    assert 'schema' in governed.refused(409, 'object-tags', **governed.tagged(other, 'schema'))
    governed.refused(409, 'object-tags', **governed.tagged(other, 'table'))
    governed.refused(409, 'object-tags', **governed.tagged(other, 'column'))
    assert [entry['tag-name'] for entry in governed.listed('object-tags') if entry['schema'] == governed.schema] == ['a']

    # A column that comes later has what its schema has, and one mask.
    governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t ADD COLUMN late VARCHAR')
    assert governed.plan()['masked_columns'] == ['id', 'ssn', 'region', 'late']


BODIES = ["v; SELECT 1", "v; DROP TABLE t", "v FROM t", "(SELECT 1)", "(SELECT max(id) FROM t)", "v IN (SELECT 'x')", "read_text('/etc/passwd')",
          "(SELECT content FROM read_text('/etc/passwd'))", "read_csv('s3://lake/x')", "current_setting('s3_secret_access_key')", "getenv('HOME')",
          "current_user", "now()", "random()", "count(v)", "repeat('x', 3000000000)", "printf('%1000000000d', 1)", "t.v", "w", "$1", "", "(", "'open",
          "/* open", "v) FROM (SELECT 1", "v -- \n; SELECT 1", "v AS x", "*", "ATTACH 'x'", "list_transform([v], lambda x: x)",
          "upper(" * 600 + "v" + ")" * 600, "v" * 9000]


@pytest.mark.parametrize('body', BODIES, ids=lambda body: body[:24])
def test_a_body_that_is_no_plain_expression_is_refused(governed, body):
    for collection in ('masking-policies', 'row-access-policies'):
        assert governed.refused(400, collection, name=governed.name('m'), signature='(v VARCHAR)', body=body).startswith('body: ')
        assert governed.name('m') not in [entry['name'] for entry in governed.listed(collection)]


@pytest.mark.parametrize('signature', ['', 'v VARCHAR', '(v)', '(v nosuchtype)', '(v VARCHAR) AS x)', '(v VARCHAR, v INTEGER)',
                                       '(v (SELECT 1))', '(v VARCHAR; SELECT 1)', '(v VARCHAR'])
def test_a_signature_that_is_none_is_refused(governed, signature):
    assert governed.refused(400, 'masking-policies', name=governed.name('m'), signature=signature, body='v').startswith('signature: ')


def test_the_words_of_the_parser_are_told(governed):
    assert 'syntax error' in governed.refused(400, 'masking-policies', name=governed.name('m'), signature='(v VARCHAR)', body='left(v')
    assert 'BOOLEAN' in governed.refused(400, 'row-access-policies', name=governed.name('m'), signature='(v VARCHAR)', body='v')


NAMES = ['a"b', "it's", 'a.b', 'a/b', 'ſsn', 'раypal', 'a b', '; DROP TABLE lakeproxy_tag; --', '%', '{}[]', '\\', '$1', '@lakeproxy_tag']


@pytest.mark.parametrize('name', NAMES)
def test_names_with_any_letters_stay_what_they_are(governed, name):
    from urllib.parse import quote
    word = f'{name} {governed.schema}'
    governed.post('tags', namespace=word, name=name)
    governed.post('masking-policies', name=word, signature='("v" VARCHAR)', body='"v"', unmasked_roles=[name])
    governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t ADD COLUMN "{name.replace(chr(34), chr(34) * 2)}" VARCHAR')
    governed.post('policy-attachments', **governed.on_column(word, name))
    quoted = '"' + name.replace('"', '""') + '"'
    plan = governed.plan()
    assert plan['masks'] == {name: quoted} and plan['applied_policies'] == [word]
    with governed.duck.cursor() as cursor:
        cursor.execute(f'USE lake.{governed.schema}')
        assert len(cursor.execute(plan['view_sql']).fetchall()) == 2
    governed.delete('policy-attachments', **governed.on_column(word, name))
    assert governed.delete(f'masking-policies/{quote(word, safe="")}')['name'] == word
    assert governed.delete(f'tags/{quote(word, safe="")}/{quote(name, safe="")}')['status'] == 'deleted'


def test_a_policy_is_replaced_under_its_name(governed):
    mask = governed.mask()
    governed.post('policy-attachments', **governed.on_column(mask))
    before = governed.plan()
    governed.mask(body='left(v, 1)')
    after = governed.plan()
    assert after['masks'] == {'ssn': '"left"("ssn", 1)'}
    assert after['signature'] != before['signature'] and after['policy_version'] > before['policy_version']
    # One with other arguments than the columns that it is attached to cannot be put in its place.
    rows = governed.filter()
    governed.post('policy-attachments', **governed.on_table(rows))
    governed.refused(409, 'row-access-policies', name=rows, signature='(a VARCHAR, b VARCHAR)', body='a = b')
    assert [one for one in governed.listed('row-access-policies') if one['name'] == rows][0]['signature'] == '(region VARCHAR)'


def test_each_change_is_audited_with_who_made_it(governed):
    tag, mask = governed.tag(), governed.mask()
    governed.post('object-tags', **governed.tagged(tag))
    governed.post('policy-attachments', **governed.on_tag(mask, tag))
    governed.delete('policy-attachments', **governed.on_tag(mask, tag))
    governed.delete('object-tags', **governed.tagged(tag))
    governed.delete(f'masking-policies/{mask}')
    governed.delete(f'tags/{tag["tag_namespace"]}/ssn')
    table = f'{governed.schema}.t'
    for operation, name in [('create_tag', f'{tag["tag_namespace"]}.ssn'), ('create_masking_policy', mask), ('assign_object_tag', f'{table}.ssn'),
                            ('attach_policy', mask), ('detach_policy', mask), ('remove_object_tag', f'{table}.ssn'),
                            ('delete_masking_policy', mask), ('delete_tag', f'{tag["tag_namespace"]}.ssn')]:
        line = [entry for entry in governed.audited(operation) if entry['object'] == name]
        assert len(line) == 1, operation
        assert line[0]['principal'] == 'admin' and line[0]['decision'] == 'allowed' and line[0]['request_id']
    assert governed.audited('create_masking_policy', object=mask)[0]['detail'] == {
        'name': mask, 'signature': '(v VARCHAR)', 'body': "'***'", 'unmasked-roles': [], 'file-layer-masking': False}
    # What is refused leaves no line of a change.
    governed.refused(400, 'masking-policies', name=governed.name('bad'), signature='(v VARCHAR)', body='(SELECT 1)')
    assert not governed.audited('create_masking_policy', object=governed.name('bad'))


def test_changes_that_race_leave_one_mask(governed):
    from concurrent.futures import ThreadPoolExecutor
    masks = [governed.mask(f'm{i}') for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda mask: governed.send('POST', 'policy-attachments', {
            key.replace('_', '-'): value for key, value in governed.on_column(mask).items()}).status_code, masks))
    assert sorted(answers) == [200] + [409] * 5
    assert len(governed.plan()['applied_policies']) == 1
