"""Writes delete files with PyArrow, as PyIceberg's and other writers on top of it do: see README.md."""
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent


def field(name, type_, id_, nullable=True):
    return pa.field(name, type_, nullable, metadata={'PARQUET:field_id': str(id_)})


def positions():
    schema = pa.schema([field('file_path', pa.large_string(), 2147483546, False),
                        field('pos', pa.int64(), 2147483545, False)])
    rows = {'file_path': ['s3://lake/t/b.parquet', 's3://lake/t/a.parquet', 's3://lake/t/b.parquet'],
            'pos': [9, 2, 3]}
    pq.write_table(pa.table(rows, schema), FOLDER / 'pyarrow_positions.parquet', compression='zstd')


def equality():
    # An older writer: the id is an int, the table's is a long by now.
    point = pa.struct([field('x', pa.int32(), 4), field('y', pa.int32(), 5)])
    schema = pa.schema([field('id', pa.int32(), 1), field('point', point, 3)])
    rows = {'id': [1, 2, None], 'point': [{'x': 10, 'y': 0}, None, {'x': None, 'y': 1}]}
    pq.write_table(pa.table(rows, schema), FOLDER / 'pyarrow_equality.parquet', compression='snappy')


if __name__ == '__main__':
    positions()
    equality()
