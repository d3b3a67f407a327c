"""What a table and its columns are for, said by DuckDB and by clients: everybody shows what was said last."""
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, StructType
from rest import Rest

from agreement import assert_agree

COLUMNS = Schema(NestedField(1, 'n', LongType(), required=False, doc='a number'), NestedField(2, 's', StringType(), required=False),
                 NestedField(3, 'p', StructType(NestedField(4, 'q', LongType(), required=False, doc='a part')), required=False))


@pytest.fixture
def table(catalog, schema):
    """Made by a client, with a comment of its own and of a column."""
    return catalog.create_table(f'{schema}.t', COLUMNS, properties={'comment': 'made', 'owner': 'us'})


@pytest.fixture
def said(truth, catalog, schema):
    """The comments of table and columns: the same to DuckDB and to PyIceberg."""
    def ask():
        loaded = catalog.load_table(f'{schema}.t')
        texts = {None: loaded.properties.get('comment'), **{field.name: field.doc for field in loaded.schema().fields}}
        shown = {name: text for name, text in texts.items() if text is not None}
        assert truth.comments(f'{schema}.t') == shown
        return shown
    return ask


def set_doc(table, column, doc):
    with table.refresh().update_schema() as change:
        change.update_column(column, doc=doc)


def set_comment(table, text):
    with table.refresh().transaction() as change:
        if text is None:
            change.remove_properties('comment')
        else:
            change.set_properties(comment=text)


def test_a_client_says_it_and_duckdb_shows_it(table, said):
    assert said() == {None: 'made', 'n': 'a number'}
    set_comment(table, "it's ü\n")
    set_doc(table, 's', 'a text')
    set_doc(table, 'n', '')
    assert said() == {None: "it's ü\n", 'n': '', 's': 'a text'}
    with table.refresh().update_schema() as change:
        change.add_column('later', LongType(), doc='since today')
        change.rename_column('s', 'text')
    assert said() == {None: "it's ü\n", 'n': '', 'text': 'a text', 'later': 'since today'}
    with table.refresh().update_schema() as change:
        change.delete_column('later')
    set_comment(table, '')
    assert said() == {None: '', 'n': '', 'text': 'a text'}
    set_comment(table, None)
    assert said() == {'n': '', 'text': 'a text'}
    assert table.refresh().properties['owner'] == 'us'
    assert table.schema().find_field('p.q').doc == 'a part', 'DuckDB has no comments of parts, and takes none away'


def test_what_was_said_last_counts(table, said, duck, schema):
    for text in ('one', 'two', None):
        duck.execute(f"COMMENT ON TABLE lake.{schema}.t IS {'NULL' if text is None else repr(text)}")
        duck.execute(f"COMMENT ON COLUMN lake.{schema}.t.n IS {'NULL' if text is None else repr(text)}")
        assert said() == ({None: text, 'n': text} if text else {})
        set_comment(table, 'of a client')
        set_doc(table, 'n', 'of a client')
        assert said() == {None: 'of a client', 'n': 'of a client'}
    duck.execute(f'COMMENT ON TABLE lake.{schema}.t IS NULL')
    assert said() == {'n': 'of a client'}


def test_rows_are_written_as_before(table, said, truth, readers, duck, schema):
    """DuckDB finds its place for small inserts, and small files of both sides of a comment can be merged."""
    rows = pa.table({'n': [1], 's': ['x'], 'p': [{'q': 1}]}, schema=table.schema().as_arrow())
    table.append(rows)
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (2, 'inlined', {{'q': 2}})")
    set_comment(table, 'changed')
    set_doc(table, 's', 'changed')
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (3, 'inlined', {{'q': 3}})")
    table.refresh().append(rows)
    assert assert_agree(truth, readers, f'{schema}.t') == 4
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 't')")
    files = f"SELECT count(*) FROM ducklake_list_files('lake', 't', schema => '{schema}')"
    before = duck.execute(files).fetchone()[0]
    duck.execute(f"CALL ducklake_merge_adjacent_files('lake', 't', schema => '{schema}')")
    assert duck.execute(files).fetchone() == (1,) != (before,)
    assert assert_agree(truth, readers, f'{schema}.t') == 4
    assert said() == {None: 'changed', 'n': 'a number', 's': 'changed'}


def test_of_a_commit_with_rows_both_are_there(table, said, duck, schema):
    with table.transaction() as change:
        change.set_properties(comment='with rows')
        change.append(pa.table({'n': [1], 's': ['x'], 'p': [None]}, schema=table.schema().as_arrow()))
    assert said() == {None: 'with rows', 'n': 'a number'}
    assert duck.execute(f'SELECT count(*) FROM lake.{schema}.t').fetchone() == (1,)


def test_they_stay_with_the_table(table, said, catalog, lake, schema):
    """Renamed, taken out of the catalog and registered again."""
    catalog.rename_table(f'{schema}.t', f'{schema}.other')
    catalog.rename_table(f'{schema}.other', f'{schema}.t')
    assert said() == {None: 'made', 'n': 'a number'}
    location = catalog.load_table(f'{schema}.t').metadata_location
    assert Rest.of(lake).post(f'namespaces/{schema}/tables/t/unregister').status_code == 200
    catalog.register_table(f'{schema}.t', location)
    assert said() == {None: 'made', 'n': 'a number'}


def test_a_staged_table_has_them(said, catalog, schema):
    with catalog.create_table_transaction(f'{schema}.t', COLUMNS, properties={'comment': 'staged'}) as change:
        change.append(pa.table({'n': [1], 's': ['x'], 'p': [None]}, schema=change._table.schema().as_arrow()))
    assert said() == {None: 'staged', 'n': 'a number'}
