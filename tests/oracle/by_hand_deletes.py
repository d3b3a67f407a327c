"""Rows deleted by commits that an engine with merge-on-read sends: position deletes, deletion vectors, equality deletes."""
import collections
import dataclasses

import pyarrow as pa

from oracle import avro_files, by_specification, commits, puffin
from oracle.avro_files import EQUALITY_DELETES, POSITION_DELETES
from oracle.conditions import COMPARED
from oracle.iceberg_rows import client, load
from oracle.reading import Truth, bag
from oracle.steps import Skip, operation
from oracle.world import quoted


FLOATING = ('FLOAT', 'DOUBLE')  # the specification does not allow them as delete columns


@dataclasses.dataclass
class Target:
    """A table with data files, as a client sees it before its commit."""

    table: object
    loaded: object
    files: list
    deletes: list

    @property
    def version(self):
        return self.loaded.metadata.format_version

    def rows(self, world, without=None, only=None):
        """The rows that are left."""
        columns = Truth(world, self.table).columns
        parts = by_specification.read(self.loaded, self.loaded.current_snapshot(), self.loaded.schema(), without, only)
        return sum((bag(world, part, columns) for part in parts), collections.Counter())


def with_rows(world, random, table=None):
    table = table or world.pick(random)
    loaded = load(world, table)
    files, deletes = commits.live(loaded)
    if not files:
        raise Skip('no files')
    return Target(table, loaded, files, deletes)


def send(world, target, updates):
    world.rest.commit(target.table.schema, target.table.name, commits.main_was(target.loaded), updates)


def chosen_positions(random, files):
    """{data file: positions}, of up to three files; rows that are deleted already may be among them."""
    chosen = random.sample(files, random.randint(1, min(3, len(files))))
    return {file.path: random.sample(range(file.file['record_count']), random.randint(1, file.file['record_count']))
            for file in chosen}


def delete_change(world, random, target):
    """Updates that delete some rows, in the form of the table's format version, and the rows that are left."""
    positions = chosen_positions(random, target.files)
    world.note(f'-- {[len(rows) for rows in positions.values()]} positions of {len(positions)} files')
    snapshot = commits.Snapshot(target.loaded, 'delete')
    if target.version >= 3:
        add_vectors(snapshot, target, positions)
    else:
        snapshot.add(position_delete_files(target, positions))
    return snapshot.updates(), target.rows(world, without=positions)


def position_delete_files(target, positions):
    """One delete file over all files of a partition."""
    groups = collections.defaultdict(list)
    for file in target.files:
        if file.path in positions:
            groups[file.group].append(file)
    return [commits.delete_file(target.loaded, commits.position_deletes(
        [(file.path, position) for file in group for position in positions[file.path]]), POSITION_DELETES, group[0])
        for group in groups.values()]


def add_vectors(snapshot, target, positions):
    """All new vectors in one Puffin file; each takes the place of the one that its data file had."""
    before = {file.file['referenced_data_file']: file for file in target.deletes
              if commits.is_vector(file) and file.file['referenced_data_file'] in positions}
    united = {path: set(rows) | (by_specification.vector(target.loaded, before[path]) if path in before else set())
              for path, rows in positions.items()}
    snapshot.remove(list(before.values()))
    snapshot.add(vector_files(target, united))


def vector_files(target, positions):
    content, places = puffin.write(positions)
    place = commits.new_place(target.loaded, 'puffin')
    size = avro_files.store(target.loaded, place, content)
    return [commits.Live(file.spec_id, file.schema, commits.new_entry({
        'content': POSITION_DELETES, 'file_path': place, 'file_format': 'PUFFIN', 'partition': file.file['partition'],
        'record_count': len(set(positions[file.path])), 'file_size_in_bytes': size, 'referenced_data_file': file.path,
        'content_offset': places[file.path][0], 'content_size_in_bytes': places[file.path][1]}))
        for file in target.files if file.path in positions]


def delete_rows(world, random, version):
    target = with_rows(world, random)
    if target.version != version:
        raise Skip('another format version')
    with client(world, f'delete rows of {target.table.name} by their positions'):
        updates, left = delete_change(world, random, target)
        send(world, target, updates)
        world.expect(target.table, left)


@operation('rest.position_deletes', 4)
def position_deletes(world, random):
    delete_rows(world, random, 2)


@operation('rest.deletion_vectors', 5)
def deletion_vectors(world, random):
    delete_rows(world, random, 3)


@operation('rest.take_back_deletes', 2)
def take_back_deletes(world, random):
    """Delete files go, and their rows are there again."""
    target = with_rows(world, random)
    if not target.deletes:
        raise Skip('no delete files')
    gone = random.sample(target.deletes, random.randint(1, len(target.deletes)))
    with client(world, f'take back {len(gone)} of {len(target.deletes)} delete files of {target.table.name}'):
        expected = rows_without_deletes(world, target, gone)
        snapshot = commits.Snapshot(target.loaded, 'overwrite')
        snapshot.remove(gone)
        send(world, target, snapshot.updates())
        world.expect(target.table, expected)
    name = world.full_name(target.table)
    target.table.repeated |= world.duck.execute(f'SELECT count(*) > count(DISTINCT rowid) FROM {name}').fetchone()[0]


def rows_without_deletes(world, target, gone):
    columns = Truth(world, target.table).columns
    left = by_specification.Deletes(target.loaded, [file for file in target.deletes if file not in gone])
    parts = [by_specification.rows_of(target.loaded, file, target.loaded.schema(), left.of(file)) for file in target.files]
    return sum((bag(world, part, columns) for part in parts), collections.Counter())


@operation('rest.deletes_in_second_snapshot', 1)
def deletes_in_second_snapshot(world, random):
    target = with_rows(world, random)
    with client(world, f'two snapshots on {target.table.name}, the second with delete files'):
        first = commits.Snapshot(target.loaded, 'delete')
        first.remove([target.files[0]])
        if len(target.files) == 1:
            raise Skip('no file is left to delete from')
        second = commits.Snapshot(target.loaded, 'delete', first, number=2)
        rest = dataclasses.replace(target, files=target.files[1:])
        positions = chosen_positions(random, rest.files)
        if target.version >= 3:
            add_vectors(second, rest, positions)
        else:
            second.add(position_delete_files(rest, positions))
        expected = target.rows(world, without=positions, only={file.path for file in rest.files})
        send(world, target, [first.update(), second.update(), commits.main_is(second.id)])
        world.expect(target.table, expected)


@operation('rest.equality_deletes', 4)
def equality_deletes(world, random):
    """By one or two columns; NULL equals NULL, and NaN equals NaN."""
    target = with_rows(world, random)
    table, loaded = target.table, target.loaded
    truth = Truth(world, table)
    usable = [name for name, kind in truth.columns if kind in COMPARED and (kind not in FLOATING or random.random() < 0.1)]
    flat = [spec for spec in loaded.metadata.partition_specs if spec.is_unpartitioned()]
    if not usable or not flat or not truth.rows.num_rows:
        raise Skip('no column, or no spec without fields')
    kinds = dict(truth.columns)
    names = random.sample(usable, min(len(usable), random.choice((1, 1, 2))))
    picked = truth.rows.select(names).take(random.sample(range(truth.rows.num_rows), min(3, truth.rows.num_rows)))
    expected = truth.bag(world) - matching(world, truth, picked, names)
    fields = [loaded.schema().find_field(name) for name in names]
    schema = pa.schema([commits.numbered(field.name, field_type.type, field.field_id)
                        for field, field_type in zip(fields, arrow_fields(loaded, names))])
    with client(world, f'equality deletes on {table.name} by {names}: {picked.to_pylist()}'):
        rows = pa.table([column.cast(field.type) for column, field in zip(picked.columns, schema)], schema=schema)
        everywhere = commits.Live(flat[0].spec_id, avro_files.entry_schema(loaded, flat[0]), commits.new_entry({'partition': {}}))
        made = commits.delete_file(loaded, rows, EQUALITY_DELETES, everywhere, [field.field_id for field in fields])
        snapshot = commits.Snapshot(loaded, 'delete')
        snapshot.add([made])
        if any(kinds[name] in FLOATING for name in names):
            world.demand_refused('floating point', lambda: send(world, target, snapshot.updates()))
            return
        send(world, target, snapshot.updates())
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
