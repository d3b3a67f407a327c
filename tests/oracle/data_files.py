"""A file against what its manifest says of it: counts, bounds and partition values must hold for every row.

Each file is read once for each claim about it, without any Iceberg library, since readers trust the claims.
"""
import itertools
import json
import math

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg import types
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFileContent

from oracle.steps import Difference

FIELD_ID = b'PARQUET:field_id'
FILES = {}
GROUPS = {}
CHECKED = set()
MOST_FILES = 300


def demand(holds, text):
    if not holds:
        raise Difference('file statistics', text)


def contents(loaded, path):
    """Arrow rows, whose fields have the ids that the file gives them, or the table's name mapping where it gives none."""
    names = loaded.metadata.properties.get('schema.name-mapping.default')
    if (path, names) not in FILES:
        if len(FILES) >= MOST_FILES:
            FILES.clear()
        with loaded.io.new_input(path).open() as source:
            file = pq.ParquetFile(pa.BufferReader(source.read()))
        FILES[path, names] = with_ids(file.read(), names)
        GROUPS[path] = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    return FILES[path, names]


def row_groups(loaded, path):
    """The same rows, by the row groups that they stand in."""
    rows = contents(loaded, path)
    starts = itertools.accumulate(GROUPS[path], initial=0)
    return [rows.slice(start, count) for start, count in zip(starts, GROUPS[path])]


def with_ids(rows, names):
    if names is None or any(number_of(field) is not None for field in rows.schema):
        return rows
    return pa.Table.from_arrays(rows.columns, schema=pa.schema(mapped(rows.schema, json.loads(names))))


def mapped(fields, mapping):
    by_name = {name: entry for entry in mapping for name in entry['names']}
    return [mapped_field(field, by_name.get(field.name)) for field in fields]


def mapped_field(field, entry):
    """Parts of lists and maps are called element, key and value, whatever Arrow calls them."""
    if entry is None:
        return field
    parts = {name: part for part in entry.get('fields', []) for name in part['names']}
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct(mapped(kind, entry.get('fields', [])))
    elif pa.types.is_map(kind):
        kind = pa.map_(mapped_field(kind.key_field, parts.get('key')), mapped_field(kind.item_field, parts.get('value')))
    elif pa.types.is_list(kind):
        kind = pa.list_(mapped_field(kind.value_field, parts.get('element')))
    ids = {} if entry.get('field-id') is None else {FIELD_ID: str(entry['field-id'])}
    return field.with_type(kind).with_metadata(ids)


def check_data_file(loaded, snapshot, file):
    claims = (file.file_path, file.spec_id, repr(file.partition), repr(file.lower_bounds), repr(file.upper_bounds),
              repr(file.value_counts), repr(file.null_value_counts), repr(file.nan_value_counts), file.record_count)
    if claims in CHECKED or file.content != DataFileContent.DATA:
        return
    rows = contents(loaded, file.file_path)
    demand(rows.num_rows == file.record_count, f'{file.file_path} has {rows.num_rows} rows, not {file.record_count}')
    schema = loaded.metadata.schema_by_id(snapshot.schema_id)
    columns = columns_by_id(rows)
    for field in schema.fields:
        if field.field_type.is_primitive and field.field_id in columns:
            check_counts(file, field, columns[field.field_id])
            check_bounds(file, field, columns[field.field_id])
    check_partition(loaded, file, columns)
    CHECKED.add(claims)


def number_of(field):
    """The field id, or None."""
    number = (field.metadata or {}).get(FIELD_ID)
    return None if number is None else int(number)


def columns_by_id(rows):
    return {number_of(field): column for field, column in zip(rows.schema, rows.columns) if number_of(field) is not None}


def check_counts(file, field, column):
    where = f'{file.file_path}, column {field.name}'
    number = field.field_id
    for name, counts, true in (
            ('value_count', file.value_counts, len(column)), ('null_value_count', file.null_value_counts, column.null_count),
            ('nan_value_count', file.nan_value_counts, nan_count(column))):
        if counts and number in counts:
            demand(counts[number] == true, f'{where}: {name} is {counts[number]}, and there are {true}')


def nan_count(column):
    return pc.sum(pc.is_nan(column)).as_py() or 0 if pa.types.is_floating(column.type) else 0


def check_bounds(file, field, column):
    values = [value for value in physical(column) if value is not None and value == value]
    for bounds, holds, name in ((file.lower_bounds, lambda bound: bound <= min(values), 'lower'),
                                (file.upper_bounds, lambda bound: bound >= max(values), 'upper')):
        raw = (bounds or {}).get(field.field_id)
        if raw is None or not values:
            continue
        bound = decoded(field.field_type, raw)
        demand(not (isinstance(bound, float) and math.isnan(bound)), f'{file.file_path}: a bound of {field.name} is NaN')
        demand(holds(bound), f'{file.file_path}: {name} bound of {field.name} is {bound!r}, '
                             f'and the values are {min(values)!r} to {max(values)!r}')


def physical(column):
    """Values in the form in which bounds hold them."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    kind = column.type
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [None if value is None else value.encode() for value in column.to_pylist()]
    return column.to_pylist()


def decoded(kind, raw):
    if isinstance(kind, (types.IntegerType, types.LongType)):
        return int.from_bytes(raw, 'little', signed=True)  # a promoted column keeps its shorter bounds
    if isinstance(kind, (types.StringType, types.BinaryType, types.FixedType, types.UUIDType)):
        return bytes(raw)
    if isinstance(kind, types.DoubleType) and len(raw) == 4:
        return from_bytes(types.FloatType(), raw)
    return from_bytes(kind, raw)


def check_partition(loaded, file, columns):
    spec = loaded.metadata.specs()[file.spec_id]
    for position, field in enumerate(spec.fields):
        column = columns.get(field.source_id)
        if column is None:
            continue
        claimed = file.partition[position]
        source = loaded.metadata.schema().find_field(field.source_id).field_type if has_field(loaded, field.source_id) else None
        if source is None:
            continue
        apply = field.transform.transform(source)
        for value in set(physical(column)):
            made = wrapped(source, apply(restored(source, value)))
            demand(same(made, claimed), f'{file.file_path}: partition {field.name} is {claimed!r}, '
                                        f'and the row with {value!r} belongs to {made!r}')


def wrapped(kind, value):
    """truncate of the least numbers overflows: Java and Rust wrap around, and PyIceberg's Python, asked here, does not."""
    bits = {'int': 32, 'long': 64}.get(str(kind))
    if bits is None or not isinstance(value, int) or isinstance(value, bool):
        return value
    return (value + 2**(bits - 1)) % 2**bits - 2**(bits - 1)


def has_field(loaded, number):
    return any(field.field_id == number for field in loaded.metadata.schema().fields)


def restored(kind, value):
    """Transforms want strings as text, and numbers as they are."""
    return value.decode() if isinstance(kind, types.StringType) and value is not None else value


def same(made, claimed):
    if isinstance(made, float) and isinstance(claimed, float) and math.isnan(made):
        return math.isnan(claimed)
    return made == claimed or (made is not None and claimed is not None and
                               getattr(made, 'bytes', made) == getattr(claimed, 'bytes', claimed))
