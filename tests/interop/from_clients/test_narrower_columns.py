"""What clients append to columns that DuckDB holds as a narrower type than clients see."""
import datetime

import pyarrow as pa
import pytest
from pyiceberg.exceptions import BadRequestError

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
