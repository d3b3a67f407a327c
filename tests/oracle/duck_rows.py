"""Changes of rows by DuckDB on the lake: small ones stay in PostgreSQL, larger ones become files."""
from oracle import conditions
from oracle.literals import ROW_GROUP, many_rows, random_literal, row_groups, values_clause
from oracle.steps import Skip, operation
from oracle.world import quoted, text


def insert(world, table, rows):
    world.run(f'INSERT INTO {world.full_name(table)} {rows}')


def types_of(world, table):
    return [kind for _, kind in world.columns(table)]


@operation('duck.insert_small', 6)
def insert_small(world, random):
    table = world.pick(random)
    insert(world, table, values_clause(random, types_of(world, table), random.randint(1, 4)))


@operation('duck.insert_file', 6)
def insert_file(world, random):
    table = world.pick(random)
    insert(world, table, many_rows(random, types_of(world, table), random.randint(11, 60)))


MOST_ROWS = 12_000  # of a table that gets more by whole row groups: each comparison reads them all


@operation('duck.insert_row_groups', 2)
def insert_row_groups(world, random):
    """A file of several row groups."""
    table = world.pick(random)
    if world.duck.execute(f'SELECT count(*) FROM {world.full_name(table)}').fetchone()[0] > MOST_ROWS:
        raise Skip('the table has rows enough')
    world.run(f"CALL ducklake_set_option('lake', 'parquet_row_group_size', {ROW_GROUP}, schema => '{table.schema}', "
              f'table_name => {text(table.name)})')
    insert(world, table, row_groups(random, types_of(world, table), random.choice((2, 2, 3))))


@operation('duck.insert_own_rows', 2)
def insert_own_rows(world, random):
    table = world.pick(random)
    insert(world, table, f'FROM {world.full_name(table)} LIMIT {random.choice((3, 40))}')


@operation('duck.delete', 5)
def delete(world, random):
    table = world.pick(random)
    world.run(f'DELETE FROM {world.full_name(table)} WHERE {conditions.some_rows(world, random, table)}')


@operation('duck.delete_all', 1)
def delete_all(world, random):
    world.run(f'DELETE FROM {world.full_name(world.pick(random))}')


@operation('duck.truncate', 1)
def truncate(world, random):
    world.run(f'TRUNCATE {world.full_name(world.pick(random))}')


@operation('duck.update', 5)
def update(world, random):
    table = world.pick(random)
    name, kind = random.choice(world.columns(table))
    where = conditions.some_rows(world, random, table)
    world.run(f'UPDATE {world.full_name(table)} SET {quoted(name)} = {random_literal(random, kind)} WHERE {where}')


@operation('duck.merge', 3)
def merge(world, random):
    table = world.pick(random)
    columns = world.columns(table)
    keys = [name for name, kind in columns if conditions.can_be_asked(table, kind)]
    if not keys:
        raise Skip('no column to join on')
    key = quoted(random.choice(keys))
    source = values_clause(random, [kind for _, kind in columns], random.choice((2, 14)))
    names = ', '.join(quoted(name) for name, _ in columns)
    # A row that matches two rows of the source would be a matter of chance.
    source = f'(SELECT DISTINCT ON ({key}) * FROM ({source}) v({names}) ORDER BY ALL)'
    matched = random.choice(('DELETE', 'UPDATE'))
    world.run(f'MERGE INTO {world.full_name(table)} t USING {source} s ON t.{key} = s.{key} '
              f'WHEN MATCHED THEN {matched} WHEN NOT MATCHED THEN INSERT')


@operation('duck.transaction', 3)
def transaction(world, random):
    """Several statements on one or two tables, one snapshot."""
    together(world, random, random.choices((insert_small, insert_file, delete, update), k=random.randint(2, 4)))


def together(world, random, parts):
    """In one transaction, which is sometimes taken back."""
    came, undone = [], []
    world.run('BEGIN')
    try:
        for part in parts:
            part(world, random)
            table = world.picked[-1]
            if part in (insert_small, insert_file):
                came.append(table)
            elif part in (delete, update) and any(table is other for other in came):
                undone.append(table)
        end = random.choice(('COMMIT', 'COMMIT', 'ROLLBACK'))
        world.run(end)
    except Skip:
        world.recover()
        raise
    for table in undone if end == 'COMMIT' else ():
        table.undone = True
