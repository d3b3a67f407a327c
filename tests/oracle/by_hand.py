"""Changes that an engine with merge-on-read commits: delete files, files removed, main moved, snapshots removed."""
import collections

import pyarrow as pa
from pyiceberg.manifest import DataFileContent
from pyiceberg.typedef import Record

from oracle import commits
from oracle.conditions import COMPARED
from oracle.iceberg_rows import client, load
from oracle.reading import Truth, bag
from oracle.steps import Skip, operation
from oracle.world import quoted


def with_rows(world, random):
    """A table of format version 2 with data files, and those files."""
    table = world.pick(random)
    loaded = load(world, table)
    files = commits.live_files(loaded) if loaded.current_snapshot() else []
    if not files or loaded.metadata.format_version != 2:
        raise Skip('no files, or another format version')
    return table, loaded, files


def send(world, table, loaded, updates):
    world.rest.commit(world.schema, table.name, commits.main_was(loaded), updates)


@operation('rest.position_deletes', 4)
def position_deletes(world, random):
    """One delete file over all files of a partition, with positions that were deleted before, too."""
    table, loaded, files = with_rows(world, random)
    groups = collections.defaultdict(list)
    for file in random.sample(files, random.randint(1, min(3, len(files)))):
        groups[file.spec_id, repr(file.partition)].append(file)
    with client(world, f'position deletes on {table.name}'):
        made = [position_delete_file(world, random, loaded, group) for group in groups.values()]
        snapshot = commits.Snapshot(loaded, 'delete')
        snapshot.add_deletes(made)
        send(world, table, loaded, snapshot.updates())


def position_delete_file(world, random, loaded, group):
    paths, positions = [], []
    for file in group:
        chosen = random.sample(range(file.record_count), random.randint(1, file.record_count))
        paths += [file.file_path] * len(chosen)
        positions += chosen
    world.note(f'-- {len(positions)} positions in {len(group)} files')
    rows = commits.position_deletes(paths, positions)
    return commits.delete_file(loaded, rows, DataFileContent.POSITION_DELETES, group[0])


@operation('rest.equality_deletes', 4)
def equality_deletes(world, random):
    """By one or two columns; NULL equals NULL, and NaN equals NaN."""
    table, loaded, files = with_rows(world, random)
    truth = Truth(world, table)
    usable = [name for name, kind in truth.columns if kind in COMPARED]
    flat = [spec for spec in loaded.metadata.partition_specs if spec.is_unpartitioned()]
    if not usable or not flat or not truth.rows.num_rows:
        raise Skip('no column, or no spec without fields')
    names = random.sample(usable, min(len(usable), random.choice((1, 1, 2))))
    picked = truth.rows.select(names).take(random.sample(range(truth.rows.num_rows), min(3, truth.rows.num_rows)))
    expected = truth.bag(world) - matching(world, truth, picked, names)
    fields = [loaded.schema().find_field(name) for name in names]
    schema = pa.schema([commits.numbered(field.name, field_type.type, field.field_id)
                        for field, field_type in zip(fields, arrow_fields(loaded, names))])
    with client(world, f'equality deletes on {table.name} by {names}: {picked.to_pylist()}'):
        rows = pa.table([column.cast(field.type) for column, field in zip(picked.columns, schema)], schema=schema)
        like = Flat(flat[0].spec_id)
        made = commits.delete_file(loaded, rows, DataFileContent.EQUALITY_DELETES, like,
                                   [field.field_id for field in fields])
        snapshot = commits.Snapshot(loaded, 'delete')
        snapshot.add_deletes([made])
        send(world, table, loaded, snapshot.updates())
        world.expect(table, expected)


def arrow_fields(loaded, names):
    schema = loaded.schema().as_arrow()
    return [schema.field(name) for name in names]


def matching(world, truth, picked, names):
    world.engine.register('picked', picked)
    same = ' AND '.join(f'shown.{quoted(name)} IS NOT DISTINCT FROM picked.{quoted(name)}' for name in names)
    world.engine.register('shown', truth.rows)
    rows = world.engine.execute(f'SELECT * FROM shown WHERE EXISTS (FROM picked WHERE {same})').to_arrow_table()
    return bag(world, rows, truth.columns)


class Flat:
    """Where an equality delete stands that concerns all partitions."""

    def __init__(self, spec_id):
        self.spec_id = spec_id
        self.partition = Record()


@operation('rest.remove_files', 2)
def remove_files(world, random):
    table, loaded, files = with_rows(world, random)
    gone = {file.file_path for file in random.sample(files, random.randint(1, len(files)))}
    with client(world, f'remove {len(gone)} of {len(files)} files of {table.name}'):
        snapshot = commits.Snapshot(loaded, 'delete')
        snapshot.remove(gone)
        send(world, table, loaded, snapshot.updates())


@operation('rest.roll_back', 2)
def roll_back(world, random):
    """main on a snapshot that has the present columns."""
    table = world.pick(random)
    loaded = load(world, table)
    metadata = loaded.metadata
    old = [snapshot.snapshot_id for snapshot in metadata.snapshots
           if snapshot.schema_id == metadata.current_schema_id and snapshot.snapshot_id != metadata.current_snapshot_id]
    if not old:
        raise Skip('no older snapshot with these columns')
    to = random.choice(sorted(old))
    expected = Truth(world, table, to).bag(world)
    with client(world, f'roll {table.name} back to an older snapshot'):
        send(world, table, loaded, [commits.main_is(to)])
        world.expect(table, expected)


@operation('rest.remove_snapshots', 2)
def remove_snapshots(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    old = sorted(snapshot.snapshot_id for snapshot in loaded.metadata.snapshots
                 if snapshot.snapshot_id not in {ref.snapshot_id for ref in loaded.metadata.refs.values()})
    if not old:
        raise Skip('no snapshot that nothing names')
    gone = random.sample(old, random.randint(1, len(old)))
    with client(world, f'remove {len(gone)} of {len(old)} old snapshots of {table.name}'):
        send(world, table, loaded, [{'action': 'remove-snapshots', 'snapshot-ids': gone}])
        left = {snapshot.snapshot_id for snapshot in load(world, table).metadata.snapshots}
        world.demand(left.isdisjoint(gone), f'removed snapshots are still shown: {sorted(left & set(gone))}')
