"""A snapshot's rows as the Iceberg specification says they are to be read, without any Iceberg library: which deletes
apply to which file, where a column is, what a missing one holds, and each row's id and number."""

import pyarrow as pa
import pyarrow.compute as pc

from oracle import avro_files, puffin
from oracle.avro_files import EQUALITY_DELETES
from oracle.commits import ROW_ID, UPDATED, is_vector, live
from oracle.data_files import columns_by_id, contents, number_of
from oracle.steps import Difference

ROW_ID_NAME, UPDATED_NAME = '_row_id', '_last_updated_sequence_number'


def demand(holds, text):
    if not holds:
        raise Difference('deletes', text)


class Deletes:
    """The delete files of a snapshot: positions of each, read once."""

    def __init__(self, loaded, files):
        self.loaded = loaded
        self.vectors = {}
        self.files = []
        for file in files:
            demand(file.file['content'] != EQUALITY_DELETES, f'{file.path}: an equality-delete file is shown')
            if is_vector(file):
                self.add_vector(file)
            else:
                self.files.append((file, pairs(loaded, file.path)))

    def add_vector(self, file):
        of = file.file['referenced_data_file']
        demand(of not in self.vectors, f'{of} has two deletion vectors')
        demand(self.loaded.metadata.format_version >= 3, f'{file.path}: a deletion vector in format version 2')
        self.vectors[of] = (file, vector(self.loaded, file))

    def of(self, data):
        """Positions that are deleted in one data file."""
        if data.path in self.vectors:
            file, positions = self.vectors[data.path]
            return positions if applies(file, data) else set()
        found = set()
        for file, by_path in self.files:
            if data.path in by_path and applies(file, data):
                found |= by_path[data.path]
        return found


def applies(file, data):
    return file.group == data.group and data.entry['sequence_number'] <= file.entry['sequence_number']



def vector(loaded, file):
    """Also what the manifest and the Puffin footer say of it."""
    entry = file.file
    content = avro_files.fetch(loaded, file.path)
    at, length = entry['content_offset'], entry['content_size_in_bytes']
    demand(len(content) == entry['file_size_in_bytes'], f'{file.path} has {len(content)} bytes')
    try:
        positions = puffin.positions_of(content[at:at + length])
        blobs = [blob for blob in puffin.footer(content)['blobs'] if blob['offset'] == at]
    except ValueError as fault:
        raise Difference('deletes', f'{file.path} at {at}: {fault}') from fault
    demand(len(positions) == entry['record_count'], f'{file.path} at {at} has {len(positions)} positions, not '
                                                    f'{entry["record_count"]}')
    demand(len(blobs) == 1 and blobs[0]['length'] == length and blobs[0]['type'] == puffin.TYPE,
           f'{file.path}: the footer names no vector at {at} of {length} bytes')
    said = blobs[0]['properties']
    demand((said['referenced-data-file'], said['cardinality']) == (entry['referenced_data_file'], str(len(positions))),
           f'{file.path}: the footer says {said} of the vector at {at}')
    return set(positions)


def lacks(loaded, names):
    """Whether some live file was written before one of the columns came."""
    wanted = {loaded.schema().find_field(name).field_id for name in names}
    return any(not wanted <= set(columns_by_id(contents(loaded, file.path))) for file in live(loaded)[0])


def has_stale_vectors(loaded, snapshot):
    """Whether a Puffin file holds a vector of a live data file that is no longer the file's, with rows that are there again.

    PyIceberg 0.12 applies all vectors of a Puffin file that it opens, wherever the manifest entry points: there may be none.
    """
    files, delete_files = live(loaded, snapshot)
    deletes = Deletes(loaded, delete_files)
    by_path = {file.path: file for file in files}
    for place in {file.path for file in delete_files if is_vector(file)}:
        content = avro_files.fetch(loaded, place)
        for blob in puffin.footer(content)['blobs']:
            data = by_path.get(blob['properties']['referenced-data-file'])
            stored = puffin.positions_of(content[blob['offset']:blob['offset'] + blob['length']])
            if data is not None and not deletes.of(data).issuperset(stored):
                return True
    return False


def pairs(loaded, place):
    """{data file: positions} of a position-delete file."""
    found = {}
    rows = contents(loaded, place)
    for path, position in zip(rows.column('file_path').to_pylist(), rows.column('pos').to_pylist()):
        found.setdefault(path, set()).add(position)
    return found


def read(loaded, snapshot, schema, without=None, only=None):
    """Arrow rows: `_row_id`, `_last_updated_sequence_number`, then the columns of `schema`.

    `without` maps data files to further positions that are left out, `only` names the data files to read.
    """
    files, delete_files = live(loaded, snapshot)
    deletes = Deletes(loaded, delete_files)
    parts = []
    for data in files:
        if only is not None and data.path not in only:
            continue
        gone = deletes.of(data) | set((without or {}).get(data.path, ()))
        parts.append(rows_of(loaded, data, schema, gone))
    return parts


def rows_of(loaded, data, schema, gone):
    """One file's live rows, as a list of columns."""
    stored = contents(loaded, data.path)
    keep = pa.array([n for n in range(stored.num_rows) if n not in gone], pa.int64())
    columns = columns_by_id(stored)
    made = [row_ids(data, columns, keep), updated(data, columns, keep)]
    for field in schema.fields:
        column = columns.get(field.field_id)
        if column is None:
            made.append(constant_of(loaded, data, field, len(keep)))
        else:
            found = next(f for f in stored.schema if number_of(f) == field.field_id)
            made.append(project(plain_array(column).take(keep), found.type, field.field_type))
    return pa.table(made, names=[ROW_ID_NAME, UPDATED_NAME, *(field.name for field in schema.fields)])


def constant_of(loaded, data, field, count):
    """A column that the file lacks is that of its partition, by identity, or its default."""
    for part in loaded.metadata.specs()[data.spec_id].fields:
        if part.source_id == field.field_id and str(part.transform) == 'identity':
            value = data.file['partition'][part.name]
            # A manifest may leave the date to the reader.
            days = str(field.field_type) == 'date' and isinstance(value, int)
            return pa.array([value] * count, pa.int32()).cast(pa.date32()) if days else constant(value, count)
    return constant(field.initial_default, count)


def plain_array(column):
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array


def row_ids(data, columns, keep):
    first = data.file.get('first_row_id')
    inherited = pc.add(keep, first) if first is not None else pa.nulls(len(keep), pa.int64())
    own = columns.get(ROW_ID)
    return inherited if own is None else pc.coalesce(plain_array(own).take(keep).cast(pa.int64()), inherited)


def updated(data, columns, keep):
    inherited = pa.array([data.entry['sequence_number']] * len(keep), pa.int64())
    own = columns.get(UPDATED)
    return inherited if own is None else pc.coalesce(plain_array(own).take(keep).cast(pa.int64()), inherited)


def constant(value, count):
    return pa.nulls(count) if value is None else pa.array([value] * count)


def project(array, stored, wanted):
    """Nested fields are found by their ids, too. Values keep the form that the file has."""
    if wanted.is_struct:
        return project_struct(array, stored, wanted)
    if hasattr(wanted, 'element_type'):
        values = project(array.values, stored.value_type, wanted.element_type)
        return pa.ListArray.from_arrays(array.offsets, values, mask=array.is_null())
    if hasattr(wanted, 'value_type'):
        keys = project(array.keys, stored.key_type, wanted.key_type)
        return pa.MapArray.from_arrays(array.offsets, keys, project(array.items, stored.item_type, wanted.value_type),
                                       mask=array.is_null())
    if str(wanted) == 'uuid' and pa.types.is_fixed_size_binary(array.type):
        return pa.uuid().wrap_array(array)
    return array


def project_struct(array, stored, wanted):
    made = []
    for field in wanted.fields:
        at = next((n for n in range(stored.num_fields) if number_of(stored.field(n)) == field.field_id), None)
        made.append(constant(field.initial_default, len(array)) if at is None else
                    project(array.field(at), stored.field(at).type, field.field_type))
    return pa.StructArray.from_arrays(made, names=[field.name for field in wanted.fields], mask=array.is_null())
