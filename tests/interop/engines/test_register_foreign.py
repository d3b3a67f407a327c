"""Tables that Spark and Iceberg's Java library have written into a catalog of their own, and that ours takes over in place."""
import gzip

import pytest

from agreement import assert_agree, assert_agree_always
from java_writer import JavaWriter
from rest import Rest, assert_error

OTHER = 'spark.sql.catalog.other'
SETTINGS = """'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read',
              'write.metadata.compression-codec'='gzip'"""


@pytest.fixture(scope='module')
def other(lake, spark):
    """A catalog that no other process knows, under our prefix."""
    spark.conf.set(OTHER, 'org.apache.iceberg.spark.SparkCatalog')
    spark.conf.set(f'{OTHER}.catalog-impl', 'org.apache.iceberg.inmemory.InMemoryCatalog')
    spark.conf.set(f'{OTHER}.warehouse', f'{lake.data_path}other')
    spark.conf.set(f'{OTHER}.cache-enabled', 'false')
    spark.sql('CREATE NAMESPACE IF NOT EXISTS other.ns')
    return spark


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def register(rest, schema, name, location):
    return rest.post(f'namespaces/{schema}/register', {'name': name, 'metadata-location': location})


def bring(spark, table, catalog):
    """That catalog keeps its files in memory: they go to the places that they name. Returns that of the metadata."""
    operations = JavaWriter(spark, table, catalog='').table.operations()
    location = operations.current().metadataFileLocation()
    places = [row[0] for row in spark.sql(f"""
        SELECT file_path FROM {table}.files UNION SELECT path FROM {table}.manifests
        UNION SELECT manifest_list FROM {table}.snapshots""").collect()]
    for place in [location, *places]:
        content = bytes(operations.io().newInputFile(place).newStream().readAllBytes())
        with catalog._load_file_io().new_output(place).create(overwrite=True) as out:
            out.write(content)
    return location


def rows(spark, table, *more):
    return sorted(tuple(row) for row in spark.sql(f'SELECT {", ".join(["n", "s", "part", *more])} FROM {table}').collect())


@pytest.mark.parametrize('version, partitioned', [('2', 'PARTITIONED BY (part)'), ('3', '')], ids=['v2', 'v3'])
def test_delete_files_of_every_kind_come_along(rest, other, duck, catalog, truth, readers, schema, version, partitioned):
    name, theirs = f'{schema}.t', f'other.ns.{schema}'
    other.sql(f"CREATE TABLE {theirs} (n BIGINT, s STRING, part INT) USING iceberg {partitioned} "
              f"TBLPROPERTIES ({SETTINGS}, 'format-version'='{version}')")
    for first in (0, 40):
        other.sql(f"INSERT INTO {theirs} SELECT id + {first}, concat('s', id), CAST(id % 2 AS INT) FROM range(40) r(id)")
    other.sql(f'DELETE FROM {theirs} WHERE n % 7 = 0')
    other.sql(f"UPDATE {theirs} SET s = 'updated' WHERE n IN (1, 50, 79)")
    other.sql(f'DELETE FROM {theirs} WHERE n IN (3, 79)')
    duck.execute(f'CREATE TABLE lake.{schema}.keys (n BIGINT, s VARCHAR, part INTEGER)')
    duck.execute(f"INSERT INTO lake.{schema}.keys VALUES (10, 'upserted', 1), (11, 'upserted', 1), (999, 'new', 1)")
    java = JavaWriter(other, theirs, catalog='')
    odd = next(row for row in java.records(theirs, '*') if row.getField('part') == 1)
    place = {'partition': odd} if partitioned else {}
    # The keys' own rows come with their deletion, and stay. The older 10 is of another partition.
    java.commit([java.equality_deletes(f'lake.{schema}.keys', 'n', **place)], [java.data(f'lake.{schema}.keys', **place)])
    other.sql(f'DELETE FROM {theirs} WHERE n = 999')
    wanted = rows(other, theirs)
    assert [n for n, s, _ in wanted if s == 'upserted'] == [10, 11]
    assert sum(n == 10 for n, _, _ in wanted) == (2 if partitioned else 1)
    location = bring(other, theirs, catalog)
    assert location.endswith('.gz.metadata.json')
    answer = register(rest, schema, 't', location)
    assert answer.status_code == 200, answer.text
    assert answer.json()['metadata']['format-version'] == int(version)
    assert sorted(duck.execute(f'SELECT n, s, part FROM lake.{name}').fetchall()) == wanted
    assert assert_agree(truth, readers, name) == len(wanted)
    if version == '3':
        kept = rows(other, theirs, '_row_id')
        assert rows(other, f'lake.{name}', '_row_id') == kept
        assert sorted(duck.execute(f'SELECT n, s, part, rowid FROM lake.{name}').fetchall()) == kept
    other.sql(f'DELETE FROM lake.{name} WHERE n IN (2, 999)')
    duck.execute(f"INSERT INTO lake.{name} VALUES (1000, 'inlined', 1)")
    other.sql(f"INSERT INTO lake.{name} VALUES (1001, 'spark', 0)")
    assert assert_agree_always(truth, readers, catalog, name) == len(wanted) + 1
    if version == '3':
        ids = [id for id, in duck.execute(f'SELECT rowid FROM lake.{name}').fetchall()]
        assert len(set(ids)) == len(ids), 'new rows get new ids'


@pytest.mark.parametrize('content, why', [
    (gzip.compress(b' ' * (65 << 20)), 'gzip: unpacks to too many bytes'),
    (gzip.compress(b'{"format-version": 2}')[:-3], 'gzip: broken or cut short'),
    (gzip.compress(b'no metadata'), 'JSON'),
    (gzip.compress(gzip.compress(b'{}')), 'JSON'),
], ids=['bomb', 'cut', 'text', 'twice'])
def test_what_is_packed_and_no_metadata_is_refused(lake, rest, catalog, schema, content, why):
    location = f'{lake.data_path}other/{schema}/1.gz.metadata.json'
    with catalog._load_file_io().new_output(location).create(overwrite=True) as out:
        out.write(content)
    answer = register(rest, schema, 't', location)
    assert_error(answer, 400)
    assert why in answer.json()['error']['message']
    assert rest.send('HEAD', f'namespaces/{schema}/tables/t').status_code == 404
