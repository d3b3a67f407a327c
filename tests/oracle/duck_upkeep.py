"""What DuckDB does to keep a lake in shape. None of it may change what any snapshot shows."""
import uuid

from oracle.world import text
from oracle.literals import many_rows
from oracle.steps import Skip, operation


def call(world, function, table, **options):
    given = ''.join(f', {name} => {value}' for name, value in options.items())
    world.run(f"CALL {function}('lake', {text(table.name)}, schema => '{table.schema}'{given})")


@operation('duck.flush', 3)
def flush(world, random):
    table = world.pick(random)
    world.run(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{table.schema}', "
              f'table_name => {text(table.name)})')


@operation('duck.merge_files', 3)
def merge_files(world, random):
    call(world, 'ducklake_merge_adjacent_files', world.pick(random))


@operation('duck.rewrite_files', 3)
def rewrite_files(world, random):
    call(world, 'ducklake_rewrite_data_files', world.pick(random), delete_threshold=random.choice((0, 0.3)))


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


@operation('duck.clean_up', 1)
def clean_up(world, random):
    world.run("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")


@operation('duck.add_data_files', 1)
def add_data_files(world, random):
    """A Parquet file that DuckDB wrote beside the lake becomes a file of the table."""
    table = world.pick(random)
    columns = world.columns(table)
    place = f's3://{world.lake.s3_bucket}/data/{world.schema}/beside/{uuid.uuid4()}.parquet'
    names = ', '.join('"' + name.replace('"', '""') + '"' for name, _ in columns)
    rows = many_rows(random, [kind for _, kind in columns], random.randint(1, 20))
    world.run(f"COPY (SELECT * FROM ({rows}) v({names})) TO '{place}' (FORMAT parquet)")
    call_add(world, table, place)


def call_add(world, table, place):
    world.run(f"CALL ducklake_add_data_files('lake', {text(table.name)}, '{place}', schema => '{table.schema}')")
