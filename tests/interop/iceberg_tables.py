"""Schemas and rows made from the Iceberg side: of two columns, and of every v2 type."""
import datetime
import decimal
import math
import uuid

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import (BinaryType, BooleanType, DateType, DecimalType, DoubleType, FixedType,
                             FloatType, IntegerType, ListType, LongType, MapType, NestedField,
                             StringType, StructType, TimestampType, TimestamptzType, TimeType,
                             UUIDType)

UTC = datetime.timezone.utc
NUMBERED = Schema(NestedField(1, 'n', LongType(), required=False), NestedField(2, 's', StringType(), required=False))


def numbers(table, values, text='x'):
    return pa.table({'n': list(values), 's': [text] * len(values)}, schema=table.schema().as_arrow())


def every_type():
    """Without time and fixed, which not every client knows."""
    kinds = [('flag', BooleanType()), ('i', IntegerType()), ('big', LongType()), ('f', FloatType()),
             ('d', DoubleType()), ('dec9', DecimalType(9, 2)), ('dec38', DecimalType(38, 10)),
             ('day', DateType()), ('ts', TimestampType()), ('tstz', TimestamptzType()),
             ('s', StringType()), ('id', UUIDType()), ('raw', BinaryType()),
             ('list', ListType(101, IntegerType(), False)),
             ('dict', MapType(102, StringType(), 103, LongType(), False)),
             ('pair', StructType(NestedField(104, 'a', IntegerType(), required=False),
                                 NestedField(105, 'b', StringType(), required=False)))]
    return schema_of(kinds)


def time_and_fixed():
    return schema_of([('i', IntegerType()), ('t', TimeType()), ('four', FixedType(4))])


def schema_of(kinds):
    return Schema(*(NestedField(number, name, kind, required=False)
                    for number, (name, kind) in enumerate(kinds, 1)))


def every_value(n):
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59, 999999) + datetime.timedelta(hours=n)
    return {'flag': n % 2 == 0, 'i': n, 'big': n * 10**12, 'f': n / 4, 'd': math.nan if n % 5 == 0 else -n / 8,
            'dec9': decimal.Decimal(n) / 100, 'dec38': decimal.Decimal(-n) * 10**10 + decimal.Decimal('0.0000000001'),
            'day': moment.date(), 'ts': moment, 'tstz': moment.replace(tzinfo=UTC), 's': f'ü{n}',
            'id': uuid.UUID(int=n * 2**64 + n).bytes, 'raw': bytes([n % 256, 255]), 'list': [n, None],
            'dict': [('k', n), ('none', None)], 'pair': {'a': n, 'b': None}}


def time_and_fixed_value(n):
    return {'i': n, 't': datetime.time(n % 24, n % 60, 59, n), 'four': n.to_bytes(4, 'big')}


def rows(table, value, first, count):
    """`count` rows and one row of nulls, typed as the Iceberg table wants them."""
    made = [value(n) for n in range(first, first + count)]
    made.append(dict.fromkeys(made[0]))
    return pa.Table.from_pylist(made, schema=table.schema().as_arrow())


def operations(catalog, table):
    return [snapshot.summary.operation.value for snapshot in catalog.load_table(table).snapshots()]
