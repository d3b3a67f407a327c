"""What clients append to columns that DuckDB holds as a narrower type than clients see, and what DuckDB writes where clients
have said more than it knows."""
import datetime

import pyarrow as pa
import pytest
from pyiceberg.exceptions import BadRequestError
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, ListType, LongType, MapType, NestedField, StringType, StructType

from agreement import assert_agree

# Type of DuckDB's, Arrow's, values that are taken, values that are not.
CASES = {
    'sum': ('HUGEINT', pa.float64(), [-5.0, 3e30, None], [1.5, 2.5]),
    'sum out of range': ('HUGEINT', pa.float64(), [0.0, 1.7e38], [0.0, 1e39]),
    'unsigned sum': ('UHUGEINT', pa.float64(), [0.0, 3e38], [-1.0, 5.0]),
    'tinyint': ('TINYINT', pa.int32(), [-128, 127], [-129, 0]),
    'smallint': ('SMALLINT', pa.int32(), [-32768, 32767], [0, 32768]),
    'whole seconds': ('TIMESTAMP_S', pa.timestamp('us'), [datetime.datetime(2020, 1, 1)], [datetime.datetime(2020, 1, 1, 0, 0, 0, 5)]),
}


@pytest.mark.parametrize('case', CASES)
def test_values_of_the_lakes_type_alone_are_taken(duck, catalog, schema, case):
    kind, arrow, taken, refused = CASES[case]
    duck.execute(f'CREATE TABLE lake.{schema}.t (v {kind})')
    duck.execute(f'INSERT INTO lake.{schema}.t SELECT NULL FROM range(20)')
    table = catalog.load_table(f'{schema}.t')
    with pytest.raises(BadRequestError, match='column v'):
        table.append(pa.table({'v': pa.array(refused, arrow)}))
    catalog.load_table(f'{schema}.t').append(pa.table({'v': pa.array(taken, arrow)}))
    rows = duck.execute(f'SELECT v::VARCHAR FROM lake.{schema}.t').fetchall()
    assert len(rows) == 20 + len(taken)
    shown = catalog.load_table(f'{schema}.t').scan().to_arrow().column('v').to_pylist()
    assert sorted(shown, key=str) == sorted(taken + [None] * 20, key=str)


def test_every_time_is_one_with_a_zone(duck, catalog, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.t (v TIMETZ)')
    duck.execute(f"INSERT INTO lake.{schema}.t SELECT '23:30:00-02' FROM range(20)")
    catalog.load_table(f'{schema}.t').append(pa.table({'v': pa.array([datetime.time(12)], pa.time64('us'))}))
    rows = duck.execute(f'SELECT DISTINCT v::VARCHAR FROM lake.{schema}.t ORDER BY 1').fetchall()
    assert rows == [('01:30:00+00',), ('12:00:00+00',)]
    assert duck.execute(f"SELECT count(*) FROM lake.{schema}.t WHERE v = '12:00:00+00'").fetchone() == (1,)


PARTS = Schema(NestedField(1, 'n', LongType(), required=False), NestedField(2, 'l', ListType(5, IntegerType(), True), required=False),
               NestedField(3, 's', StructType(NestedField(6, 'x', IntegerType(), required=True),
                                              NestedField(7, 'y', IntegerType(), required=True)), required=False),
               NestedField(4, 'm', MapType(8, StringType(), 9, IntegerType(), True), required=False))
FULL = "1, [1, 2], {'x': 1, 'y': 1}, MAP {'k': 1}"
WITH_NULL = "2, [1, NULL], {'x': NULL, 'y': 2}, MAP {'k': NULL}"


def required_parts(table):
    columns = {field.name: field.field_type for field in table.schema().fields}
    return [name for name, is_required in (('l', columns['l'].element_required), ('x', columns['s'].fields[0].required),
                                           ('y', columns['s'].fields[1].required), ('m', columns['m'].value_required)) if is_required]


@pytest.mark.parametrize('rows', [1, 30])
def test_a_part_that_a_client_requires_is_optional_once_duckdb_has_written_null_there(duck, catalog, truth, readers, schema, rows):
    """DuckDB knows no NOT NULL of parts. Readers take what is required for present: filters were wrong, and Spark failed."""
    table = catalog.create_table(f'{schema}.t', PARTS)
    value = {'n': [0], 'l': [[1]], 's': [{'x': 0, 'y': 0}], 'm': [[('k', 0)]]}
    table.append(pa.table(value, schema=table.schema().as_arrow()))
    assert required_parts(table.refresh()) == ['l', 'x', 'y', 'm']
    before = table.current_snapshot().snapshot_id
    duck.execute(f'INSERT INTO lake.{schema}.t SELECT {WITH_NULL} FROM range({rows})')
    assert {'l', 'x', 'm'}.isdisjoint(required_parts(table.refresh()))
    assert table.schemas()[table.snapshot_by_id(before).schema_id].find_field('s.x').required, 'what was shown stays'
    found = table.scan(row_filter='s.x is null').to_arrow()
    assert len(found) == rows and set(found['n'].to_pylist()) == {2}
    assert assert_agree(truth, readers, f'{schema}.t') == rows + 1
    assert assert_agree(truth, readers, f'{schema}.t', before) == 1


def test_a_file_of_duckdb_that_holds_no_null_changes_nothing(duck, catalog, truth, readers, schema):
    table = catalog.create_table(f'{schema}.t', PARTS)
    duck.execute(f'INSERT INTO lake.{schema}.t SELECT {FULL} FROM range(30)')
    assert required_parts(table.refresh()) == ['l', 'x', 'y', 'm']
    assert assert_agree(truth, readers, f'{schema}.t') == 30
