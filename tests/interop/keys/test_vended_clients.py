"""Real clients that have no keys of their own: they read and write with those that the catalog gives them, and no step further."""
import dataclasses

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError

from by_hand import Watched
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from lake_clients import spark as spark_client
from vended import CLIENTS, SETTINGS, as_client

ROWS = pa.table({'a': [1, 2, 3]})


@pytest.fixture(scope='module')
def server(stack):
    with Watched.beside(stack, **SETTINGS) as made:
        yield made


@pytest.fixture(scope='module')
def uri(server):
    return server.uri()


@pytest.fixture(scope='module')
def tables(lake):
    """keys.c_<client> to be written, keys.c_read and others.c to be read."""
    catalog = iceberg_client.connect(lake)
    for name in ('keys', 'others'):
        catalog.create_namespace_if_not_exists(name)
    for name in ('keys.c_pyiceberg', 'keys.c_duckdb', 'keys.c_spark', 'keys.c_read', 'others.c'):
        if catalog.table_exists(name):
            catalog.drop_table(name)
        catalog.create_table(name, ROWS.schema).append(ROWS)
    return catalog


def take_two_tables(catalog):
    """Files of the one listed under the other: a client that tries must be refused by the store."""
    return [task.file.file_path for task in catalog.load_table('others.c').scan().plan_files()]


# PyIceberg

def pyiceberg(uri, client):
    return load_catalog('lake', type='rest', uri=uri, warehouse='lake', credential=f'{client}:{CLIENTS[client][0]}',
                        **{'oauth2-server-uri': f'{uri}/v1/oauth/tokens'})


def test_pyiceberg_with_vended_keys(uri, tables):
    reader, writer = pyiceberg(uri, 'reader'), pyiceberg(uri, 'writer')
    assert reader.load_table('keys.c_pyiceberg').scan().to_arrow().num_rows == 3
    table = writer.load_table('keys.c_pyiceberg')
    table.append(ROWS)
    table.delete('a = 2')
    assert sorted(table.scan().to_arrow()['a'].to_pylist()) == [1, 1, 3, 3]
    assert sorted(reader.load_table('keys.c_pyiceberg').scan().to_arrow()['a'].to_pylist()) == [1, 1, 3, 3]
    made = writer.create_table('keys.c_made', ROWS.schema)
    made.append(ROWS)
    assert made.scan().to_arrow().num_rows == 3
    writer.drop_table('keys.c_made')


def test_pyiceberg_is_refused_one_step_beyond(uri, tables):
    reader = pyiceberg(uri, 'reader').load_table('keys.c_read')
    with pytest.raises((OSError, ForbiddenError)):
        reader.append(ROWS)
    stolen = take_two_tables(tables)[0]
    with pytest.raises(OSError):
        reader.io.new_input(stolen).open().read()
    own = next(iter(reader.scan().plan_files())).file.file_path
    assert reader.io.new_input(own).open().read()
    writer = pyiceberg(uri, 'writer').load_table('keys.c_read')
    with pytest.raises(OSError), writer.io.new_output(writer.metadata_location).create(overwrite=True) as out:
        out.write(b'{}')
    with pytest.raises(OSError):
        writer.io.delete(own)


# DuckDB

def duck_iceberg(uri, client):
    return duckdb_client.connect(
        duckdb_client.ICEBERG_EXTENSIONS,
        f"CREATE SECRET lake_tokens (TYPE iceberg, CLIENT_ID '{client}', CLIENT_SECRET '{CLIENTS[client][0]}', "
        f"OAUTH2_SERVER_URI '{uri}/v1/oauth/tokens')",
        f"ATTACH 'lake' AS ice (TYPE iceberg, ENDPOINT '{uri}', SECRET lake_tokens)",
        'SET enable_external_file_cache = false')


def test_duckdb_with_vended_keys(uri, tables):
    reader, writer = duck_iceberg(uri, 'reader'), duck_iceberg(uri, 'writer')
    assert reader.execute('SELECT sum(a) FROM ice.keys.c_duckdb').fetchone() == (6,)
    writer.execute('INSERT INTO ice.keys.c_duckdb VALUES (10)')
    writer.execute('DELETE FROM ice.keys.c_duckdb WHERE a = 1')
    assert writer.execute('SELECT sum(a) FROM ice.keys.c_duckdb').fetchone() == (15,)
    assert duck_iceberg(uri, 'reader').execute('SELECT sum(a) FROM ice.keys.c_duckdb').fetchone() == (15,)


def test_duckdb_is_refused_one_step_beyond(uri, tables, server, lake):
    reader = duck_iceberg(uri, 'reader')
    assert reader.execute('SELECT sum(a) FROM ice.keys.c_read').fetchone() == (6,)
    with pytest.raises(duckdb.Error):
        reader.execute('INSERT INTO ice.keys.c_read VALUES (10)')
    own = next(iter(tables.load_table('keys.c_read').scan().plan_files())).file.file_path
    stolen = take_two_tables(tables)[0]
    # DuckDB itself keeps the keys for the table's folder: taken out of it, they open no more.
    config = as_client(server, 'reader').get('namespaces/keys/tables/c_read').json()['config']
    reader.execute(f"CREATE SECRET taken (TYPE s3, KEY_ID '{config['s3.access-key-id']}', SECRET '{config['s3.secret-access-key']}', "
                   f"SESSION_TOKEN '{config['s3.session-token']}', ENDPOINT '{lake.s3_endpoint.removeprefix('http://')}', "
                   f"REGION '{config['s3.region']}', URL_STYLE 'path', USE_SSL false, SCOPE 's3://{lake.s3_bucket}/')")
    assert reader.execute(f"SELECT count(*) FROM '{own}'").fetchone() == (3,)
    with pytest.raises(duckdb.Error, match='403'):
        reader.execute(f"SELECT * FROM '{stolen}'").fetchall()
    with pytest.raises(duckdb.Error, match='403'):
        reader.execute(f"COPY (SELECT 1 AS a) TO '{own}.mine' (FORMAT parquet)")


# Spark

def spark_catalog(spark, lake, uri, client):
    name = f"vended_{client}_{uri.rpartition(':')[2]}"  # Spark keeps a catalog by its name, other servers' too.
    prefix = f'spark.sql.catalog.{name}'
    settings = spark_client.catalog_settings(dataclasses.replace(lake, uri=uri), prefix)
    for key, value in settings.items():
        # No keys, and nothing of where the store is: the catalog says it.
        if key == prefix or key.startswith(prefix) and '.s3.' not in key and 'region' not in key:
            spark.conf.set(key, value)
    spark.conf.set(f'{prefix}.credential', f'{client}:{CLIENTS[client][0]}')
    spark.conf.set(f'{prefix}.oauth2-server-uri', f'{uri}/v1/oauth/tokens')
    spark.conf.set(f'{prefix}.header.X-Iceberg-Access-Delegation', 'vended-credentials')
    return name


def test_spark_with_vended_keys(spark, lake, uri, tables):
    reader, writer = spark_catalog(spark, lake, uri, 'reader'), spark_catalog(spark, lake, uri, 'writer')

    def total(catalog):
        return spark.sql(f'SELECT sum(a) FROM {catalog}.keys.c_spark').collect()[0][0]

    assert total(reader) == 6
    spark.sql(f'INSERT INTO {writer}.keys.c_spark VALUES (10), (20)')
    spark.sql(f'DELETE FROM {writer}.keys.c_spark WHERE a = 1')
    assert total(writer) == total(reader) == 35
    spark.sql(f'CREATE OR REPLACE TABLE {writer}.keys.c_spark_made USING iceberg AS SELECT a FROM {writer}.keys.c_spark')
    assert spark.sql(f'SELECT count(*) FROM {reader}.keys.c_spark_made').collect()[0][0] == 4
    spark.sql(f'DROP TABLE {writer}.keys.c_spark_made')


def test_spark_is_refused_one_step_beyond(spark, lake, uri, tables):
    reader = spark_catalog(spark, lake, uri, 'reader')
    assert spark.sql(f'SELECT sum(a) FROM {reader}.keys.c_read').collect()[0][0] == 6
    with pytest.raises(Exception) as refused:  # Py4J wraps what Java throws, by its class's name
        spark.sql(f'INSERT INTO {reader}.keys.c_read VALUES (4)').collect()
    assert 'Forbidden' in str(refused.value) or '403' in str(refused.value)
