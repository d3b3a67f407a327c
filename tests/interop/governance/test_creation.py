"""A table that is made where policies mask it for its own maker."""
import dataclasses

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitStateUnknownException, ForbiddenError

from lake_clients import spark as spark_client
from rest import assert_error

COLUMNS = {'type': 'struct', 'schema-id': 0, 'fields': [
    {'id': 1, 'name': 'id', 'type': 'long', 'required': False}, {'id': 2, 'name': 'ssn', 'type': 'string', 'required': False}]}
ROWS = pa.table({'id': [1, 2], 'ssn': ['123-45', '678-90']})
RAW = [(1, '123-45'), (2, '678-90')]
MASKED = [(None, '***'), (None, '***')]


def by_tag_of_the_schema(governed, policy, kind='masking'):
    """The policy reaches each table that is made in the schema."""
    tag = governed.tag()
    governed.post('policy-attachments', **governed.on_tag(policy, tag, kind))
    governed.post('object-tags', **governed.tagged(tag, 'schema'))
    return governed


@pytest.fixture
def in_files(governed):
    return by_tag_of_the_schema(governed, governed.mask(file_layer_masking=True, unmasked_roles=[governed.name('steward')]))


def create(governed, name):
    return governed.clients['bob'].send('POST', f'namespaces/{governed.schema}/tables', json={'name': name, 'schema': COLUMNS})


def create_with_rows(governed, name):
    catalog = load_catalog('lake', type='rest', uri=governed.server.uri(), warehouse='lake', token=governed.clients['bob'].token)
    with catalog.create_table_transaction(f'{governed.schema}.{name}', ROWS.schema) as made:
        made.append(ROWS)
    return catalog.load_table(f'{governed.schema}.{name}')


def read(table):
    return sorted((tuple(row.values()) for row in table.scan().to_arrow().to_pylist()), key=str)


def by_owner(governed, name):
    return governed.duck.execute(f'FROM lake.{governed.schema}.{name} ORDER BY id').fetchall()


def test_who_is_masked_in_files_makes_a_table_and_sees_it_masked(in_files):
    answer = create(in_files, 'empty')
    assert answer.status_code == 200, answer.text
    assert answer.json()['metadata']['properties']['lakeproxy.masked-columns'] == 'id,ssn'
    # The answer to the commit waits for the copy of its file.
    made = create_with_rows(in_files, 'made')
    assert read(made) == MASKED and by_owner(in_files, 'made') == RAW
    with pytest.raises(OSError, match='ACCESS_DENIED'):
        made.append(ROWS)
    with pytest.raises(ForbiddenError):
        made.transaction().set_properties({'a': 'b'}).commit_transaction()
    in_files.post('role-grants', role=in_files.name('steward'), principal='bob')
    raw = made.catalog.load_table(made.name())
    raw.append(ROWS)
    assert len(by_owner(in_files, 'made')) == 4 == len(read(raw)) and RAW[0] in read(raw)


def test_spark_makes_a_table_of_a_query_where_it_is_masked(in_files, spark, lake):
    own = dataclasses.replace(lake, uri=in_files.server.uri(), token_uri=f'{in_files.server.uri()}/v1/oauth/tokens', credential='bob:s')
    name = spark_client.add_catalog(spark, own, f'made_{in_files.schema}')
    spark.sql(f"CREATE TABLE {name}.{in_files.schema}.made AS SELECT 1L AS id, '123-45' AS ssn")
    assert [tuple(row) for row in spark.sql(f'SELECT * FROM {name}.{in_files.schema}.made').collect()] == MASKED[:1]
    assert by_owner(in_files, 'made') == RAW[:1]


def test_who_is_told_masks_makes_a_table_and_writes_it(governed):
    by_tag_of_the_schema(governed, governed.mask())
    assert create(governed, 'empty').status_code == 200
    made = create_with_rows(governed, 'made')
    assert made.properties['lakeproxy.masked-columns'] == 'id,ssn' and read(made) == RAW
    made.append(ROWS)
    assert len(by_owner(governed, 'made')) == 4


def test_a_table_that_its_policies_refuse_to_its_maker_is_said_to_be_made(governed):
    """Whoever took it for undone would remove files that the lake has by now."""
    by_tag_of_the_schema(governed, governed.filter(), 'row_access')  # of a column that is not there
    answer = create(governed, 'empty')
    assert_error(answer, 403)
    assert answer.json()['error']['message'].startswith('The change was made, and cannot be shown to you: table empty: ')
    assert by_owner(governed, 'empty') == []
    with pytest.raises(CommitStateUnknownException, match='The change was made, and cannot be shown to you: table made: '):
        create_with_rows(governed, 'made')
    assert by_owner(governed, 'made') == RAW
