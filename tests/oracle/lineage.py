"""Row ids: DuckLake's `rowid` and `snapshot_id` of each row against what the Iceberg specification gives the row."""
import collections

import pyarrow as pa

from oracle import by_specification
from oracle.by_specification import ROW_ID_NAME, UPDATED_NAME
from oracle.reading import as_shown, bag, compare, version
from oracle.steps import Difference

CARRIED = ((ROW_ID_NAME, 'BIGINT'), (UPDATED_NAME, 'BIGINT'))
# DuckDB 1.5.5 numbers the rows of a transaction from here on until it commits. A row that the same transaction inserts
# and updates keeps such an id in its file, and the next transaction gives it again.
LOCAL_ID = 10**18
LOCAL = 'DuckDB leaves ids of its transaction in a file; they are compared, and not asked to be unique'
# DuckDB 1.5.5 takes a file that it flushed for one whose ids follow each other, also where rows were updated or deleted
# before; where its first id follows on another file, a merge of the two counts on.
RENUMBERED = 'DuckDB gave rows other ids when it merged files; they are compared, and not asked to be unique or to stay'
KEPT_IDS = 'DuckDB gave rows other ids, and a snapshot that was shown before keeps its files; numbers are compared, ids are not'
NULL_NUMBER = 'DuckDB has no snapshot_id for rows whose file leaves it null, and Iceberg inherits it'


def demand(holds, text):
    if not holds:
        raise Difference('row ids', text)


def ids_of_lake(world, table):
    return sorted(row[0] for row in world.duck.execute(f'SELECT rowid FROM {world.full_name(table)}').fetchall())


def of_lake(world, table, snapshot, columns):
    name = f'{world.full_name(table, snapshot)}{version(snapshot)}'
    read = world.duck.execute(
        f'SELECT rowid AS {ROW_ID_NAME}, snapshot_id AS {UPDATED_NAME}, {as_shown(columns)} FROM {name}')
    return read.to_arrow_table()


def check(world, tally, table, loaded, snapshot, truth, schema):
    """Rows by the specification; in format version 3 with their ids. `snapshot` is None at the head.

    Returns {row id: number}, nothing in format version 2.
    """
    where = 'at the head' if snapshot is None else f'at snapshot {snapshot}'
    shown = loaded.current_snapshot() if snapshot is None else loaded.snapshot_by_id(snapshot)
    if shown is None:
        return {}
    parts = by_specification.read(loaded, shown, schema)
    if loaded.metadata.format_version < 3:
        found = sum((bag(world, part, truth.columns) for part in parts), collections.Counter())
        compare(f'rows {where}', truth.bag(world), found, 'the specification')
        return {}
    tally.lineages += 1
    lake = of_lake(world, table, snapshot, truth.columns)
    if table.renumbered:
        tally.reasons[RENUMBERED] += 1
    check_ids(tally, table, loaded, shown, parts, where)
    lake, known = without_unknown(tally, lake, parts)
    columns = (*CARRIED, *truth.columns)
    if snapshot is not None and snapshot < table.renumbered:
        tally.reasons[KEPT_IDS] += 1
        columns = columns[1:]
    found = sum((bag(world, part, columns) for part in known), collections.Counter())
    compare(f'row ids {where}', bag(world, lake, columns), found, 'the specification')
    return {} if table.shares_ids else numbers_of(parts)


def check_ids(tally, table, loaded, shown, parts, where):
    ids = [row for part in parts for row in part.column(ROW_ID_NAME).to_pylist()]
    numbers = [number for part in parts for number in part.column(UPDATED_NAME).to_pylist()]
    demand(None not in ids, f'{where}: a row has no id')
    if any(row >= LOCAL_ID for row in ids):
        tally.reasons[LOCAL] += 1
        ids = [row for row in ids if row < LOCAL_ID]
    twice = [row for row, count in collections.Counter(ids).items() if count > 1]
    demand(table.shares_ids or not twice, f'{where}: ids of several rows: {sorted(twice)[:9]}')
    highest = max(ids, default=-1)
    end = (shown.first_row_id or 0) + (shown.added_rows or 0)
    demand(highest < loaded.metadata.next_row_id, f'{where}: row id {highest}, and next-row-id is {loaded.metadata.next_row_id}')
    demand(highest < end, f'{where}: row id {highest}, and the snapshot says that ids end before {end}')
    latest = max(numbers, default=0)
    demand(latest <= shown.sequence_number, f'{where}: a row was updated at {latest}, after the snapshot '
                                            f'{shown.sequence_number}')


def numbers_of(parts):
    return {row: number for part in parts
            for row, number in zip(part.column(ROW_ID_NAME).to_pylist(), part.column(UPDATED_NAME).to_pylist())}


def without_unknown(tally, lake, parts):
    """Where DuckDB leaves the number of a row null, it is left out on both sides, and its id is compared."""
    numbers = dict(zip(lake.column(ROW_ID_NAME).to_pylist(), lake.column(UPDATED_NAME).to_pylist()))
    unknown = {row for row, number in numbers.items() if number is None}
    if not unknown:
        return lake, parts
    tally.reasons[NULL_NUMBER] += 1
    return lake, [cleared(part, unknown) for part in parts]


def cleared(part, unknown):
    values = [None if row in unknown else number
              for row, number in zip(part.column(ROW_ID_NAME).to_pylist(), part.column(UPDATED_NAME).to_pylist())]
    return part.set_column(1, UPDATED_NAME, pa.array(values, pa.int64()))


def check_since(older, newer):
    """A row keeps its number or gets a higher one; both are {row id: number} of snapshots of one table."""
    for row, number in older.items():
        if row >= LOCAL_ID:
            continue
        demand(newer.get(row, number) >= number,
               f'row {row} was updated at {number}, and a later snapshot says at {newer.get(row)}')
