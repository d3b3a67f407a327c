"""Data files added, removed and rewritten by commits of our own making. In format version 3 rows keep their ids."""
import pyarrow as pa

from oracle import by_specification, commits
from oracle.by_hand_deletes import send, with_rows
from oracle.by_specification import ROW_ID_NAME, UPDATED_NAME
from oracle.iceberg_rows import cast, client, load, random_rows
from oracle.reading import Truth, bag
from oracle.steps import Skip, operation


def append_change(world, random, table, loaded):
    """Updates that append some rows, and the rows that are there then."""
    sql, rows = random_rows(world, random, table, loaded)
    world.note(sql)
    if any(field.required and rows.column(field.name).null_count for field in loaded.schema().fields):
        raise Skip('a null in a required column')
    truth = Truth(world, table)
    snapshot = commits.Snapshot(loaded, 'append')
    snapshot.add(commits.data_files(loaded, rows))
    return snapshot.updates(), truth.bag(world) + bag(world, rows, truth.columns)


@operation('rest.append', 6)
def append(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    with client(world, f'append to {table.name} in version {loaded.metadata.format_version}'):
        updates, rows = append_change(world, random, table, loaded)
        world.rest.commit(table.schema, table.name, commits.main_was(loaded), updates)
        world.expect(table, rows)


@operation('rest.remove_files', 2)
def remove_files(world, random):
    target = with_rows(world, random)
    gone = random.sample(target.files, random.randint(1, len(target.files)))
    with client(world, f'remove {len(gone)} of {len(target.files)} files of {target.table.name}'):
        expected = target.rows(world, only={file.path for file in target.files} - {file.path for file in gone})
        snapshot = commits.Snapshot(target.loaded, 'delete')
        snapshot.remove(gone + vectors_of(target, gone))
        send(world, target, snapshot.updates())
        world.expect(target.table, expected)


def vectors_of(target, files):
    """They go with their data files: nothing else may name what is not there."""
    paths = {file.path for file in files}
    return [file for file in target.deletes if file.file.get('referenced_data_file') in paths]


@operation('rest.rewrite', 4)
def rewrite(world, random):
    """Files of one partition become one, with the rows that are left."""
    target = with_rows(world, random)
    group = random.choice(target.files).group
    files = [file for file in target.files if file.group == group]
    files = random.sample(files, random.randint(1, min(3, len(files))))
    with client(world, f'rewrite {len(files)} files of {target.table.name}'):
        rows = read_files(target, files)
        replace(world, target, files, rows, 'replace')
        world.expect(target.table, target.rows(world))


@operation('rest.update_rows', 3)
def update_rows(world, random):
    """Copy-on-write: some rows of a file lose a value. They keep their ids, and get the number of the commit."""
    target = with_rows(world, random)
    file = random.choice(target.files)
    sources = {field.source_id for spec in target.loaded.metadata.partition_specs for field in spec.fields}
    usable = [field.name for field in target.loaded.schema().fields if field.field_id not in sources and not field.required]
    if not usable:
        raise Skip('no column that may change')
    name = random.choice(usable)
    with client(world, f'set {name} to NULL in rows of one file of {target.table.name}'):
        rows = read_files(target, [file])
        chosen = set(random.sample(range(rows.num_rows), random.randint(0, rows.num_rows)))
        rows = with_nulls(with_nulls(rows, name, chosen), UPDATED_NAME, chosen)
        columns = Truth(world, target.table).columns
        others = {other.path for other in target.files} - {file.path}
        expected = target.rows(world, only=others) + bag(world, rows, columns)
        replace(world, target, [file], rows, 'overwrite')
        world.expect(target.table, expected)


def with_nulls(rows, name, chosen):
    at = rows.column_names.index(name)
    indices = pa.array([None if n in chosen else n for n in range(rows.num_rows)], pa.int64())
    return rows.set_column(at, rows.schema.field(at), rows.column(at).take(indices))


def read_files(target, files):
    """Live rows in the table's own types, with their ids and numbers."""
    schema = target.loaded.schema()
    parts = by_specification.read(target.loaded, target.loaded.current_snapshot(), schema, only={file.path for file in files})
    numbers = [commits.numbered(ROW_ID_NAME, pa.int64(), commits.ROW_ID), commits.numbered(UPDATED_NAME, pa.int64(), commits.UPDATED)]
    arrow = pa.schema([*numbers, *schema.as_arrow()])
    return pa.concat_tables([pa.table([cast(column, field.type) for column, field in zip(part.columns, arrow)], schema=arrow)
                             for part in parts])


def replace(world, target, files, rows, operation_name):
    if target.version < 3:
        rows = rows.drop_columns([ROW_ID_NAME, UPDATED_NAME])
    snapshot = commits.Snapshot(target.loaded, operation_name)
    snapshot.remove(files + vectors_of(target, files))
    if rows.num_rows:
        like = files[0]
        snapshot.add([commits.data_file(target.loaded, rows, like.spec_id, like.schema, like.file['partition'])])
    send(world, target, snapshot.updates())
