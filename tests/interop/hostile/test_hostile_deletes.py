"""Delete files that break their format, or say what cannot be: refused with the file's name and the reason, and nothing
changes. What is only untidy is taken."""
import struct
import zlib

import pyarrow as pa
import pytest

from by_hand import COLUMNS, Table, delete_entry, deleting, deleting_equal, parquet, positions
from oracle import avro_files, commits, puffin, roaring
from rest import assert_error

ROWS = 40  # of the table, in two files
IN_FILE = 20
HUGE = 2**40


@pytest.fixture(scope='module')
def tables(lake, catalog, duck):
    """One for each format version, and another whose files are none of theirs."""
    duck.execute('DROP SCHEMA IF EXISTS lake.hostile_deletes CASCADE')
    duck.execute('CREATE SCHEMA lake.hostile_deletes')
    made = {}
    for name, version in (('v2', '2'), ('v3', '3'), ('other', '2')):
        catalog.create_table(f'hostile_deletes.{name}', COLUMNS, properties={'format-version': version})
        for first in (0, IN_FILE):
            duck.execute(f"INSERT INTO lake.hostile_deletes.{name} SELECT n, 's' || n FROM range({first}, {first + IN_FILE}) r(n)")
        made[name] = Table(lake, catalog, duck, f'hostile_deletes.{name}')
    return made


def first_path(table):
    return table.files()[0].path


def with_footer(content, footer):
    """The Parquet file with another footer; it begins behind the pages."""
    length = struct.unpack('<I', content[-8:-4])[0]
    return content[:-8 - length] + footer + struct.pack('<I', len(footer)) + b'PAR1'


def footer_of(content):
    length = struct.unpack('<I', content[-8:-4])[0]
    return content[-8 - length:-8]


def varint(value):
    out = b''
    while value > 0x7F:
        out += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return out + bytes((value,))


def claiming(content, rows, claimed):
    """The footer's counts of rows, which are 64-bit integers of Thrift's compact form, made `claimed`."""
    footer = footer_of(content)
    said = b'\x16' + varint(rows * 2)
    assert said in footer
    return with_footer(content, footer.replace(said, b'\x16' + varint(claimed * 2)))


def whole(table, rows=3):
    return parquet(positions([(first_path(table), n) for n in range(rows)]))


def bytes_of(change):
    def make(table):
        return deleting(table, change(whole(table)))
    return make


def pairs(*rows):
    """Positions of the table's first file."""
    def make(table):
        return deleting(table, parquet(positions([(first_path(table), n) for n in rows])))
    return make


def columns(path_type=pa.string(), position_type=pa.int64(), path=None, position=0, names=('file_path', 'pos'), ids=True):
    """One row, of other types."""
    def make(table):
        fields = [pa.field(names[0], path_type), pa.field(names[1], position_type)]
        if ids:
            fields = [commits.numbered(field.name, field.type, number)
                      for field, number in zip(fields, (commits.FILE_PATH, commits.POSITION))]
        value = first_path(table) if path is None else path
        return deleting(table, parquet(pa.table([pa.array([value], path_type), pa.array([position], position_type)],
                                                schema=pa.schema(fields))))
    return make


def entry(content=None, **changes):
    """The manifest says something else of a sound delete file."""
    return lambda table: deleting(table, content or whole(table), **changes)


def missing_object(table):
    snapshot = deleting(table, whole(table))
    snapshot.loaded.io.delete(path_in(snapshot))
    return snapshot


def path_in(snapshot):
    return avro_files.read_manifest(snapshot.loaded, snapshot.manifests[-1])[1][0]['data_file']['file_path']


def of_other_table(table):
    other = table.name.replace('v2', 'other').replace('v3', 'other')
    path = commits.live(table.iceberg.load_table(other))[0][0].path
    return deleting(table, parquet(positions([(path, 0)])))


def equal(ids, rows=None, **changes):
    def make(table):
        made = rows if rows is not None else pa.table([[3]], schema=pa.schema([commits.numbered('n', pa.int64(), 1)]))
        return deleting_equal(table, made, ids, **changes)
    return make


def equal_bytes(change):
    def make(table):
        rows = pa.table([[3, 4, 5]], schema=pa.schema([commits.numbered('n', pa.int64(), 1)]))
        return deleting(table, change(parquet(rows)), 2, equality_ids=[1])
    return make


PARQUET = {
    'no bytes': (bytes_of(lambda content: b''), 400, 'by-hand'),
    'other bytes': (bytes_of(lambda content: b'\x00\xff' * 200), 400, 'by-hand'),
    'cut in the middle': (bytes_of(lambda content: content[:len(content) // 2]), 400, 'by-hand'),
    'cut at its end': (bytes_of(lambda content: content[:-1]), 400, 'by-hand'),
    'a footer longer than the file': (bytes_of(lambda content: content[:-8] + struct.pack('<I', 2**31 - 1) + b'PAR1'), 400, 'by-hand'),
    'a footer of no length': (bytes_of(lambda content: content[:-8] + struct.pack('<I', 0) + b'PAR1'), 400, 'by-hand'),
    'a footer of other bytes': (bytes_of(lambda content: with_footer(content, b'\x15\xff' * 50)), 400, 'by-hand'),
    'pages of other bytes': (bytes_of(lambda content: b'PAR1' + b'\xee' * 150 + content[154:]), 400, 'by-hand'),
    'more rows than there are': (bytes_of(lambda content: claiming(content, 3, HUGE)), 400, 'by-hand'),
    'fewer than no rows': (bytes_of(lambda content: claiming(content, 3, 2**62)), 400, 'by-hand'),
    'an object that is not there': (missing_object, 400, 'by-hand'),
    'an object of another size': (entry(file_size_in_bytes=10), 400, 'file_size_in_bytes'),
    'an object of gigabytes': (entry(file_size_in_bytes=2**33), 413, 'larger'),
    'a row below zero': (pairs(0, -1), 400, 'by-hand'),
    'a row behind the last': (pairs(0, IN_FILE), 400, f'row {IN_FILE} of'),
    'a row far behind the last': (pairs(2**62), 400, str(2**62)),
    'no path': (columns(path=''), 409, 'no live data file'),
    'a path with a zero': (columns(path='a\0b'), 400, 'by-hand'),
    'paths of numbers': (columns(path_type=pa.int64(), path=5), 400, 'file_path'),
    'positions of text': (columns(position_type=pa.string(), position='0'), 400, 'pos'),
    'positions of doubles': (columns(position_type=pa.float64(), position=0.0), 400, 'pos'),
    'other columns': (columns(names=('a', 'b'), ids=False), 400, 'file_path'),
    'a local file': (columns(path='/etc/passwd'), 409, 'no live data file'),
    'a pattern': (lambda table: deleting(table, parquet(positions([(first_path(table)[:-12] + '*.parquet', 0)]))), 409, 'no live'),
    'rows of another table': (of_other_table, 409, 'no live data file'),
    'rows of another file than its entry says': (entry(referenced_data_file='s3://lakehouse/x.parquet'), 400, 'manifest entry'),
    'Avro': (entry(file_format='AVRO'), 501, 'avro'),
    'ORC': (entry(file_format='ORC'), 501, 'orc'),
    'a vector, for which this format version has no place': (entry(file_format='PUFFIN', referenced_data_file='x'), 400, 'content_offset'),
    'encrypted': (entry(key_metadata=b'k'), 501, 'encrypted'),
    'no column to compare': (equal([]), 400, 'equality'),
    'a column that is not there': (equal([99]), 400, '99'),
    'a column that the file lacks': (equal([2]), 400, 'by-hand'),
    'a column of another type': (equal([1], pa.table([['x']], schema=pa.schema([commits.numbered('n', pa.string(), 1)]))), 400, 'by-hand'),
    'equality deletes that are cut': (equal_bytes(lambda content: content[:-9]), 400, 'by-hand'),
    'equality deletes of more rows than there are': (equal_bytes(lambda content: claiming(content, 3, HUGE)), 400, 'by-hand'),
    'equality deletes that are vectors': (equal([1], file_format='PUFFIN'), 501, 'puffin'),
}


@pytest.mark.parametrize('case', PARQUET)
def test_delete_files_that_are_refused(tables, case):
    make, status, word = PARQUET[case]
    table = tables['v2']
    assert_refused(table, make(table), status, word)


def assert_refused(table, snapshot, status, word):
    before = table.state()
    answer = table.post(snapshot.updates())
    assert_error(answer, status)
    assert word in answer.json()['error']['message'].lower() or word in answer.json()['error']['message']
    assert table.state() == before


def framed(bitmap, length=None, magic=puffin.VECTOR_MAGIC, crc=None):
    body = magic + bitmap
    return (struct.pack('>I', len(body) if length is None else length) + body +
            struct.pack('>I', zlib.crc32(body) if crc is None else crc))


def blob(content, **changes):
    """A Puffin file in which this stands for a vector of one position; the footer is sound."""
    def make(table):
        path = changes.get('referenced_data_file', first_path(table))
        whole_file = puffin.MAGIC + content
        place = {'record_count': 1, 'referenced_data_file': path, 'content_offset': 4,
                 'content_size_in_bytes': len(content), **changes}
        return deleting(table, whole_file, suffix='puffin', **place)
    return make


def vector(rows, **changes):
    return blob(framed(roaring.write(rows)), **{'record_count': len(rows), **changes})


def vector_of_other_table(table):
    path = commits.live(table.iceberg.load_table('hostile_deletes.other'))[0][0].path
    return vector([0], referenced_data_file=path)(table)


def two_vectors(table):
    path = first_path(table)
    content, places = puffin.write({path: [0]})
    snapshot = table.snapshot('delete')
    like = table.files()[0]
    snapshot.add([delete_entry(snapshot.loaded, content, 1, like, 'puffin', record_count=1, referenced_data_file=path,
                               content_offset=places[path][0], content_size_in_bytes=places[path][1]) for _ in range(2)])
    return snapshot


SOUND = roaring.write([0])
# One bitmap whose one container claims 2**16 positions in no bytes; 2**31 bitmaps; runs that meet no end.
CLAIMS = {
    'bitmaps': struct.pack('<Q', 2**31),
    'no end of bitmaps': struct.pack('<Q', 2**63),
    'containers': struct.pack('<QIII', 1, 0, 12346, 2**16),
    'more containers than there can be': struct.pack('<QIII', 1, 0, 12346, 2**32 - 1),
    'positions': struct.pack('<QIIIHHI', 1, 0, 12346, 1, 0, 65535, 16),
    'runs': struct.pack('<QIIBHHH', 1, 0, 12347, 1, 0, 65535, 65535),
    'a cookie of no meaning': struct.pack('<QII', 1, 0, 7),
}
VECTORS = {
    'no bytes': (blob(b'x', content_size_in_bytes=0), 400, 'content_size_in_bytes'),
    'cut off': (blob(framed(SOUND)[:-3]), 400, 'by-hand'),
    'behind the end': (vector([0], content_offset=10_000), 400, 'by-hand'),
    'far behind the end': (vector([0], content_offset=2**63 - 10), 400, 'by-hand'),
    'longer than the file': (vector([0], content_size_in_bytes=50_000), 400, 'by-hand'),
    'of gigabytes': (vector([0], content_size_in_bytes=2**40), 413, 'longer'),
    'another magic': (blob(framed(SOUND, magic=b'\xD1\xD3\x39\x65')), 400, 'by-hand'),
    'another checksum': (blob(framed(SOUND, crc=1)), 400, 'by-hand'),
    'another length': (blob(framed(SOUND, length=2**31)), 400, 'by-hand'),
    'other bytes': (blob(b'\x00\xff' * 50), 400, 'by-hand'),
    'another count': (vector([0, 1], record_count=1), 400, 'record_count'),
    'a huge count': (vector([0], record_count=2**62), 400, 'record_count'),
    'bytes behind it': (blob(framed(SOUND + b'\0\0')), 400, 'by-hand'),
    'a row behind the last': (vector([0, IN_FILE]), 400, f'row {IN_FILE} of'),
    'a row far behind the last': (vector([2**40]), 400, str(2**40)),
    'of no data file': (vector([0], referenced_data_file=None), 400, 'referenced_data_file'),
    'of a file that is not there': (vector([0], referenced_data_file='s3://lakehouse/data/never.parquet'), 409, 'never.parquet'),
    'of a path with a zero': (vector([0], referenced_data_file='a\0b'), 400, 'referenced_data_file'),
    'of a local file': (vector([0], referenced_data_file='/etc/passwd'), 409, '/etc/passwd'),
    'of another table': (vector_of_other_table, 409, 'no live data file'),
    'without a place': (vector([0], content_offset=None), 400, 'content_offset'),
    'two of one data file': (two_vectors, 400, 'two deletion vectors'),
    **{f'claims of {name}': (blob(framed(content)), 400, 'by-hand') for name, content in CLAIMS.items()},
}


@pytest.mark.parametrize('case', VECTORS)
def test_deletion_vectors_that_are_refused(tables, case):
    make, status, word = VECTORS[case]
    table = tables['v3']
    assert_refused(table, make(table), status, word)


def test_positions_in_any_order_and_twice_are_taken(tables, catalog):
    table = tables['other']
    path = first_path(table)
    answer = table.post(deleting(table, parquet(positions([(path, n) for n in (3, 0, 3, 1, 0)])), record_count=5).updates())
    assert answer.status_code == 200, answer.text
    assert answer.json()['metadata']['snapshots'][-1]['summary']['total-position-deletes'] == '3'
    assert len(table.rows()) == table.load().scan().to_arrow().num_rows == ROWS - 3
    # The same once more, with nothing new in it.
    answer = table.post(deleting(table, parquet(positions([(path, 3), (path, 1)]))).updates())
    assert answer.status_code == 200, answer.text
    assert len(table.rows()) == table.load().scan().to_arrow().num_rows == ROWS - 3


def test_columns_are_found_by_name_where_there_are_no_ids(tables):
    table = tables['other']
    before = len(table.rows())
    answer = table.post(columns(ids=False, position=4)(table).updates())
    assert answer.status_code == 200, answer.text
    assert len(table.rows()) == table.load().scan().to_arrow().num_rows == before - 1
