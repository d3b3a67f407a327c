"""Sets of row positions as deletion vectors hold them: 64-bit Roaring bitmaps in the portable form, written and read
from its description alone.

Source: github.com/RoaringBitmap/RoaringFormatSpec; all numbers are little-endian.
"""
import struct

ONLY_PLAIN, WITH_RUNS = 12346, 12347
MOST_IN_ARRAY = 4096
WORDS = 8192  # the bytes of a bitmap of 2**16 positions
OFFSETS_FROM = 4  # a bitmap with runs has offsets from so many containers on


def grouped(values, bits):
    """{high part: [low parts]}, ascending."""
    groups = {}
    for value in sorted(values):
        groups.setdefault(value >> bits, []).append(value & ((1 << bits) - 1))
    return groups


def write(positions):
    parts = grouped(set(positions), 32)
    out = [struct.pack('<Q', len(parts))]
    for high, low in parts.items():
        out += [struct.pack('<I', high), write_32(low)]
    return b''.join(out)


def write_32(values):
    containers = grouped(values, 16)
    head = struct.pack('<II', ONLY_PLAIN, len(containers))
    head += b''.join(struct.pack('<HH', key, len(low) - 1) for key, low in containers.items())
    bodies = [container(low) for low in containers.values()]
    offset = len(head) + 4 * len(bodies)
    for body in bodies:
        head += struct.pack('<I', offset)
        offset += len(body)
    return head + b''.join(bodies)


def container(low):
    if len(low) <= MOST_IN_ARRAY:
        return struct.pack(f'<{len(low)}H', *low)
    bits = bytearray(WORDS)
    for value in low:
        bits[value >> 3] |= 1 << (value & 7)
    return bytes(bits)


class Reader:
    def __init__(self, content):
        self.content = content
        self.at = 0

    def take(self, form):
        values = struct.unpack_from(form, self.content, self.at)
        self.at += struct.calcsize(form)
        return values

    def read(self):
        positions = []
        for _ in range(self.take('<Q')[0]):
            high = self.take('<I')[0]
            positions += [high << 32 | low for low in self.read_32()]
        if self.at != len(self.content):
            raise ValueError(f'{len(self.content) - self.at} bytes behind the bitmap')
        return positions

    def read_32(self):
        cookie = self.take('<I')[0]
        runs = set()
        if cookie & 0xFFFF == WITH_RUNS:
            count = (cookie >> 16) + 1
            flags = self.take(f'<{(count + 7) // 8}B')
            runs = {n for n in range(count) if flags[n >> 3] >> (n & 7) & 1}
        elif cookie == ONLY_PLAIN:
            count = self.take('<I')[0]
        else:
            raise ValueError(f'no Roaring bitmap: cookie {cookie}')
        keys = [self.take('<HH') for _ in range(count)]
        if cookie == ONLY_PLAIN or count >= OFFSETS_FROM:
            self.take(f'<{count}I')  # where each begins; they follow each other
        return [key << 16 | low for n, (key, most) in enumerate(keys) for low in self.read_container(n in runs, most + 1)]

    def read_container(self, is_run, count):
        if is_run:
            pairs = [self.take('<HH') for _ in range(self.take('<H')[0])]
            return [value for start, more in pairs for value in range(start, start + more + 1)]
        if count <= MOST_IN_ARRAY:
            return list(self.take(f'<{count}H'))
        bits = self.take(f'<{WORDS}B')
        return [value for value in range(1 << 16) if bits[value >> 3] >> (value & 7) & 1]


def read(content):
    """The positions, ascending. ValueError where it is none."""
    return Reader(content).read()
