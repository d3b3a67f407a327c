"""Real clients with keys of the gateway: they read and write, and no step further; on a store whose STS is not asked, and on one
that has none."""
import duckdb
import pyarrow as pa
import pyarrow.fs
import pytest
from minio import Minio
from minio.error import S3Error
from pyiceberg.exceptions import ForbiddenError

from gateway import gateway_beside, on_plain_store
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from test_vended_clients import duck_iceberg, pyiceberg, spark_catalog
from vended import as_client

ROWS = pa.table({'a': [1, 2, 3]})


@pytest.fixture(scope='module', params=['minio', 'versitygw'])
def place(request, stack, lake, tmp_path_factory):
    if request.param == 'minio':
        yield stack, lake
        return
    with on_plain_store(stack, lake, tmp_path_factory.mktemp('plain'), 'gateway_clients') as made:
        yield made


@pytest.fixture(scope='module')
def server(place):
    with gateway_beside(place[0]) as made:
        yield made


@pytest.fixture(scope='module')
def uri(server):
    return server.uri()


@pytest.fixture(scope='module')
def tables(place):
    catalog = iceberg_client.connect(place[1])
    for name in ('keys', 'others'):
        catalog.create_namespace_if_not_exists(name)
    for name in ('keys.gw_pyiceberg', 'keys.gw_duckdb', 'keys.gw_spark', 'keys.gw_read', 'others.gw'):
        if catalog.table_exists(name):
            catalog.drop_table(name)
        catalog.create_table(name, ROWS.schema).append(ROWS)
    return catalog


def files(catalog, name):
    return [task.file.file_path for task in catalog.load_table(name).scan().plan_files()]


def config_of(server, client, name):
    answer = as_client(server, client).get('namespaces/{}/tables/{}'.format(*name.split('.')))
    assert answer.status_code == 200, answer.text
    return answer.json()['config']


# PyIceberg, by PyArrow

def test_pyiceberg_reads_and_writes(uri, tables):
    reader, writer = pyiceberg(uri, 'reader'), pyiceberg(uri, 'writer')
    table = writer.load_table('keys.gw_pyiceberg')
    table.append(ROWS)
    table.delete('a = 2')
    assert sorted(reader.load_table('keys.gw_pyiceberg').scan().to_arrow()['a'].to_pylist()) == [1, 1, 3, 3]
    made = writer.create_table('keys.gw_made', ROWS.schema)
    made.append(ROWS)
    assert made.scan().to_arrow().num_rows == 3
    writer.drop_table('keys.gw_made')


def test_pyiceberg_is_refused_one_step_beyond(uri, tables):
    table = pyiceberg(uri, 'reader').load_table('keys.gw_read')
    with pytest.raises((OSError, ForbiddenError)):
        table.append(ROWS)
    with pytest.raises(OSError):
        table.io.new_input(files(tables, 'others.gw')[0]).open().read()
    own = next(iter(table.scan().plan_files())).file.file_path
    assert table.io.new_input(own).open().read()
    writer = pyiceberg(uri, 'writer').load_table('keys.gw_read')
    for place in (writer.metadata_location, own):
        with pytest.raises(OSError), writer.io.new_output(place).create(overwrite=True) as out:
            out.write(b'{}')
        with pytest.raises(OSError):
            writer.io.delete(place)
    assert table.scan().to_arrow().num_rows == 3


def test_pyarrow_writes_large_files_in_parts(server, tables, lake):
    config = config_of(server, 'writer', 'keys.gw_pyiceberg')
    place = tables.load_table('keys.gw_pyiceberg').location().removeprefix('s3://') + '/data/arrow-large'
    store = pyarrow.fs.S3FileSystem(
        access_key=config['s3.access-key-id'], secret_key=config['s3.secret-access-key'],
        session_token=config['s3.session-token'], endpoint_override=config['s3.endpoint'], region=config['s3.region'],
        scheme='http')
    content = bytes(range(256)) * (1 << 16)  # 16 MiB
    with store.open_output_stream(place) as out:
        out.write(content)
    with store.open_input_file(place) as file:
        assert file.read() == content
    # After a delete PyArrow puts an empty object 'data/' for its idea of a folder, which is no name of an object here.
    with pytest.raises(OSError, match='PutObject'):
        store.delete_file(place)
    assert store.get_file_info(place).type == pyarrow.fs.FileType.NotFound


# DuckDB

def test_duckdb_reads_and_writes(uri, tables):
    reader, writer = duck_iceberg(uri, 'reader'), duck_iceberg(uri, 'writer')
    assert reader.execute('SELECT sum(a) FROM ice.keys.gw_duckdb').fetchone() == (6,)
    writer.execute('INSERT INTO ice.keys.gw_duckdb VALUES (10)')
    writer.execute('DELETE FROM ice.keys.gw_duckdb WHERE a = 1')
    writer.execute('INSERT INTO ice.keys.gw_duckdb SELECT n FROM range(1000000) r(n)')
    total = 15 + 999999 * 1000000 // 2
    assert duck_iceberg(uri, 'reader').execute('SELECT sum(a) FROM ice.keys.gw_duckdb').fetchone() == (total,)


def test_duckdb_is_refused_one_step_beyond(uri, tables):
    reader = duck_iceberg(uri, 'reader')
    assert reader.execute('SELECT sum(a) FROM ice.keys.gw_read').fetchone() == (6,)
    with pytest.raises(duckdb.Error):
        reader.execute('INSERT INTO ice.keys.gw_read VALUES (10)')
    with pytest.raises(duckdb.Error):
        reader.execute(f"SELECT * FROM '{files(tables, 'others.gw')[0]}'").fetchall()


def httpfs(config, scope):
    host = config['s3.endpoint'].removeprefix('http://')
    return duckdb_client.connect(
        ('httpfs',),
        f"CREATE SECRET (TYPE s3, KEY_ID '{config['s3.access-key-id']}', SECRET '{config['s3.secret-access-key']}', "
        f"SESSION_TOKEN '{config['s3.session-token']}', ENDPOINT '{host}', REGION '{config['s3.region']}', "
        f"URL_STYLE 'path', USE_SSL false, SCOPE '{scope}')")


def test_plain_httpfs_reads_and_writes_by_a_secret(server, tables, lake):
    own, other = files(tables, 'keys.gw_read')[0], files(tables, 'others.gw')[0]
    folder = tables.load_table('keys.gw_read').location()
    reader = httpfs(config_of(server, 'reader', 'keys.gw_read'), f's3://{lake.s3_bucket}')
    writer = httpfs(config_of(server, 'writer', 'keys.gw_read'), f's3://{lake.s3_bucket}')
    assert reader.execute(f"SELECT sum(a) FROM '{own}'").fetchone() == (6,)
    assert reader.execute(f"SELECT count(*) FROM glob('{folder}/data/*.parquet')").fetchone() >= (1,)
    place = f'{folder}/data/by-httpfs-{id(writer)}.parquet'
    writer.execute(f"COPY (SELECT n AS a, repeat('x', 50) AS s FROM range(300000) r(n)) TO '{place}' (COMPRESSION uncompressed)")
    assert reader.execute(f"SELECT sum(a) FROM '{place}'").fetchone() == (299999 * 300000 // 2,)
    for connection in (reader, writer):
        with pytest.raises(duckdb.Error):
            connection.execute(f"SELECT * FROM '{other}'").fetchall()
        with pytest.raises(duckdb.Error):
            connection.execute(f"COPY (SELECT 1 AS a) TO '{own}'")
    with pytest.raises(duckdb.Error):
        reader.execute(f"COPY (SELECT 1 AS a) TO '{folder}/data/reader.parquet'")
    assert tables.load_table('keys.gw_read').scan().to_arrow().num_rows == 3


# MinIO's client

def test_minio_client_is_refused_one_step_beyond(server, tables, lake):
    config = config_of(server, 'reader', 'keys.gw_read')
    client = Minio(server.gateway, access_key=config['s3.access-key-id'], secret_key=config['s3.secret-access-key'],
                   session_token=config['s3.session-token'], secure=False, region=config['s3.region'])
    folder = tables.load_table('keys.gw_read').location().removeprefix(f's3://{lake.s3_bucket}/')
    assert list(client.list_objects(lake.s3_bucket, prefix=folder + '/', recursive=True))
    for prefix in (None, folder.rsplit('/', 1)[0] + '/'):
        with pytest.raises(S3Error) as error:
            list(client.list_objects(lake.s3_bucket, prefix=prefix, recursive=True))
        assert error.value.code in ('AccessDenied', 'InvalidRequest')


# Spark, by S3FileIO

def test_spark_reads_and_writes(spark, lake, uri, tables):
    reader, writer = spark_catalog(spark, lake, uri, 'reader'), spark_catalog(spark, lake, uri, 'writer')

    def total(catalog):
        return spark.sql(f'SELECT sum(a) FROM {catalog}.keys.gw_spark').collect()[0][0]

    assert total(reader) == 6
    spark.sql(f'INSERT INTO {writer}.keys.gw_spark VALUES (10), (20)')
    spark.sql(f'DELETE FROM {writer}.keys.gw_spark WHERE a = 1')
    assert total(writer) == total(reader) == 35
    spark.sql(f'CREATE OR REPLACE TABLE {writer}.keys.gw_spark_made USING iceberg AS SELECT a FROM {writer}.keys.gw_spark')
    assert spark.sql(f'SELECT count(*) FROM {reader}.keys.gw_spark_made').collect()[0][0] == 4
    spark.sql(f'DROP TABLE {writer}.keys.gw_spark_made')


def test_spark_is_refused_one_step_beyond(spark, lake, uri, tables):
    reader = spark_catalog(spark, lake, uri, 'reader')
    assert spark.sql(f'SELECT sum(a) FROM {reader}.keys.gw_read').collect()[0][0] == 6
    with pytest.raises(Exception) as refused:  # Py4J wraps what Java throws, by its class's name
        spark.sql(f'INSERT INTO {reader}.keys.gw_read VALUES (4)').collect()
    assert 'Forbidden' in str(refused.value) or '403' in str(refused.value)
