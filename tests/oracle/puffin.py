"""Deletion vectors in Puffin files, written and read from the specification alone.

Source: Iceberg Puffin specification, "File structure" and "deletion-vector-v1 blob type".
"""
import json
import struct
import zlib

from oracle import roaring

MAGIC = b'PFA1'
VECTOR_MAGIC = bytes((0xD1, 0xD3, 0x39, 0x64))
TYPE = 'deletion-vector-v1'
POSITION_COLUMN = 2147483645  # _pos, the one field that a vector is about


def vector(positions):
    body = VECTOR_MAGIC + roaring.write(positions)
    return struct.pack('>I', len(body)) + body + struct.pack('>I', zlib.crc32(body))


def positions_of(blob):
    """ValueError where length, magic or checksum is wrong."""
    length = struct.unpack_from('>I', blob)[0]
    body = blob[4:4 + length]
    if len(blob) != length + 8 or not body.startswith(VECTOR_MAGIC):
        raise ValueError(f'no deletion vector: {length} for {len(blob)} bytes, {body[:4].hex()}')
    if zlib.crc32(body) != struct.unpack('>I', blob[-4:])[0]:
        raise ValueError('the checksum of a deletion vector is wrong')
    return roaring.read(body[4:])


def write(vectors):
    """`vectors`: {data file: positions}. The file's bytes, and {data file: (offset, length)}."""
    content = MAGIC
    blobs, places = [], {}
    for path, positions in vectors.items():
        blob = vector(positions)
        places[path] = (len(content), len(blob))
        blobs.append({'type': TYPE, 'fields': [POSITION_COLUMN], 'snapshot-id': -1, 'sequence-number': -1,
                      'offset': len(content), 'length': len(blob),
                      'properties': {'referenced-data-file': path, 'cardinality': str(len(set(positions)))}})
        content += blob
    payload = json.dumps({'blobs': blobs, 'properties': {'created-by': 'the oracle'}}).encode()
    return content + MAGIC + payload + struct.pack('<II', len(payload), 0) + MAGIC, places


def footer(content):
    if content[:4] != MAGIC or content[-4:] != MAGIC:
        raise ValueError('no Puffin file')
    length, flags = struct.unpack('<II', content[-12:-4])
    if flags:
        raise ValueError(f'a compressed footer: {flags:x}')
    payload = content[-12 - length:-12]
    if content[-16 - length:-12 - length] != MAGIC:
        raise ValueError('no magic before the footer')
    return json.loads(payload)
