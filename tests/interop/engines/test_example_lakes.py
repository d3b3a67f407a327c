"""The lakes of examples/: each table reads the same in every engine, and every snapshot in those that are quick."""
import pytest

import shown_types
from agreement import assert_agree, assert_agree_always
from lake_clients import duck as duckdb_client
from lakes import events, every_type, tpch
from readers import DuckIceberg, PyIceberg, Spark
from rest import Rest
from stack.process import wait_until
from trino_reader import TrinoReader

SMALL = {tpch: 0.001, events: 0.25}

# The first query of the benchmark, and the sixth: every engine can run them, word by word.
PRICING = """
    SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)), count(*)
    FROM {t} WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus"""
REVENUE = """
    SELECT sum(l_extendedprice * l_discount) FROM {t} WHERE l_shipdate >= DATE '1994-01-01'
    AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"""


@pytest.fixture(params=SMALL, ids=lambda lake: lake.__name__.split('.')[-1])
def tables(request, duck, schema):
    for extension in request.param.EXTENSIONS:
        duck.execute(duckdb_client.load(extension))
    return list(request.param.make(duck, schema, SMALL[request.param]))


def test_every_engine_reads_each_table_as_duckdb_does(tables, truth, catalog, spark, duck_iceberg, trino):
    quick = [PyIceberg(catalog), DuckIceberg(duck_iceberg)]
    for table in tables:
        assert assert_agree_always(truth, quick, catalog, table) > 0
        assert_agree(truth, [Spark(spark), TrinoReader(trino)], table)


@pytest.mark.parametrize('tables', [tpch], ids=['tpch'], indirect=True)
@pytest.mark.parametrize('query', [PRICING, REVENUE], ids=['q1', 'q6'])
def test_the_benchmarks_queries_give_the_same_everywhere(tables, query, duck, duck_iceberg, sql, ask):
    items = tables[-1]
    wanted = duck.execute(query.format(t=f'lake.{items}')).fetchall()
    assert wanted and wanted[0][0] is not None
    assert duck_iceberg.execute(query.format(t=f'ice.{items}')).fetchall() == wanted
    assert sql(query.format(t=f'lake.{items}')) == wanted
    assert [tuple(row) for row in ask(query.format(t=f'lake.{items}'))] == wanted


def test_every_type_reads_as_the_table_of_types_says(lake, duck, schema, catalog, spark, duck_iceberg, trino):
    rest = Rest.of(lake)
    readers = [PyIceberg(catalog), DuckIceberg(duck_iceberg), Spark(spark), TrinoReader(trino)]
    tables = list(every_type.make(duck, schema, 0.1))
    assert len(tables) == 3
    for table in tables:
        name = table.split('.')[1]
        assert wait_until(lambda path=f'namespaces/{schema}/tables/{name}': rest.get(path).status_code != 503, 60), 'its copies are not made'
        expected, columns = shown_types.expected_rows(duck, f'lake.{table}')
        assert expected.num_rows > 100
        for reader in readers:
            if reader.name != 'Spark' or name != 'times':
                shown_types.assert_same_rows(expected, reader.read(table), columns, f'{reader.name}: {table}')
