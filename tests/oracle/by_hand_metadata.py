"""Commits that change what a table is or which snapshots it has, and what is done to several tables at once."""
import uuid

from oracle import avro_files, commits
from oracle.by_hand_deletes import delete_change, with_rows
from oracle.by_hand_files import append_change
from oracle.duck_shape import MOST_COLUMNS, free_name
from oracle.iceberg_rows import client, load
from oracle.reading import Truth
from oracle.rest import path_of
from oracle.steps import Skip, operation

# Iceberg's types with a default in its JSON form.
DEFAULTS = (('int', 7), ('string', "it's ü"), ('date', '2020-02-29'), ('boolean', True), ('double', 2.5), ('long', -2**63),
            ('binary', '00ff'), ('decimal(9, 2)', '-1.50'), ('uuid', '7fffffff-0000-4000-8000-000000000001'),
            ('timestamp', '1969-12-31T23:59:59.999999'), ('timestamptz', '2024-02-29T00:00:00.000001+00:00'))


def send(world, table, loaded, updates):
    world.rest.commit(table.schema, table.name, commits.main_was(loaded), updates)


def stands_for_expired(world, table, before, snapshot):
    """Shown before, or the first that still has what a snapshot held that is gone: a history that is shown anew begins with
    it, and one that goes on had shown the other."""
    if snapshot in before:
        return True
    previous = max((each for each in before if each < snapshot), default=table.born - 1)
    there = {row[0] for row in world.duck.execute("SELECT snapshot_id FROM ducklake_snapshots('lake')").fetchall()}
    return any(each not in there for each in range(previous + 1, snapshot))


@operation('rest.upgrade', 3)
def upgrade(world, random):
    """To format version 3, which makes no snapshot and changes no row."""
    table = world.pick(random)
    loaded = load(world, table)
    before = [snapshot.snapshot_id for snapshot in loaded.metadata.snapshots]
    if loaded.metadata.format_version != 2:
        raise Skip('it has version 3')
    with client(world, f'upgrade {table.name} to version 3'):
        rows = Truth(world, table).bag(world)
        send(world, table, loaded, [{'action': 'upgrade-format-version', 'format-version': 3}])
        world.expect(table, rows)
        after = load(world, table).metadata
        world.demand(after.format_version == 3, f'{table.name} has version {after.format_version} after its upgrade')
        shown = [snapshot.snapshot_id for snapshot in after.snapshots]
        # Built anew: those whose files were replaced since are not shown any more.
        world.demand(set(before[-1:]) <= set(shown) and all(stands_for_expired(world, table, before, each) for each in shown),
                     f'an upgrade changes the snapshots from {before} to {shown}')
        lower = [{'action': 'upgrade-format-version', 'format-version': 2}]
        world.demand_refused('v3', lambda: send(world, table, loaded, lower))


@operation('rest.add_column_with_default', 3)
def add_column_with_default(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    if loaded.metadata.format_version < 3 or len(loaded.schema().fields) >= MOST_COLUMNS:
        raise Skip('another format version, or columns enough')
    kind, default = random.choice(DEFAULTS)
    number = loaded.metadata.last_column_id + 1
    field = {'id': number, 'name': free_name(world, random, table), 'type': kind, 'required': False,
             'initial-default': default, 'write-default': default}
    fields = loaded.schema().model_dump(by_alias=True, mode='json')['fields']
    with client(world, f'add the column {field} to {table.name}'):
        schema = {'type': 'struct', 'fields': [*fields, field]}
        send(world, table, loaded, [{'action': 'add-schema', 'schema': schema, 'last-column-id': number},
                                    {'action': 'set-current-schema', 'schema-id': -1}])


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
    world.forget_shown(table)
    with client(world, f'remove {len(gone)} of {len(old)} old snapshots of {table.name}'):
        send(world, table, loaded, [{'action': 'remove-snapshots', 'snapshot-ids': gone}])
        left = {snapshot.snapshot_id for snapshot in load(world, table).metadata.snapshots}
        world.demand(left.isdisjoint(gone), f'removed snapshots are still shown: {sorted(left & set(gone))}')


@operation('rest.refs', 2)
def refs(world, random):
    """A branch or a tag comes, moves or goes; main stays."""
    table = world.pick(random)
    loaded = load(world, table)
    snapshots = sorted(snapshot.snapshot_id for snapshot in loaded.metadata.snapshots)
    if not snapshots:
        raise Skip('no snapshot')
    name, to = f'ref{random.randint(0, 3)}', random.choice(snapshots)
    present = loaded.metadata.refs.get(name)
    kind = present.snapshot_ref_type.value if present else random.choice(('branch', 'tag'))
    removes = present is not None and random.random() < 0.5
    with client(world, f'{"remove" if removes else "set"} the {kind} {name} of {table.name}'):
        more = {'max-ref-age-ms': 10**12} if random.random() < 0.5 else {}
        change = {'action': 'remove-snapshot-ref', 'ref-name': name} if removes else commits.ref_is(name, kind, to, **more)
        send(world, table, loaded, [change])
        shown = load(world, table).metadata.refs.get(name)
        found = shown and (shown.snapshot_id, shown.snapshot_ref_type.value, shown.max_ref_age_ms)
        wanted = None if removes else (to, kind, more.get('max-ref-age-ms'))
        world.demand(found == wanted, f'the ref {name} is {found} and should be {wanted}')


@operation('rest.write_to_branch', 1)
def write_to_branch(world, random):
    """main keeps its rows."""
    table = world.pick(random)
    loaded = load(world, table)
    with client(world, f'append to another branch of {table.name}'):
        rows = Truth(world, table).bag(world)
        updates, _ = append_change(world, random, table, loaded)
        updates[1]['ref-name'] = 'side'
        send(world, table, loaded, updates)
        world.expect(table, rows)


@operation('rest.statistics', 1)
def statistics(world, random):
    """Kept and shown as they are given; no row changes."""
    table = world.pick(random)
    loaded = load(world, table)
    current = loaded.current_snapshot()
    if current is None:
        raise Skip('no snapshot')
    place = f'{loaded.location()}/metadata/by-hand-{uuid.uuid4()}.stats'
    about = {'snapshot-id': current.snapshot_id, 'statistics-path': place, 'file-size-in-bytes': 4,
             'file-footer-size-in-bytes': 4, 'blob-metadata': []}
    with client(world, f'set and remove statistics of {table.name}'):
        avro_files.store(loaded, place, b'PFA1')
        send(world, table, loaded, [{'action': 'set-statistics', 'snapshot-id': current.snapshot_id, 'statistics': about}])
        shown = [file.statistics_path for file in load(world, table).metadata.statistics]
        world.demand(place in shown, f'{place} is not among the statistics {shown}')
        if random.random() < 0.5:
            send(world, table, loaded, [{'action': 'remove-statistics', 'snapshot-id': current.snapshot_id}])
            left = [file.statistics_path for file in load(world, table).metadata.statistics]
            world.demand(place not in left, f'{place} is still among the statistics {left}')


@operation('rest.register', 2)
def register(world, random):
    """A table leaves the catalog and comes back, sometimes under another name: with its rows, ids and snapshots."""
    table = world.pick(random)
    loaded = load(world, table)
    schema = random.choice((table.schema, *world.schemas()))
    name = table.name if schema == table.schema and random.random() < 0.5 else world.fresh_name()
    by_drop = random.random() < 0.5
    before = [snapshot.snapshot_id for snapshot in loaded.metadata.snapshots]
    with client(world, f'{"drop" if by_drop else "unregister"} {table.name} and register it as {schema}.{name}'):
        rows = Truth(world, table).bag(world)
        location = loaded.metadata_location
        if by_drop:
            world.catalog.drop_table(world.identifier(table))
        else:
            location = world.rest.post(f'{path_of(table.schema, table.name)}/unregister', None)['metadata-location']
        world.rest.post(f'namespaces/{schema}/register', {'name': name, 'metadata-location': location})
        table.is_called(world.snapshot(), schema, name)
        after = [snapshot.snapshot_id for snapshot in load(world, table).metadata.snapshots]
        world.demand(after == before, f'the table came back with the snapshots {after}, not {before}')
        world.expect(table, rows)


@operation('rest.transaction', 4)
def transaction(world, random):
    """Two tables change in one commit."""
    if len(world.tables) < 2:
        raise Skip('there is one table')
    changes, expected = [], []
    with client(world, 'a commit of two tables'):
        for table in random.sample(world.tables, 2):
            world.picked.append(table)
            loaded = load(world, table)
            updates, rows = change_of(world, random, table, loaded)
            changes.append({'identifier': {'namespace': [table.schema], 'name': table.name},
                            'requirements': commits.main_was(loaded), 'updates': updates})
            expected.append((table, rows))
        world.rest.post('transactions/commit', {'table-changes': changes})
        for table, rows in expected:
            if rows is not None:
                world.expect(table, rows)


def change_of(world, random, table, loaded):
    """(updates, rows after them); None for rows that get another column."""
    kind = random.choice(('append', 'delete', 'properties', 'column'))
    world.note(f'-- {kind} on {table.name}')
    if kind == 'append':
        return append_change(world, random, table, loaded)
    if kind == 'delete' and commits.live(loaded)[0]:
        return delete_change(world, random, with_rows(world, random, table))
    if kind == 'column' and len(loaded.schema().fields) < MOST_COLUMNS:
        return one_more_column(world, random, table, loaded), None
    return [{'action': 'set-properties', 'updates': {'oracle': f'{random.random()}'}}], Truth(world, table).bag(world)


def one_more_column(world, random, table, loaded):
    number = loaded.metadata.last_column_id + 1
    field = {'id': number, 'name': free_name(world, random, table), 'type': 'string', 'required': False}
    fields = loaded.schema().model_dump(by_alias=True, mode='json')['fields']
    return [{'action': 'add-schema', 'schema': {'type': 'struct', 'fields': [*fields, field]}, 'last-column-id': number},
            {'action': 'set-current-schema', 'schema-id': -1}]
