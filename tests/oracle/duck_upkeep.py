"""What DuckDB does to keep a lake in shape, and what the catalog does by it. None of it may change what any snapshot shows."""
import contextlib
import uuid

import duckdb

from oracle import lake_faults, lineage
from oracle.literals import many_rows
from oracle.reading import Truth
from oracle.rest import path_of
from oracle.steps import Skip, operation
from oracle.world import quoted, text

# How DuckDB 1.5.5 fails to flush a table that is sorted: lake_faults.is_sorted().
OWN_SORTING = 'Failed to bind column reference'

# How DuckDB 1.5.5 fails to merge, or to write anew, the files of a partition where a client's lie under a folder that is not named like its own.
OTHER_FOLDERS = 'Files have different hive partition path'
# What the catalog leaves undone, and why.
OWN_FAULT = 'DuckDB failed with an error of its own; the log has it'
LEFT = (('merge', OWN_FAULT), ('rewrite', OWN_FAULT),
        ('flush', 'DuckDB 1.5.5 would take other rows for deleted: the table is or was partitioned by a text, and rows that '
                  'PostgreSQL holds were deleted'))
LEFT_IF_SORTED = ('flush', OWN_FAULT)


def call(world, function, table, **options):
    given = ''.join(f', {name} => {value}' for name, value in options.items())
    world.run(f"CALL {function}('lake', {text(table.name)}, schema => '{table.schema}'{given})")


def call_on_folders(world, function, table, **options):
    try:
        call(world, function, table, **options)
    except duckdb.InternalException as fault:
        world.recover()
        if OTHER_FOLDERS not in str(fault):
            raise
        raise Skip("DuckDB does not put a client's file together with its own of the same partition") from fault


@contextlib.contextmanager
def noting_ids(world, table):
    """No upkeep may change the ids of rows: where DuckDB's merge does, it is remembered of the table."""
    before = lineage.ids_of_lake(world, table)
    yield
    if lineage.ids_of_lake(world, table) != before:
        table.renumbered = world.snapshot()


@operation('duck.flush', 3)
def flush(world, random):
    table = world.pick(random)
    if not lake_faults.may_flush(world, table):
        raise Skip('DuckDB would take other rows for deleted')
    rows = Truth(world, table).bag(world)
    try:
        world.run(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{table.schema}', "
                  f'table_name => {text(table.name)})')
    except duckdb.InternalException as fault:
        world.recover()
        if OWN_SORTING not in str(fault) or not lake_faults.is_sorted(world, table):
            raise
        raise Skip('DuckDB cannot flush a table sorted by a column that changed') from fault
    world.expect(table, rows)


@operation('duck.merge_files', 3)
def merge_files(world, random):
    table = world.pick(random)
    rows = Truth(world, table).bag(world)
    with noting_ids(world, table):
        call_on_folders(world, 'ducklake_merge_adjacent_files', table)
    world.expect(table, rows)


@operation('duck.rewrite_files', 3)
def rewrite_files(world, random):
    table = world.pick(random)
    rows = Truth(world, table).bag(world)
    call_on_folders(world, 'ducklake_rewrite_data_files', table, delete_threshold=random.choice((0, 0.3)))
    world.expect(table, rows)


@operation('duck.expire', 2)
def expire(world, random):
    """Some snapshots of this history go, and with them the files that nothing else shows."""
    head = world.snapshot()
    first = min((table.born for table in world.tables), default=head)
    old = [row[0] for row in world.duck.execute(
        f"SELECT snapshot_id FROM ducklake_snapshots('lake') WHERE snapshot_id BETWEEN {first} AND {head - 1} "
        'ORDER BY 1').fetchall()]
    if not old:
        raise Skip('no old snapshot')
    gone = sorted(random.sample(old, random.randint(1, len(old))))
    world.run(f"CALL ducklake_expire_snapshots('lake', versions => {gone})")
    clean_up(world, random)


@operation('duck.clean_up', 2)
def clean_up(world, random):
    """By force it takes files that published snapshots name as well: those are hidden. Otherwise they stay."""
    forced = random.random() < 0.3
    if forced:
        world.forget_shown()
    world.run(f"CALL ducklake_cleanup_old_files('lake', {'cleanup_all => true' if forced else 'older_than => now()'})")


@operation('duck.clean_orphans', 1)
def clean_orphans(world, random):
    """Whatever no row names, however young."""
    world.run("CALL ducklake_delete_orphaned_files('lake', older_than => now() + INTERVAL 1 DAY)")


@operation('duck.add_data_files', 1)
def add_data_files(world, random):
    """Parquet files that DuckDB wrote beside the lake become files of the table: whole, in another order of columns, with a
    column too many or too few, or with a column in their paths."""
    table = world.pick(random)
    columns = world.columns(table)
    place = f'{world.lake.data_path}{world.schema}/beside/{uuid.uuid4()}'
    names = ', '.join(quoted(name) for name, _ in columns)
    rows = many_rows(random, [kind for _, kind in columns], random.randint(1, 20))
    form = random.choice(('whole', 'turned', 'more', 'fewer', 'hive'))
    first = quoted(columns[0][0])
    chosen = {'turned': ', '.join(quoted(name) for name, _ in reversed(columns)), 'more': '*, 1 AS more',
              'fewer': f'* EXCLUDE ({first})'}.get(form, '*')
    if form == 'fewer' and len(columns) == 1 or form == 'hive' and (len(columns) == 1 or columns[0][1] not in IN_PATHS):
        raise Skip('no column to leave out')
    into = f"'{place}' (FORMAT parquet, PARTITION_BY ({first}))" if form == 'hive' else f"'{place}.parquet' (FORMAT parquet)"
    world.run(f'COPY (SELECT {chosen} FROM ({rows}) v({names})) TO {into}')
    call_add(world, table, f'{place}/*/*.parquet' if form == 'hive' else f'{place}.parquet', FORMS.get(form, ''))


IN_PATHS = ('INTEGER', 'BIGINT', 'DATE', 'BOOLEAN')
FORMS = {'more': ', ignore_extra_columns => true', 'fewer': ', allow_missing => true', 'hive': ', hive_partitioning => true'}


def call_add(world, table, place, options):
    world.run(f"CALL ducklake_add_data_files('lake', {text(table.name)}, '{place}', schema => '{table.schema}'{options})")


@operation('rest.compact', 1)
def compact(world, random):
    """The catalog's own upkeep of a table, which counts the rows before and after it."""
    table = world.pick(random)
    world.note(f'-- compact {table.name}')
    rows = Truth(world, table).bag(world)
    with noting_ids(world, table):
        done = world.rest.post(f'admin/{path_of(table.schema, table.name)}/compact', None)
        world.renew()  # ADR 0044: a session that read the table before may end with an internal error at old snapshots
    left = done['skipped']
    may_leave = (*LEFT, LEFT_IF_SORTED) if lake_faults.is_sorted(world, table) else LEFT
    world.demand(all((one['step'], one['reason']) in may_leave for one in left) and done['complete'] == (not left),
                 f'compaction left something: {done}')
    world.demand(done['before']['rows'] == done['after']['rows'] == rows.total(), f'{rows.total()} rows were compacted: {done}')
    world.expect(table, rows)
