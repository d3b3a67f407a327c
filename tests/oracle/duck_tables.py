"""Tables and what stands beside them, made by DuckDB in one statement or one transaction."""
from oracle import duck_rows, duck_shape
from oracle.duck_shape import MOST_TABLES
from oracle.literals import SHARED, many_rows
from oracle.steps import Skip, operation
from oracle.world import text


def select(random):
    kinds = random.choices(SHARED, k=random.randint(1, 4))
    names = ', '.join(f'c{number}' for number in range(1, len(kinds) + 1))
    return f'SELECT * FROM ({many_rows(random, kinds, random.choice((0, 3, 30)))}) v({names})'


@operation('duck.create_as', 1)
def create_as(world, random):
    """The table and its first rows are of one snapshot."""
    if len(world.tables) >= MOST_TABLES:
        raise Skip('there are tables enough')
    name = world.fresh_name()
    world.run(f'CREATE TABLE lake.{world.schema}.{name} AS {select(random)}')
    world.add(name)


@operation('duck.replace_table', 1)
def replace_table(world, random):
    """One table ends and another of its name begins in one snapshot."""
    table = world.pick(random)
    world.run(f'CREATE OR REPLACE TABLE {world.full_name(table)} AS {select(random)}')
    world.tables.remove(table)
    world.add(table.name, table.schema)


@operation('duck.transaction_of_shape', 2)
def transaction_of_shape(world, random):
    """Columns and rows change together in one snapshot."""
    shape = (duck_shape.add_column, duck_shape.drop_column, duck_shape.rename_column, duck_shape.add_column_with_default)
    rows = (duck_rows.insert_small, duck_rows.insert_file, duck_rows.delete)
    # Of one table: DuckDB 1.5.5 cannot read a table any more whose columns changed in a transaction that kept the first rows
    # of another one in PostgreSQL.
    first, change, last = random.choice(rows), random.choice(shape), random.choice(rows)
    # It takes a column that one transaction adds between two inserts for one without nulls, too, and knows nothing of the
    # default that the first rows have.
    if change in (duck_shape.add_column, duck_shape.add_column_with_default) and duck_rows.delete not in (first, last):
        last = duck_rows.delete
    tables = world.tables
    world.tables = [world.pick(random)]
    try:
        duck_rows.together(world, random, (first, change, last))
    finally:
        world.tables = tables


@operation('duck.macro', 1)
def macro(world, random):
    """Macros come and go beside the tables; nobody may take one for a table or a view."""
    table = world.pick(random)
    name = f'lake.{table.schema}.m{random.randint(0, 1)}'
    world.run(random.choice((f'CREATE OR REPLACE MACRO {name}(a) AS a + 1', f'DROP MACRO IF EXISTS {name}',
                             f'CREATE OR REPLACE MACRO {name}(a) AS TABLE FROM {world.full_name(table)} LIMIT a')))


OPTIONS = {'data_inlining_row_limit': (0, 10, 40), 'target_file_size': ("'1KB'", "'100MB'"), 'parquet_row_group_size': (7, 122880),
           'parquet_compression': ("'zstd'", "'snappy'"), 'parquet_version': (1, 2), 'hive_file_pattern': ('true', 'false')}


@operation('duck.option', 1)
def option(world, random):
    """How later rows of a table are kept; no row changes by it."""
    table = world.pick(random)
    name = random.choice(sorted(OPTIONS))
    world.run(f"CALL ducklake_set_option('lake', '{name}', {random.choice(OPTIONS[name])}, schema => '{table.schema}', "
              f'table_name => {text(table.name)})')
