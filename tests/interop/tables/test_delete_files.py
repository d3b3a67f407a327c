"""The bytes of what deletes rows, read by nothing of ours: one Puffin file a snapshot in format version 3, with a deletion vector for each
data file, and Parquet files in version 2."""
import io
import json
import struct
import zlib

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from agreement import assert_agree
from oracle.avro_files import DATA, POSITION_DELETES, fetch, live_entries, read_list
from rest import Rest
from row_ids import make_table

VECTOR_MAGIC = bytes.fromhex('d1d33964')
MERGE_ON_READ = {f'write.{kind}.mode': 'merge-on-read' for kind in ('delete', 'update', 'merge')}


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def files_of(loaded, snapshot, content):
    """The live files of a kind, as the manifests have them."""
    return [entry['data_file'] for _, _, entry in live_entries(loaded, snapshot.manifest_list) if entry['data_file']['content'] == content]


def puffin_blobs(content):
    """The blobs of a file as its footer has them, and their bytes. By Iceberg's Puffin specification."""
    assert content[:4] == content[-4:] == b'PFA1'
    size, flags = struct.unpack('<iI', content[-12:-4])
    assert flags == 0, 'the footer is not compressed'
    payload = content[-12 - size:-12]
    assert content[-16 - size:-12 - size] == b'PFA1'
    return [(blob, content[blob['offset']:blob['offset'] + blob['length']]) for blob in json.loads(payload)['blobs']]


def positions_of_vector(blob):
    """By the specification's "deletion-vector-v1": length and checksum big-endian, the vector a 64-bit Roaring bitmap, portable."""
    length, = struct.unpack('>I', blob[:4])
    covered = blob[4:4 + length]
    assert len(blob) == length + 8 and covered[:4] == VECTOR_MAGIC
    assert struct.unpack('>I', blob[-4:])[0] == zlib.crc32(covered)
    return list(BitMap64.deserialize(covered[4:]))


def rows_of(duck, path, where):
    found = duck.execute(f"SELECT file_row_number FROM read_parquet('{path}', file_row_number = true) WHERE {where} ORDER BY 1").fetchall()
    return [row for row, in found]


def delete(by, duck, spark, table, where):
    if by == 'DuckDB':
        duck.execute(f'DELETE FROM lake.{table} WHERE {where}')
    else:
        spark.sql(f'DELETE FROM lake.{table} WHERE {where}')


def two_files(rest, duck, schema, version):
    table = make_table(rest, schema, 't', version, **MERGE_ON_READ)
    for first in (0, 1000):
        duck.execute(f"INSERT INTO lake.{table} SELECT {first} + i, 's' || i FROM range(300) r(i)")
    return table


GONE = 'a % 7 = 3 OR a BETWEEN 1100 AND 1150'
MORE = 'a % 7 = 4'


@pytest.mark.parametrize('by', ['DuckDB', 'Spark'])
def test_a_snapshot_of_version_3_has_one_puffin_file_with_a_vector_for_each_data_file(rest, duck, spark, catalog, schema, by):
    table = two_files(rest, duck, schema, '3')
    seen = set()
    for gone in (GONE, MORE):
        delete(by, duck, spark, table, gone)
        loaded = catalog.load_table(table)
        deletes = files_of(loaded, loaded.current_snapshot(), POSITION_DELETES)
        data = {file['file_path'] for file in files_of(loaded, loaded.current_snapshot(), DATA)}
        assert len(data) == 2 and {each['referenced_data_file'] for each in deletes} == data and len(deletes) == 2
        assert {each['file_format'] for each in deletes} == {'PUFFIN'}
        place, = {each['file_path'] for each in deletes}
        assert place not in seen, 'each snapshot has its own'
        seen.add(place)
        content = fetch(loaded, place)
        blobs = {blob['properties']['referenced-data-file']: (blob, body) for blob, body in puffin_blobs(content)}
        assert set(blobs) == data and {blob['type'] for blob, _ in blobs.values()} == {'deletion-vector-v1'}
        for each in deletes:
            blob, body = blobs[each['referenced_data_file']]
            assert (each['content_offset'], each['content_size_in_bytes']) == (blob['offset'], blob['length'])
            assert each['file_size_in_bytes'] == len(content)
            wanted = rows_of(duck, each['referenced_data_file'], GONE if gone == GONE else f'({GONE}) OR {MORE}')
            assert positions_of_vector(body) == wanted
            assert each['record_count'] == int(blob['properties']['cardinality']) == len(wanted)


@pytest.mark.parametrize('by', ['DuckDB', 'Spark'])
def test_tables_of_version_2_keep_parquet_files_and_an_upgrade_makes_vectors_of_them(rest, duck, spark, catalog, truth, readers, schema, by):
    table = two_files(rest, duck, schema, '2')
    delete(by, duck, spark, table, GONE)
    duck.execute(f'DELETE FROM lake.{table} WHERE a = 5')  # kept in PostgreSQL
    rows = assert_agree(truth, readers, table)
    loaded = catalog.load_table(table)
    before = [snapshot.snapshot_id for snapshot in loaded.snapshots()]
    for snapshot in loaded.snapshots()[2:]:
        deletes, data = files_of(loaded, snapshot, POSITION_DELETES), files_of(loaded, snapshot, DATA)
        assert {file['file_format'] for file in deletes} == {'PARQUET'}
        deleted = set()
        for file in deletes:
            read = pq.read_table(io.BytesIO(fetch(loaded, file['file_path'])), columns=['file_path', 'pos']).to_pylist()
            deleted |= {(row['file_path'], row['pos']) for row in read}
        where = GONE if snapshot.snapshot_id != before[-1] else f'{GONE} OR a = 5'
        assert deleted == {(file['file_path'], row) for file in data for row in rows_of(duck, file['file_path'], where)}
        assert not any('first_row_id' in one for one in [*data, *read_list(loaded, snapshot.manifest_list)])

    schema_name, name = table.split('.')
    answer = rest.post(f'namespaces/{schema_name}/tables/{name}', {'requirements': [], 'updates': [
        {'action': 'upgrade-format-version', 'format-version': 3}]})
    assert answer.status_code == 200, answer.text
    loaded = catalog.load_table(table)
    assert [snapshot.snapshot_id for snapshot in loaded.snapshots()] == before
    for snapshot in loaded.snapshots():
        for manifest in read_list(loaded, snapshot.manifest_list):
            assert (manifest['first_row_id'] is None) == (manifest['content'] == POSITION_DELETES)
        assert all(file['first_row_id'] is not None for file in files_of(loaded, snapshot, DATA))
        for file in files_of(loaded, snapshot, POSITION_DELETES):
            assert file['file_format'] == 'PUFFIN'
            blob = fetch(loaded, file['file_path'])[file['content_offset']:file['content_offset'] + file['content_size_in_bytes']]
            where = GONE if snapshot.snapshot_id != before[-1] else f'{GONE} OR a = 5'
            assert positions_of_vector(blob) == rows_of(duck, file['referenced_data_file'], where)
    assert len(files_of(loaded, loaded.current_snapshot(), POSITION_DELETES)) == 2
    assert assert_agree(truth, readers, table) == rows
