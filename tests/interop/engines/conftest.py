"""What the engines' tests share. An engine is started once, and statements are few and large: each costs it a second."""
import os

import pytest

import readers as lake_readers
from lake_clients import trino as trino_client
from stack import trino as trino_server
from engine_tour import Tour
from trino_reader import TrinoReader


# ./dev test engines takes all through both versions; in every other run that is left to the tests of rows.
VERSIONS = ['2', '3'] if os.environ.get('ENGINES') == 'all' else ['3']


@pytest.fixture(params=VERSIONS, ids='v{}'.format)
def version(request):
    """Of the format of the test's tables."""
    return request.param


@pytest.fixture
def sql(spark):
    """Runs one statement in Spark and returns its rows as tuples."""
    return lambda statement: [tuple(row) for row in spark.sql(statement).collect()]


@pytest.fixture
def spark_tour(sql, spark, duck, truth, catalog, duck_iceberg, schema):
    def make(name):
        readers = [lake_readers.Spark(spark), lake_readers.PyIceberg(catalog), lake_readers.DuckIceberg(duck_iceberg)]
        return Tour(f'{schema}.{name}', sql, duck, truth, readers, catalog)
    return make


@pytest.fixture(scope='session')
def trino(lake, tmp_path_factory):
    """A cursor of a Trino server of the tests' own."""
    server = trino_server.Trino(tmp_path_factory.mktemp('trino'), lake)
    process = server.start()
    yield trino_client.connect(server).cursor()
    process.stop()


@pytest.fixture
def ask(trino):
    """Runs one statement in Trino and returns its rows."""
    return lambda statement: trino.execute(statement).fetchall()


@pytest.fixture
def trino_tour(ask, trino, duck, truth, catalog, duck_iceberg, schema):
    def make(name):
        readers = [TrinoReader(trino), lake_readers.PyIceberg(catalog), lake_readers.DuckIceberg(duck_iceberg)]
        return Tour(f'{schema}.{name}', ask, duck, truth, readers, catalog)
    return make
