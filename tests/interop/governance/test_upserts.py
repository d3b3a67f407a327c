"""A repeated POST replaces, tags of all levels add up, a row survives only where a predicate is true, and a grant counts while it is there."""
import re

import pytest

from lake_clients import duck as duckdb_client
from test_cooperative import GOVERNANCE


def named(governed):
    """Of each collection: a request that is made, one that replaces it, and what is listed of the second."""
    tag, role = governed.tag(), governed.name('reader')
    mask, rows = governed.mask('attached'), governed.filter('attached')
    tagged = governed.tagged(tag)
    return {
        'tags': ({'namespace': tag['tag_namespace'], 'name': 'level', 'allowed_values': ['high']},
                 {'namespace': tag['tag_namespace'], 'name': 'level', 'allowed_values': ['low', 'none']}, ('namespace', 'name')),
        'object-tags': ({**tagged, 'value': 'one'}, {**tagged, 'value': 'other'}, ('schema', 'object', 'column')),
        'masking-policies': ({'name': governed.name('m'), 'signature': '(v VARCHAR)', 'body': "'1'"},
                             {'name': governed.name('m'), 'signature': '(w VARCHAR)', 'body': "'2'", 'unmasked_roles': ['r'], 'file_layer_masking': True},
                             ('name',)),
        'row-access-policies': ({'name': governed.name('r'), 'signature': '(v VARCHAR)', 'body': "v = 'a'", 'unmasked_roles': ['r']},
                                {'name': governed.name('r'), 'signature': '(v VARCHAR)', 'body': "v = 'b'", 'unmasked_roles': []}, ('name',)),
        'policy-attachments': (governed.on_column(mask), governed.on_column(mask), ('policy-kind', 'policy-name')),
        'policy-attachments of rows': (governed.on_table(rows, columns=['region']), governed.on_table(rows, columns=['ssn']), ('policy-kind', 'policy-name')),
        'roles': ({'name': role}, {'name': role}, ('name',)),
        'role-grants': ({'role': role, 'principal': 'ana'}, {'role': role, 'principal': 'ana'}, ('role', 'principal')),
    }


@pytest.fixture
def own_roles(governed):
    """Grants are the whole catalog's, and principals are other tests' too: none stays."""
    yield governed
    for table in ('lakeproxy_object_grant', 'lakeproxy_role_grant'):
        governed.ask(f"DELETE FROM {table} WHERE role LIKE '%{governed.schema}'")


def dashed(body):
    return {key.replace('_', '-'): value for key, value in body.items()}


def test_a_repeated_post_replaces(own_roles):
    governed = own_roles
    grant = {'object_kind': 'table', 'schema': governed.schema, 'object': 't', 'privilege': 'insert', 'role': governed.name('r')}
    cases = {**named(governed), 'object-grants': (grant, grant, ('schema', 'object', 'privilege', 'role'))}
    for case, (first, second, key) in cases.items():
        collection = case.split(' ')[0]
        for body in (first, second):
            governed.post(collection, **body)
            wanted = dashed(body)
            found = [one for one in governed.listed(collection) if all(one.get(word) == wanted[word] for word in key)]
            assert len(found) == 1, (case, found)
            assert found[0].items() >= wanted.items(), case


def test_tags_of_all_levels_add_up(governed):
    """Each level's tag brings a policy of its own to the one table, and a namespace's to the table beside it too."""
    governed.duck.execute(f"CREATE TABLE lake.{governed.schema}.u AS SELECT 1::BIGINT AS id, 'x' AS ssn, 'eu' AS region")
    levels, predicates = ('schema', 'table', 'column'), ('id < 10', "region <> 'us'", "ssn <> '9'")
    arguments = ('(id BIGINT)', '(region VARCHAR)', '(ssn VARCHAR)')
    policies = []
    for level, predicate, signature in zip(levels, predicates, arguments, strict=True):
        tag, rows = governed.tag(level), governed.filter(f'rows_{level}', predicate, signature)
        governed.post('policy-attachments', **governed.on_tag(rows, tag, 'row_access'))
        governed.post('object-tags', **governed.tagged(tag, level))
        policies.append(rows)
        assert governed.plan()['applied_policies'] == sorted(policies)
    masked, mask = governed.tag('masked'), governed.mask()
    governed.post('policy-attachments', **governed.on_tag(mask, masked))
    governed.post('object-tags', **governed.tagged(masked))
    plan = governed.plan()
    assert plan['applied_policies'] == sorted([*policies, mask]) and plan['masked_columns'] == ['ssn']
    assert plan['row_filter'].count(' AND ') == 2
    assert governed.plan(table='u')['applied_policies'] == [policies[0]], 'what its schema has'
    # One level less each time.
    for level, gone in zip(levels, tuple(policies), strict=True):
        governed.delete('object-tags', **governed.tagged({'tag_namespace': masked['tag_namespace'], 'tag_name': level}, level))
        policies.remove(gone)
        assert governed.plan()['applied_policies'] == sorted([*policies, mask])


def test_a_row_survives_only_where_the_predicate_is_true(governed):
    """Neither false nor NULL is true."""
    table = f'lake.{governed.schema}.t'
    governed.duck.execute(f"INSERT INTO {table} VALUES (3, NULL, NULL), (4, 'x', 'eu'), (5, 'y', '')")
    governed.post('policy-attachments', **governed.on_table(governed.filter(body="region = 'eu'")))
    governed.post('policy-attachments', **governed.on_table(governed.filter('not', "ssn <> 'x'", '(ssn VARCHAR)')))
    with governed.duck.cursor() as cursor:
        cursor.execute(f'USE lake.{governed.schema}')
        assert [row[0] for row in cursor.execute(governed.plan()['view_sql']).fetchall()] == [1]
    shown = governed.send('GET', 'preview', table=f'{governed.schema}.t', principal='ana').json()
    assert [row[0] for row in shown['rows']] == ['1'] and shown['is_all'] is True


def test_a_table_may_keep_all_its_masks_to_files(governed):
    """The table's own property, which no client sets: a policy that says nothing of files is then kept in them."""
    governed.post('policy-attachments', **governed.on_column(governed.mask()))
    assert governed.plan()['kind'] == 'cooperative'
    said = re.search(r'masking-disabled.*?```sql\n(.*?)```', GOVERNANCE.read_text(), re.DOTALL)[1]
    said = said.replace('lakeproxy.masking-disabled', 'lakeproxy.file-layer-masking').replace("'sales'", f"'{governed.schema}'")
    governed.ask(said.replace("'orders'", "'t'"))
    assert governed.plan()['kind'] == 'file_mask'
    answer = governed.clients['ana'].get(f'namespaces/{governed.schema}/ducklake-credentials', params={'table': 't'})
    assert answer.status_code == 403, answer.text


def test_a_granted_select_hides_the_others_until_it_is_revoked(own_roles):
    governed, role = own_roles, own_roles.name('reader')
    governed.duck.execute(f'CREATE TABLE lake.{governed.schema}.u AS SELECT 7 AS id')
    governed.post('role-grants', role=role, principal='ana')

    def session(client):
        answer = governed.clients[client].get(f'namespaces/{governed.schema}/ducklake-credentials')
        assert answer.status_code == 200, answer.text
        return answer.json()

    def seen(login):
        sql = f"SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake' AND schema_name = '{governed.schema}'"
        with duckdb_client.connect(duckdb_client.LAKE_EXTENSIONS, login['ducklake_attach_sql']) as duck:
            return {name for name, in duck.execute(sql).fetchall()}

    ana, bob = session('ana'), session('bob')
    assert seen(ana) == seen(bob) == {'t', 'u'}
    grant = {'object_kind': 'table', 'schema': governed.schema, 'object': 't', 'privilege': 'select', 'role': role}
    governed.post('object-grants', **grant)
    assert (seen(ana), seen(bob)) == ({'t'}, set())
    governed.delete('role-grants', role=role, principal='ana')
    assert seen(ana) == set(), 'the role is gone, the grant is not'
    governed.post('role-grants', role=role, principal='ana')
    assert seen(ana) == {'t'}
    governed.delete('object-grants', **grant)
    assert seen(ana) == seen(bob) == {'t', 'u'}
