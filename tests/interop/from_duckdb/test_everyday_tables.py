"""Tables as people make them in DuckDB, seen by clients in this process; engines/test_everyday_engines.py has the others."""
import duckdb
import pytest

import everyday_tables as everyday
import shown_types as shown
from rest import Rest, assert_error
from stack.process import wait_until

SECONDS = 60


@pytest.fixture(scope='module')
def tables(duck, rest):
    schema = 'everyday'
    duck.execute(f'DROP SCHEMA IF EXISTS lake.{schema} CASCADE')
    duck.execute(f'CREATE SCHEMA lake.{schema}')
    everyday.make(duck, schema)
    for name in everyday.CASES:  # Some wait for readable copies.
        wait_until(lambda name=name: rest.get(f'namespaces/{schema}/tables/{name}').status_code != 503, SECONDS)
    return schema


@pytest.fixture(scope='module')
def rest(lake):
    return Rest.of(lake)


@pytest.mark.parametrize('name', everyday.CASES)
def test_it_opens_unless_its_refusal_is_known(rest, tables, name):
    answer = rest.get(f'namespaces/{tables}/tables/{name}')
    words = everyday.refusals().get(name)
    if words is None:
        assert answer.status_code == 200, answer.text
        return
    assert answer.status_code != 200, f'{name} opens: take its line out of {everyday.REFUSALS.name}'
    assert_error(answer, 501)
    assert words in answer.json()['error']['message']


def test_every_refusal_is_of_a_case():
    assert set(everyday.refusals()) <= set(everyday.CASES)


@pytest.mark.parametrize('name', everyday.read_by('PyIceberg'))
def test_pyiceberg_reads_it(duck, catalog, tables, name):
    expected, columns = shown.expected_rows(duck, f'lake.{tables}.{name}')
    table = catalog.load_table(f'{tables}.{name}')
    shown.assert_same_rows(expected, table.scan().to_arrow(), columns, name)
    for each in shown.filters_of(expected, columns):
        found = [table.scan(row_filter=wanted).to_arrow().num_rows for wanted in each.for_pyiceberg()]
        assert not found or found == each.expected(), f'{name}: rows by {each.column} {each.asked}'


@pytest.mark.parametrize('name', everyday.read_by('DuckDB iceberg'))
def test_duckdb_iceberg_reads_it(duck, duck_iceberg, tables, name):
    expected, columns = shown.expected_rows(duck, f'lake.{tables}.{name}')
    parts = ', '.join(f'CAST({shown.quoted(column)} AS {kind}) AS {shown.quoted(column)}' for column, kind in columns)
    found = duck_iceberg.execute(f'SELECT {parts} FROM ice.{tables}.{name}').to_arrow_table()
    shown.assert_same_rows(expected, found, columns, name)
    for each in shown.filters_of(expected, columns):
        found = [row[0] for row in duck_iceberg.execute(each.statement(f'ice.{tables}.{name}', '"', {})).fetchall()]
        assert found == each.expected(), f'{name}: rows by {each.column} {each.asked}'


def read_by_chdb(duck, clickhouse, tables, name):
    """Equal rows, and equal counts by filters."""
    expected, columns = shown.expected_rows(duck, f'lake.{tables}.{name}')
    shown.assert_same_rows(expected, clickhouse.read(f'{tables}.{name}'), columns, name)
    for each in shown.filters_of(expected, columns):
        if each.kind != 'TIMESTAMP WITH TIME ZONE':  # it reads no zone in a literal
            found = clickhouse.ask(each.statement(f'ice.`{tables}.{name}`', '"', shown.CLICKHOUSE)).column(0).to_pylist()
            assert found == each.expected(), f'{name}: rows by {each.column} {each.asked}'


@pytest.mark.parametrize('name', everyday.read_by('chdb'))
def test_chdb_reads_it(duck, clickhouse, tables, name):
    read_by_chdb(duck, clickhouse, tables, name)


@pytest.mark.parametrize('name', [name for names in everyday.UNREAD_BY_CHDB.values() for name in names])
def test_chdb_still_does_not_read_it(duck, clickhouse, tables, name):
    with pytest.raises((AssertionError, duckdb.ConversionException, RuntimeError, OSError, ValueError)):
        read_by_chdb(duck, clickhouse, tables, name)


@pytest.mark.parametrize('name', everyday.DUCKDB_REFUSES)
def test_duckdb_still_makes_no_table_of_it(duck, schema, name):
    """One that it makes some day is a case to add."""
    duck.execute(f'CREATE TABLE lake.{schema}.t (i INTEGER)')
    with pytest.raises(duckdb.Error, match='(?i)unsupported type|only widening'):
        everyday.run(duck, everyday.DUCKDB_REFUSES[name], schema, 't')
