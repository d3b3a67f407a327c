"""Spark as one more reader, of the head and of an old snapshot, when a history has ended. It takes seconds a table."""
from oracle.by_specification import ROW_ID_NAME, UPDATED_NAME
from oracle.lineage import CARRIED, of_lake, without_unknown
from oracle.reading import Truth, bag, compare, plain

# Types that Spark 4.1 with Iceberg 1.12 refuses a whole table for.
UNKNOWN_TO_SPARK = {'time', 'timestamp_ns', 'geometry'}


class Sample:
    def __init__(self, share):
        """Reads this share of the histories."""
        self.share = share

    def check(self, world, tally, random):
        if random.random() >= self.share:
            return
        for table in world.tables:
            try:
                loaded = world.load(table)
            except NotImplementedError:
                continue  # counted where PyIceberg was refused it
            if unknown(loaded):
                tally.reasons['Spark does not know a type of the table'] += 1
                continue
            old = [snapshot.snapshot_id for snapshot in loaded.metadata.snapshots if snapshot.snapshot_id >= table.born]
            for snapshot in (None, *random.sample(old, min(1, len(old)))):
                compare_snapshot(world, tally, table, loaded, snapshot)


def unknown(loaded):
    """Also in an old schema, and within a nested type: Spark turns all schemas of a table into its own."""
    return any(kind in UNKNOWN_TO_SPARK for schema in loaded.metadata.schemas
               for field in schema.fields for kind in leaves(plain(field.field_type)))


def leaves(kind):
    """Names in a type in the form of reading.plain(); those of fields among them, which does no harm."""
    return [kind] if isinstance(kind, str) else [leaf for part in kind for leaf in leaves(part)]


def compare_snapshot(world, tally, table, loaded, snapshot):
    truth = Truth(world, table, snapshot)
    has_ids = loaded.metadata.format_version >= 3 and loaded.current_snapshot() is not None
    name = f'lake.{table.schema}.`{table.name.replace("`", "``")}`'
    at = '' if snapshot is None else f' VERSION AS OF {snapshot}'
    carried = f'{ROW_ID_NAME}, {UPDATED_NAME}, ' if has_ids else ''
    rows = world.spark().sql(f'SELECT {carried}* FROM {name}{at}').toArrow()
    columns, lake = truth.columns, truth.rows
    if has_ids:
        columns = (*CARRIED, *truth.columns)
        lake, (rows,) = without_unknown(tally, of_lake(world, table, snapshot, truth.columns), [rows])
    tally.reads += 1
    tally.spark += 1
    compare(f'rows of Spark {"at the head" if snapshot is None else f"at snapshot {snapshot}"}',
            bag(world, lake, columns), bag(world, rows, columns), 'Spark')
