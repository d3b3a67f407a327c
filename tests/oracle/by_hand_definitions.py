"""Commits that clean up what a table's metadata lists, change nothing of it, or make the table anew."""
import uuid

from oracle import avro_files, commits
from oracle.by_hand_metadata import send
from oracle.iceberg_rows import client, load, random_rows
from oracle.reading import Truth, bag
from oracle.steps import Skip, operation

UNKNOWN = 99_999  # an id that no table has; such are passed over


def remove_unused(world, random, of, used, shown):
    """Removes some ids that are neither current nor used; those that are get refused. Returns what must be left.

    `of`: (action, member, current id, the word for one). `shown` are all ids of the table.
    """
    action, member, current, noun = of
    table = world.picked[-1]
    loaded = load(world, table)

    def remove(ids):
        send(world, table, loaded, [{'action': action, member: ids}])

    world.demand_refused(str(current), lambda: remove([current]))
    in_use = sorted(used - {current})
    if in_use:
        kept = random.choice(in_use)
        world.demand_refused(f'{noun} {kept}', lambda: remove([kept]), status=409)
    unused = sorted(set(shown) - used - {current})
    if not unused:
        raise Skip(f'every {noun} is in use')
    gone = random.sample(unused, random.randint(1, len(unused)))
    remove([*gone, UNKNOWN])
    return [number for number in shown if number not in gone]


@operation('rest.remove_schemas', 2)
def remove_schemas(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    used = {snapshot.schema_id for snapshot in loaded.metadata.snapshots}
    with client(world, f'remove unused schemas of {table.name}'):
        rows = Truth(world, table).bag(world)
        of = ('remove-schemas', 'schema-ids', loaded.metadata.current_schema_id, 'schema')
        left = remove_unused(world, random, of, used, schema_ids(loaded))
        found = schema_ids(load(world, table))
        world.demand(found == left, f'the schemas {found} are shown, and {left} should be')
        world.expect(table, rows)


def schema_ids(loaded):
    return [schema.schema_id for schema in loaded.metadata.schemas]


@operation('rest.remove_partition_specs', 2)
def remove_partition_specs(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    with client(world, f'remove unused partition specs of {table.name}'):
        rows = Truth(world, table).bag(world)
        of = ('remove-partition-specs', 'spec-ids', loaded.metadata.default_spec_id, 'spec')
        left = remove_unused(world, random, of, used_specs(loaded), spec_ids(loaded))
        found = spec_ids(load(world, table))
        world.demand(found == left, f'the specs {found} are shown, and {left} should be')
        world.expect(table, rows)


def spec_ids(loaded):
    return [spec.spec_id for spec in loaded.metadata.partition_specs]


def used_specs(loaded):
    """Those of every manifest of a snapshot that is shown."""
    return {listed['partition_spec_id'] for snapshot in loaded.metadata.snapshots
            for listed in avro_files.read_list(loaded, snapshot.manifest_list)}


@operation('rest.partition_statistics', 2)
def partition_statistics(world, random):
    """Of any snapshot that is shown; kept and shown as they are given, one for each snapshot."""
    table = world.pick(random)
    loaded = load(world, table)
    if not loaded.metadata.snapshots:
        raise Skip('no snapshot')
    of = random.choice(sorted(snapshot.snapshot_id for snapshot in loaded.metadata.snapshots))
    before = partition_files(loaded)
    removes = of in before and random.random() < 0.5
    with client(world, f'{"remove" if removes else "set"} partition statistics of {table.name}'):
        if removes:
            del before[of]
            change = {'action': 'remove-partition-statistics', 'snapshot-id': of}
        else:
            before[of] = f'{loaded.location()}/metadata/by-hand-{uuid.uuid4()}.parquet'
            avro_files.store(loaded, before[of], b'PAR1')
            change = {'action': 'set-partition-statistics', 'partition-statistics': {
                'snapshot-id': of, 'statistics-path': before[of], 'file-size-in-bytes': 4}}
        send(world, table, loaded, [change])
        shown = partition_files(load(world, table))
        world.demand(shown == before, f'the partition statistics are {shown} and should be {before}')
        unknown = {'snapshot-id': UNKNOWN * 10**9, 'statistics-path': 's3://nowhere/p', 'file-size-in-bytes': 4}
        world.demand_refused('does not exist', lambda: send(world, table, loaded, [
            {'action': 'set-partition-statistics', 'partition-statistics': unknown}]))


def partition_files(loaded):
    return {file.snapshot_id: file.statistics_path for file in loaded.metadata.partition_statistics}


@operation('rest.nothing_new', 1)
def nothing_new(world, random):
    """A table is told what it is already, which changes nothing; to move it is not offered."""
    table = world.pick(random)
    loaded = load(world, table)
    before = loaded.metadata
    with client(world, f'tell {table.name} its own uuid and location'):
        rows = Truth(world, table).bag(world)
        send(world, table, loaded, [{'action': 'assign-uuid', 'uuid': str(before.table_uuid)},
                                    {'action': 'set-location', 'location': loaded.location() + random.choice(('', '/'))}])
        after = load(world, table).metadata
        world.demand(told(after) == told(before), f'{told(before)} became {told(after)}')
        world.demand_not_offered('set-location', lambda: send(world, table, loaded, [
            {'action': 'set-location', 'location': loaded.location() + '-elsewhere'}]))
        world.expect(table, rows)


def told(metadata):
    return (metadata.table_uuid, metadata.location, metadata.current_snapshot_id, metadata.current_schema_id,
            [snapshot.snapshot_id for snapshot in metadata.snapshots])


@operation('rest.replace_table', 3)
def replace_table(world, random):
    """As CREATE OR REPLACE TABLE sends it: main goes, and perhaps comes again with other columns or with rows."""
    table = world.pick(random)
    loaded = load(world, table)
    kind = random.choice(('empty', 'rows', 'columns'))
    updates = [{'action': 'remove-snapshot-ref', 'ref-name': 'main'}]
    with client(world, f'replace {table.name}: {kind}'):
        left = None
        if kind == 'rows':
            more, left = first_rows(world, random, table, loaded)
            updates += more
        elif kind == 'columns':
            updates += other_columns(loaded)
        world.rest.commit(table.schema, table.name, commits.main_was(loaded)[:1], updates)
        if kind != 'rows':
            now = load(world, table).metadata
            world.demand(now.current_snapshot_id is None, f'{table.name} has the snapshot {now.current_snapshot_id} without main')
        left = bag(world, Truth(world, table).rows.slice(0, 0), Truth(world, table).columns) if left is None else left
        world.expect(table, left)


def first_rows(world, random, table, loaded):
    """(updates, rows): a snapshot that has no parent and names none of the files before it."""
    sql, rows = random_rows(world, random, table, loaded)
    world.note(sql)
    if any(field.required and rows.column(field.name).null_count for field in loaded.schema().fields):
        raise Skip('a null in a required column')
    columns = Truth(world, table).columns
    snapshot = commits.Snapshot(loaded, 'append', parent=commits.Nothing())
    snapshot.add(commits.data_files(loaded, rows))
    return snapshot.updates(), bag(world, rows, columns)


def other_columns(loaded):
    """One column of a name that the table had, under another id, and no partition."""
    number = loaded.metadata.last_column_id + 1
    field = {'id': number, 'name': loaded.schema().fields[0].name, 'type': 'string', 'required': False}
    return [{'action': 'add-schema', 'schema': {'type': 'struct', 'fields': [field]}, 'last-column-id': number},
            {'action': 'set-current-schema', 'schema-id': -1},
            {'action': 'add-spec', 'spec': {'fields': []}}, {'action': 'set-default-spec', 'spec-id': -1},
            {'action': 'add-sort-order', 'sort-order': {'order-id': 0, 'fields': []}},
            {'action': 'set-default-sort-order', 'sort-order-id': -1}]
