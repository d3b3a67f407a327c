"""Reads our manifests and our list with PyIceberg, and finds in them what it
finds in its own: python3 check_pyiceberg.py"""
import pathlib

from pyiceberg import manifest as m
from pyiceberg.io.pyarrow import PyArrowFileIO

HERE = pathlib.Path(__file__).parent
IO = PyArrowFileIO()


def rows(list_name):
    return list(m.read_manifest_list(IO.new_input(str(HERE / list_name))))


def entries(manifest):
    manifest._data[0] = str(HERE / pathlib.PurePosixPath(manifest.manifest_path).name)
    return manifest.fetch_manifest_entry(IO, discard_deleted=False)


def plain(value):
    """Records as lists, so that they compare by value."""
    if hasattr(value, "_data"):
        return [plain(item) for item in value._data]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


ours, theirs = rows("written_v2_list.avro"), rows("pyiceberg_v2_gzip_list.avro")
data, deletes = ours
assert plain(data)[2:] == plain(theirs[0])[2:], (plain(data), plain(theirs[0]))
found, wanted = plain(entries(data)), plain(entries(theirs[0]))
assert len(found) == 3
for ours_entry, their_entry in zip(found, wanted):
    assert ours_entry == their_entry, (ours_entry, their_entry)
found = entries(deletes)
assert [entry.data_file.content for entry in found] == [1, 2]
assert found[1].data_file.equality_ids == [1, 2]
assert found[0].sequence_number == 5
print("PyIceberg reads in our files what it reads in its own")
