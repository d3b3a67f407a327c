"""Our own reading and writing of deletion vectors against a library's."""
import struct

import pytest
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap

from oracle import puffin, roaring

CASES = {
    'one': [0],
    'both ends of a container': [0, 65535],
    'two containers': [65535, 65536],
    'the largest array': list(range(0, 8192, 2)),
    'the smallest bitmap': list(range(0, 8194, 2)),
    'beyond 32 bits': [7, 2**32, 2**33 + 5],
}


@pytest.mark.parametrize('positions', CASES.values(), ids=CASES)
def test_a_library_reads_what_we_write(positions):
    content, places = puffin.write({'a': positions, 'b': [3]})
    at, length = places['a']
    assert puffin.positions_of(content[at:at + length]) == positions
    vectors = deletion_vectors_from_puffin_file(PuffinFile(content))
    assert [vector.to_vector().to_pylist() for vector in vectors] == [positions, [3]]


@pytest.mark.parametrize('count', (1, 3, 5))
def test_runs_are_read(count):
    """From four containers on there are offsets behind the flags."""
    positions = [n * 65536 + m for n in range(count) for m in range(100, 20000)] + [count * 65536 + 9]
    bitmap = BitMap(positions)
    bitmap.run_optimize()
    assert roaring.read(struct.pack('<QI', 1, 0) + bitmap.serialize()) == positions


def test_what_is_broken_is_refused():
    content, places = puffin.write({'a': [1, 2]})
    at, length = places['a']
    blob = content[at:at + length]
    for broken in (blob[:-1], blob[:-1] + b'\0', bytes(4) + blob[4:], blob[:4] + b'PFA1' + blob[8:]):
        with pytest.raises(ValueError):
            puffin.positions_of(broken)
    for broken in (content[1:], content[:-1], content[:-12] + b'\0' * 4 + content[-8:]):
        with pytest.raises(ValueError):
            puffin.footer(broken)
