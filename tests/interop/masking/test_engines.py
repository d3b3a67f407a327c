"""DuckDB's Iceberg reader and Spark with keys that the catalog gives them: masked rows for the one, raw rows for the other."""
import dataclasses

import pytest
from lake_clients import duck as duckdb_client
from lake_clients import spark as spark_client
from masked import CLIENTS, NAMESPACE

TABLE = 'engines'
MASKED = [(1, '11***'), (3, '33***')]
RAW = [(1, '11-secret'), (3, '33-secret'), (4, '44-secret')]


@pytest.fixture(scope='module', autouse=True)
def table(duck, governance, governed):
    name = f'lake.{NAMESPACE}.{TABLE}'
    duck.execute(f'DROP TABLE IF EXISTS {name}')
    duck.execute(f'CREATE TABLE {name} (id BIGINT, ssn VARCHAR)')
    duck.execute(f"INSERT INTO {name} SELECT n, n || '' || n || '-secret' FROM range(1, 5) r(n)")
    duck.execute(f'DELETE FROM {name} WHERE id = 2')
    governance.mask(TABLE, 'ssn', 'VARCHAR', "left(v, 2) || '***'")
    governance.filter(TABLE, '(n BIGINT)', 'n < 4', ['id'])


def as_client(lake, server, client):
    return dataclasses.replace(lake, uri=server.uri(), token_uri=f'{server.uri()}/v1/oauth/tokens',
                               credential=f'{client}:{CLIENTS[client][0]}')


@pytest.mark.parametrize(('client', 'rows'), [('analyst', MASKED), ('steward', RAW)])
def test_duckdb(lake, server, analyst, client, rows):
    assert analyst.load(TABLE).status_code == 200
    connection = duckdb_client.connect_catalog(as_client(lake, server, client))
    assert connection.execute(f'SELECT id, ssn FROM ice.{NAMESPACE}.{TABLE} ORDER BY id').fetchall() == rows
    seen = connection.execute(f"SELECT count(*) FROM ice.{NAMESPACE}.{TABLE} WHERE ssn LIKE '%secret'").fetchone()
    assert seen == (sum('secret' in ssn for _, ssn in rows),)


@pytest.mark.parametrize(('client', 'rows'), [('analyst', MASKED), ('steward', RAW)])
def test_spark(spark, lake, server, analyst, client, rows):
    assert analyst.load(TABLE).status_code == 200
    name = spark_client.add_catalog(spark, as_client(lake, server, client), f'governed_{client}')
    read = spark.sql(f'SELECT id, ssn FROM {name}.{NAMESPACE}.{TABLE} ORDER BY id').collect()
    assert [tuple(row) for row in read] == rows
