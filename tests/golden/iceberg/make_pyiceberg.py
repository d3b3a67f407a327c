"""Writes manifests and lists with PyIceberg: python3 make_pyiceberg.py

Needs pyiceberg 0.12.0 (pip install 'pyiceberg[pyarrow]==0.12.0').
"""
import decimal
import pathlib
import uuid

from pyiceberg import manifest as m
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (BucketTransform, DayTransform, IdentityTransform, MonthTransform,
                                  TruncateTransform, VoidTransform)
from pyiceberg.typedef import Record
from pyiceberg.types import (BinaryType, BooleanType, DateType, DecimalType, DoubleType, FixedType,
                             FloatType, IntegerType, LongType, NestedField, StringType, TimestamptzType,
                             TimeType, UUIDType)

HERE = pathlib.Path(__file__).parent
IO = PyArrowFileIO()

SCHEMA = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "name", StringType()),
    NestedField(3, "ts", TimestamptzType()), NestedField(4, "day", DateType()),
    NestedField(5, "amount", DecimalType(9, 2)), NestedField(6, "uid", UUIDType()),
    NestedField(7, "code", FixedType(4)), NestedField(8, "raw", BinaryType()),
    NestedField(9, "flag", BooleanType()), NestedField(10, "ratio", DoubleType()),
    NestedField(11, "gr\u00f6\u00dfe", IntegerType()), NestedField(12, "clock", TimeType()),
    NestedField(13, "single", FloatType()), schema_id=2)

SPEC = PartitionSpec(
    PartitionField(1, 1000, BucketTransform(16), "id_bucket"),
    PartitionField(2, 1001, TruncateTransform(4), "name_trunc"),
    PartitionField(3, 1002, DayTransform(), "ts_day"),
    PartitionField(4, 1003, MonthTransform(), "day_month"),
    PartitionField(5, 1004, IdentityTransform(), "amount"),
    PartitionField(6, 1005, IdentityTransform(), "uid"),
    PartitionField(7, 1006, IdentityTransform(), "code"),
    PartitionField(8, 1007, IdentityTransform(), "raw"),
    PartitionField(9, 1008, IdentityTransform(), "flag"),
    PartitionField(10, 1009, IdentityTransform(), "ratio"),
    PartitionField(11, 1010, IdentityTransform(), "gr\u00f6\u00dfe"),
    PartitionField(12, 1011, IdentityTransform(), "clock"),
    PartitionField(3, 1012, IdentityTransform(), "1st ts"),
    PartitionField(13, 1013, VoidTransform(), "single"), spec_id=3)

PARTITION = Record(5, "iceb", 17486, 574, decimal.Decimal("14.20"),
                   uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), bytes([0, 1, 2, 3]),
                   b"\x01\xff", True, 1.5, -7, 81068000000, 1510871468000000, None)
NULLS = Record(*[None] * 14)


def long_bytes(value):
    return value.to_bytes(8, "little")


def full_file():
    return m.DataFile.from_args(
        content=m.DataFileContent.DATA, file_path="s3://lake/t/data/a.parquet",
        file_format=m.FileFormat.PARQUET, partition=PARTITION, record_count=100,
        file_size_in_bytes=4096, column_sizes={1: 800, 2: 1200},
        value_counts={1: 100, 2: 100, 10: 100}, null_value_counts={1: 0, 2: 7},
        nan_value_counts={10: 2}, lower_bounds={1: long_bytes(1), 2: b"abc"},
        upper_bounds={1: long_bytes(100), 2: b"xyz"}, key_metadata=b"\x00\xff",
        split_offsets=[4, 2048], equality_ids=None, sort_order_id=0)


def plain_file(path, file_format):
    return m.DataFile.from_args(
        content=m.DataFileContent.DATA, file_path=path, file_format=file_format, partition=NULLS,
        record_count=1, file_size_in_bytes=512, sort_order_id=0)


def entry(status, snapshot, sequence, file_sequence, file):
    return m.ManifestEntry.from_args(status=status, snapshot_id=snapshot, sequence_number=sequence,
                                     file_sequence_number=file_sequence, data_file=file)


def write(version, codec):
    name = f"pyiceberg_v{version}_{codec}.avro"
    output = IO.new_output(str(HERE / name))
    with m.write_manifest(version, SPEC, SCHEMA, output, 9, codec) as writer:
        writer.add_entry(entry(m.ManifestEntryStatus.ADDED, 9, None, None, full_file()))
        writer.add_entry(entry(m.ManifestEntryStatus.EXISTING, 7, 3, 2, plain_file(
            "s3://lake/t/data/b.parquet", m.FileFormat.PARQUET)))
        writer.add_entry(entry(m.ManifestEntryStatus.DELETED, 9, 4, 4, plain_file(
            "s3://lake/t/data/c.parquet", m.FileFormat.ORC)))
    manifest = writer.to_manifest_file()
    manifest._data[0] = "s3://lake/t/metadata/" + name
    output = IO.new_output(str(HERE / name.replace(".avro", "_list.avro")))
    with m.write_manifest_list(version, output, 9, 7, 5, codec) as writer:
        writer.add_manifests([manifest])


if __name__ == "__main__":
    for path in HERE.glob("pyiceberg_*.avro"):
        path.unlink()
    write(1, "gzip")
    write(2, "gzip")
    write(2, "zstandard")
    write(2, "snappy")
