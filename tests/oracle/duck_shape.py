"""Changes of what a table is, by DuckDB on the lake."""
from oracle.literals import DUCK_ONLY, IN_STRUCT, NEW_IN_VERSION_3, SHARED, parsed, random_literal
from oracle.steps import Skip, operation
from oracle.world import quoted

NAMES = ('plain', 'MiXed', 'sp ace', 'Größe', 'select', 'q"uote', "ap'os", 'under_')
# Some are no promotions of Iceberg's: older files are copied then.
WIDER = {'TINYINT': ('SMALLINT', 'INTEGER', 'BIGINT'), 'SMALLINT': ('INTEGER', 'BIGINT'), 'INTEGER': ('BIGINT', 'DOUBLE'),
         'FLOAT': ('DOUBLE',), 'UTINYINT': ('USMALLINT', 'UINTEGER', 'BIGINT'), 'UINTEGER': ('BIGINT',), 'DATE': ('TIMESTAMP',),
         'DECIMAL(9,2)': ('DECIMAL(18,4)',)}
# DuckLake's keys by the type of their column.
KEYS = {'INTEGER': ('{}', 'bucket(3, {})'), 'BIGINT': ('{}', 'bucket(4, {})'), 'SMALLINT': ('{}',), 'BOOLEAN': ('{}',),
        'VARCHAR': ('{}', 'bucket(3, {})'), 'DATE': ('{}', 'year({})', 'month({})', 'day({})', 'bucket(2, {})'),
        'TIMESTAMP': ('year({})', 'month({})', 'day({})', 'hour({})', 'bucket(2, {})'), 'UUID': ('bucket(3, {})',),
        'TIMESTAMP WITH TIME ZONE': ('year({})', 'day({})', 'hour({})'), 'BLOB': ('bucket(2, {})',),
        'DECIMAL(18,4)': ('{}', 'bucket(3, {})')}  # not DOUBLE: PyIceberg reads its partition values as floats
MOST_TABLES = 3
MOST_COLUMNS = 8


def free_name(world, random, table):
    taken = {name.lower() for name, _ in world.columns(table)}
    free = [name for name in NAMES if name.lower() not in taken]
    if not free or random.random() < 0.3:
        free = [f'c{len(taken) + 1}x'] if f'c{len(taken) + 1}x' not in taken else [f'c{random.getrandbits(20)}']
    return random.choice(free)


def alter(world, table, change):
    world.run(f'ALTER TABLE {world.full_name(table)} {change}')


@operation('duck.create', 2)
def create(world, random):
    if len(world.tables) >= MOST_TABLES:
        raise Skip('there are tables enough')
    name = world.fresh_name()
    kinds = random.choices(SHARED + DUCK_ONLY, k=random.randint(1, 6))
    columns = ', '.join(f'c{number} {kind}' for number, kind in enumerate(kinds, 1))
    world.run(f'CREATE TABLE lake.{world.schema}.{name} ({columns})')
    world.add(name)


@operation('duck.drop', 1)
def drop(world, random):
    table = world.pick(random)
    world.run(f'DROP TABLE {world.full_name(table)}')
    world.tables.remove(table)


@operation('duck.recreate', 1)
def recreate(world, random):
    """Dropped and made again under its name: another table to Iceberg."""
    table = world.pick(random)
    world.run(f'DROP TABLE {world.full_name(table)}')
    world.tables.remove(table)
    kinds = random.choices(SHARED, k=2)
    world.run(f'CREATE TABLE {world.full_name(table)} (c1 {kinds[0]}, again {kinds[1]})')
    world.add(table.name, table.schema)


@operation('duck.rename', 1)
def rename(world, random):
    table = world.pick(random)
    name = world.fresh_name() + random.choice(('', ' Größe', '_x', '"q'))
    alter(world, table, f'RENAME TO {quoted(name)}')
    table.is_called(world.snapshot(), table.schema, name)


@operation('duck.add_column', 3)
def add_column(world, random):
    table = world.pick(random)
    if len(world.columns(table)) >= MOST_COLUMNS:
        raise Skip('there are columns enough')
    alter(world, table, f'ADD COLUMN {quoted(free_name(world, random, table))} {random.choice(SHARED + DUCK_ONLY)}')


@operation('duck.add_column_of_version_3', 1)
def add_column_of_version_3(world, random):
    """A table of version 2 becomes one of version 3 by it."""
    table = world.pick(random)
    if len(world.columns(table)) >= MOST_COLUMNS:
        raise Skip('there are columns enough')
    alter(world, table, f'ADD COLUMN {quoted(free_name(world, random, table))} {random.choice(NEW_IN_VERSION_3)}')


@operation('duck.add_column_with_default', 1)
def add_column_with_default(world, random):
    table = world.pick(random)
    kind, default = random.choice((('INTEGER', '7'), ('VARCHAR', "'it''s'"), ('DATE', "'2020-02-02'"), ('DOUBLE', '1.5')))
    alter(world, table, f'ADD COLUMN {quoted(free_name(world, random, table))} {kind} DEFAULT {default}')


@operation('duck.set_default', 1)
def set_default(world, random):
    table = world.pick(random)
    name, kind = random.choice(world.columns(table))
    alter(world, table, f'ALTER COLUMN {quoted(name)} SET DEFAULT {random_literal(random, kind)}')


@operation('duck.drop_column', 2)
def drop_column(world, random):
    table = world.pick(random)
    alter(world, table, f'DROP COLUMN {quoted(random.choice(world.columns(table))[0])}')


@operation('duck.rename_column', 2)
def rename_column(world, random):
    table = world.pick(random)
    old = random.choice(world.columns(table))[0]
    alter(world, table, f'RENAME COLUMN {quoted(old)} TO {quoted(free_name(world, random, table))}')


@operation('duck.widen', 2)
def widen(world, random):
    table = world.pick(random)
    usable = [(name, kind) for name, kind in world.columns(table) if kind in WIDER]
    if not usable:
        raise Skip('no column can be widened')
    name, kind = random.choice(usable)
    alter(world, table, f'ALTER COLUMN {quoted(name)} SET DATA TYPE {random.choice(WIDER[kind])}')
    table.widened = True
    world.renew()


@operation('duck.nullability', 1)
def nullability(world, random):
    table = world.pick(random)
    change = random.choice(('SET NOT NULL', 'DROP NOT NULL'))
    alter(world, table, f'ALTER COLUMN {quoted(random.choice(world.columns(table))[0])} {change}')


@operation('duck.nested_field', 2)
def nested_field(world, random):
    """A field of a struct comes, goes or gets another name."""
    table = world.pick(random)
    structs = [(name, parsed(kind)) for name, kind in world.columns(table) if kind.startswith('STRUCT') and kind.endswith(')')]
    if not structs:
        raise Skip('no struct')
    name, kind = random.choice(structs)
    fields = [child for child, _ in kind.children]
    path = f'{quoted(name)}.{quoted(random.choice(fields))}'
    fresh = f'f{random.randint(0, 99)}'
    if fresh in fields:
        raise Skip('the field is there')
    added = f'ADD COLUMN {quoted(name)}.{fresh} {random.choice(IN_STRUCT)}'
    # DuckDB lets the last field go, and then cannot open the lake any more.
    removed = f'DROP COLUMN {path}' if len(fields) > 1 else added
    alter(world, table, random.choice((added, removed, f'RENAME COLUMN {path} TO {fresh}')))


@operation('duck.partition', 3)
def partition(world, random):
    table = world.pick(random)
    keys = [(name, kind) for name, kind in world.columns(table) if kind in KEYS]
    if not keys or random.random() < 0.2:
        alter(world, table, 'RESET PARTITIONED BY')
        return
    chosen = random.sample(keys, min(len(keys), random.choice((1, 1, 2))))
    terms = [random.choice(KEYS[kind]).format(quoted(name)) for name, kind in chosen]
    alter(world, table, f'SET PARTITIONED BY ({", ".join(terms)})')


@operation('duck.sort', 1)
def sort(world, random):
    table = world.pick(random)
    if random.random() < 0.2:
        alter(world, table, 'RESET SORTED BY')
        return
    name = random.choice(world.columns(table))[0]
    alter(world, table, f'SET SORTED BY ({quoted(name)} {random.choice(("ASC", "DESC"))} NULLS FIRST)')


@operation('duck.comment', 1)
def comment(world, random):
    table = world.pick(random)
    text = random.choice(("'it''s ü'", "''", 'NULL'))
    if random.random() < 0.5:
        world.run(f'COMMENT ON TABLE {world.full_name(table)} IS {text}')
    else:
        name = random.choice(world.columns(table))[0]
        world.run(f'COMMENT ON COLUMN {world.full_name(table)}.{quoted(name)} IS {text}')


@operation('duck.view', 1)
def view(world, random):
    """Views come and go beside the tables; nobody may take one for a table."""
    table = world.pick(random)
    name = f'lake.{table.schema}.v{random.randint(0, 2)}'
    world.run(random.choice((f'CREATE OR REPLACE VIEW {name} AS FROM {world.full_name(table)}', f'DROP VIEW IF EXISTS {name}')))
