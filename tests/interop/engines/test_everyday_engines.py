"""Tables as people make them in DuckDB, seen by Spark and Trino: one session of each for all tables."""
import pytest

import everyday_tables as everyday
import shown_types as shown
from trino_reader import TrinoReader


@pytest.fixture(scope='module')
def tables(duck):
    schema = 'everyday_engines'
    duck.execute(f'DROP SCHEMA IF EXISTS lake.{schema} CASCADE')
    duck.execute(f'CREATE SCHEMA lake.{schema}')
    everyday.make(duck, schema)
    return schema


def assert_filters(expected, columns, name, count):
    for each in shown.filters_of(expected, columns):
        assert count(each) == each.expected(), f'{name}: rows by {each.column} {each.asked}'


@pytest.mark.parametrize('name', everyday.read_by('Spark'))
def test_spark_reads_it(duck, spark, tables, name):
    expected, columns = shown.expected_rows(duck, f'lake.{tables}.{name}')
    table = f'lake.{tables}.{name}'
    kinds = dict(shown.columns_of(duck, table))
    parts = [f'to_json({shown.quoted(column, "`")}) AS {shown.quoted(column, "`")}' if kinds[column] == 'VARIANT'
             else shown.quoted(column, '`') for column, _ in columns]
    shown.assert_same_rows(expected, spark.sql(f'SELECT {", ".join(parts)} FROM {table}').toArrow(), columns, name)
    columns = [(column, kind) for column, kind in columns if kinds[column] != 'VARIANT']
    assert_filters(expected, columns, name,
                   lambda each: [row[0] for row in spark.sql(each.statement(table, '`', shown.SPARK)).collect()])


@pytest.mark.parametrize('name', everyday.read_by('Trino'))
def test_trino_reads_it(duck, trino, tables, name):
    expected, columns = shown.expected_rows(duck, f'lake.{tables}.{name}')
    table = f'{tables}.{name}'
    shown.assert_same_rows(expected, TrinoReader(trino).read(table), columns, name)
    assert_filters(expected, columns, name,
                   lambda each: [row[0] for row in trino.execute(each.statement(f'lake.{table}', '"', shown.TRINO)).fetchall()])
