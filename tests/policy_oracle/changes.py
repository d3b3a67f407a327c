"""Changes of tables under their policies, through both access paths: DuckDB on the lake, and Iceberg REST with a principal's own keys."""
import datetime

import pyarrow as pa
from oracle.steps import Difference, Skip
from policy_oracle import bodies
from policy_oracle.clients import PRINCIPALS, VENDED
from policy_oracle.rules import Column, Table
from policy_oracle.steps import operation
from policy_oracle.world import path_of
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.types import DateType, IntegerType, LongType, StringType

NAMES = ('orders', 'people', 'events', 'visits')
COLUMNS = ('a', 'b', 'c', 'd', 'region')
MOST_TABLES = 3
TYPES = {'VARCHAR': StringType(), 'BIGINT': LongType(), 'INTEGER': IntegerType(), 'DATE': DateType()}
ARROW = {'VARCHAR': pa.string(), 'BIGINT': pa.int64(), 'INTEGER': pa.int32(), 'DATE': pa.date32()}


def free_name(world, source, schema):
    taken = {table.name for table in world.rules.live if table.schema == schema}
    free = [name for name in NAMES if name not in taken]
    if not free:
        raise Skip('every name is taken')
    return source.choice(free)


def free_column(table, source):
    free = [name for name in COLUMNS if table.column(name) is None]
    if not free:
        raise Skip('every name is taken')
    return source.choice(free)


def who_commits(world, source, table):
    """Somebody, and whether the model lets them."""
    who = source.choice(list(PRINCIPALS))
    return who, world.rules.may_commit(table, world.roles(who))


def refuse_commit(world, table, who):
    """A commit of somebody who is masked in the files, or may not read at all."""
    body = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'mine': 'now'}}]}
    world.answer = world.client(who).post(path_of(table), body)
    world.note(f'{who}: POST {path_of(table)} set-properties -> {world.answer.status_code}')
    world.demand(world.answer.status_code, 403)


def load_to_write(world, table, who):
    if table.version == 3:
        raise Skip('PyIceberg does not write format version 3')
    return load_with_keys(world, table, who)


def load_with_keys(world, table, who):
    """By PyIceberg. DuckDB may have given two tables one folder: nobody gets keys to both."""
    if world.rules.shares_folder(table) and world.client(who).get(path_of(table), headers=VENDED).status_code == 403:
        raise Skip('no keys')
    return world.catalog(who).load_table(table.place)


@operation('duck.create', 2)
def create(world, source):
    if len(world.rules.live) >= MOST_TABLES:
        raise Skip('enough tables')
    schema = source.choice((world.schemas[0], *world.schemas))
    columns = [Column('id', 'BIGINT'), Column('region', 'VARCHAR'), Column('a', 'VARCHAR')]
    columns += [Column(name, source.choice(bodies.KINDS)) for name in source.sample(('b', 'c'), source.randint(0, 2))]
    table = Table(schema, free_name(world, source, schema), columns)
    world.direct(f'CREATE TABLE lake.{table.place} ({", ".join(f"{column.name} {column.kind}" for column in columns)})')
    world.rules.tables.append(table)
    world.changes(table)


@operation('duck.insert', 5)
def insert(world, source):
    """Few rows stay in PostgreSQL, many are a file."""
    table = world.pick(source)
    rows = []
    for _ in range(source.choice((1, 3, 30))):
        world.made += 1
        rows.append('(' + ', '.join(bodies.value(source, column.kind, world.made, column.name) for column in table.shown) + ')')
    world.direct(f'INSERT INTO lake.{table.place} VALUES {", ".join(rows)}')
    world.changes(table)


def condition(source, table, made):
    column = table.column('id')
    if column is None or column.kind not in ('BIGINT', 'INTEGER'):
        return 'true'
    return source.choice((f'id % {source.randint(2, 5)} = 0', f'id > {bodies.RAW_NUMBER + source.randint(0, made)}'))


@operation('duck.delete', 3)
def delete(world, source):
    table = world.pick(source)
    world.direct(f'DELETE FROM lake.{table.place} WHERE {condition(source, table, world.made)}')
    world.changes(table)


@operation('duck.update', 2)
def update(world, source):
    table = world.pick(source)
    column = source.choice(table.shown)
    world.made += 1
    value = bodies.value(source, column.kind, world.made, column.name)
    world.direct(f'UPDATE lake.{table.place} SET {column.name} = {value} WHERE {condition(source, table, world.made)}')
    world.changes(table)


def arrow_value(source, column, number):
    text = bodies.value(source, column.kind, number, column.name)
    if text == 'NULL':
        return None
    if column.kind == 'DATE':
        return datetime.date(bodies.RAW_YEAR, 1, 1) + datetime.timedelta(days=number % 300)
    return text.strip("'") if column.kind == 'VARCHAR' else int(text)


@operation('iceberg.append', 5)
def append(world, source):
    table = world.pick(source)
    who, may = who_commits(world, source, table)
    if not may:
        return refuse_commit(world, table, who)
    loaded = load_to_write(world, table, who)
    numbers = range(world.made + 1, world.made + 1 + source.choice((1, 5, 30)))
    world.made = numbers[-1]
    target = loaded.schema().as_arrow()
    rows = pa.table([pa.array([arrow_value(source, column, n) for n in numbers], ARROW[column.kind]) for column in table.shown],
                    names=[column.name for column in table.shown])
    loaded.append(rows.cast(target))
    world.note(f'{who}: appends {len(numbers)} rows to {table.place} with PyIceberg')
    return world.changes(table)


@operation('iceberg.delete', 2)
def delete_by_client(world, source):
    table = world.pick(source)
    who, may = who_commits(world, source, table)
    if not may:
        return refuse_commit(world, table, who)
    column = table.column('id')
    if column is None or column.kind != 'BIGINT':
        raise Skip('no id')
    loaded = load_to_write(world, table, who)
    limit = bodies.RAW_NUMBER + source.randint(0, world.made + 1)
    loaded.delete(f'id < {limit}')
    world.note(f'{who}: deletes id < {limit} from {table.place} with PyIceberg')
    return world.changes(table)


@operation('iceberg.upgrade', 1)
def upgrade(world, source):
    """To format version 3: deletes become vectors, and rows have ids."""
    table = world.pick(source)
    who, may = who_commits(world, source, table)
    if not may:
        return refuse_commit(world, table, who)
    body = {'requirements': [], 'updates': [{'action': 'upgrade-format-version', 'format-version': 3}]}
    world.answer = world.client(who).post(path_of(table), body)
    world.note(f'{who}: POST {path_of(table)} upgrade-format-version -> {world.answer.status_code}')
    world.demand(world.answer.status_code, 200)
    table.version = 3
    return world.changes(table)


# Names and columns

@operation('table.rename', 3)
def rename_table(world, source):
    table = world.pick(source)
    world.changes(table)
    if source.random() < 0.4:
        name = free_name(world, source, table.schema)
        world.direct(f'ALTER TABLE lake.{table.place} RENAME TO {name}')
        table.name = name
        return
    schema, who = source.choice(world.schemas), source.choice(list(PRINCIPALS))
    name = free_name(world, source, schema)
    move = {'source': {'namespace': [table.schema], 'name': table.name}, 'destination': {'namespace': [schema], 'name': name}}
    world.answer = world.client(who).post('tables/rename', move)
    world.note(f'{who}: renames {table.place} to {schema}.{name} by REST -> {world.answer.status_code}')
    before, old = world.rules.meetings(world.schemas), (table.schema, table.name)
    table.schema, table.name = schema, name
    refused = old[0] != schema and bool(world.rules.meetings(world.schemas) - before)
    if refused:
        table.schema, table.name = old
    else:
        table.moves(schema, name)
    world.demand(world.answer.status_code, 409 if refused else 204)


def by_either_door(world, source, table, sql, change):
    """DuckDB, or PyIceberg of somebody who may commit. Whether it was done."""
    world.changes(table)
    if source.random() < 0.5:
        world.direct(sql)
        return True
    who, may = who_commits(world, source, table)
    if not may:
        refuse_commit(world, table, who)
        return False
    try:
        with load_with_keys(world, table, who).update_schema(allow_incompatible_changes=True) as schema:
            change(schema)
    except CommitStateUnknownException:
        world.unseen.append((table, who))
    world.note(f'{who}: with PyIceberg, what DuckDB would do with {sql}')
    return True


@operation('column.rename', 3)
def rename_column(world, source):
    table = world.pick(source)
    column, name = source.choice(table.shown), free_column(table, source)
    if by_either_door(world, source, table, f'ALTER TABLE lake.{table.place} RENAME COLUMN {column.name} TO {name}',
                      lambda schema: schema.rename_column(column.name, name)):
        column.name = name


@operation('column.add', 2)
def add_column(world, source):
    """Also under a name that another column had."""
    table = world.pick(source)
    column = Column(free_column(table, source), source.choice(bodies.KINDS))
    if by_either_door(world, source, table, f'ALTER TABLE lake.{table.place} ADD COLUMN {column.name} {column.kind}',
                      lambda schema: schema.add_column(column.name, TYPES[column.kind])):
        table.columns.append(column)


@operation('column.drop', 2)
def drop_column(world, source):
    table = world.pick(source)
    if len(table.shown) < 3:
        raise Skip('few columns are left')
    column = source.choice(table.shown)
    if by_either_door(world, source, table, f'ALTER TABLE lake.{table.place} DROP COLUMN {column.name}',
                      lambda schema: schema.delete_column(column.name)):
        column.gone = True


@operation('column.widen', 1)
def widen_column(world, source):
    table = world.pick(source)
    narrow = [column for column in table.shown if column.kind == 'INTEGER']
    if not narrow:
        raise Skip('no column has a wider type')
    column = source.choice(narrow)
    # Filters on a column that was widened end DuckDB 1.5.5 with an internal error where it keeps older deletes in PostgreSQL.
    world.direct(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{table.schema}', table_name => '{table.name}')")
    if by_either_door(world, source, table, f'ALTER TABLE lake.{table.place} ALTER {column.name} TYPE BIGINT',
                      lambda schema: schema.update_column(column.name, LongType())):
        column.kind = 'BIGINT'


# The end of a table, and its return

@operation('table.drop', 1)
def drop(world, source):
    table = world.pick(source)
    shown = world.owner.get(path_of(table))
    if shown.status_code != 200:
        raise Difference('owner', f'{table.place}: {shown.status_code} {shown.text[:400]}')
    table.metadata = shown.json()['metadata-location']
    if source.random() < 0.5:
        world.direct(f'DROP TABLE lake.{table.place}')
    else:
        who = source.choice(list(PRINCIPALS))
        world.answer = world.client(who).send('DELETE', path_of(table))
        world.note(f'{who}: DELETE {path_of(table)} -> {world.answer.status_code}')
        world.demand(world.answer.status_code, 204)
    table.gone = True


@operation('table.replace', 1)
def replace(world, source):
    """In one transaction of DuckDB: another table under the name and in the folder of this one, and none of its policies."""
    table = world.pick(source)
    shown = world.owner.get(path_of(table))
    made = Table(table.schema, table.name, [Column('id', 'BIGINT'), Column('region', 'VARCHAR'), Column('a', 'VARCHAR')])
    columns = ', '.join(f'{column.name} {column.kind}' for column in made.columns)
    world.direct(f"BEGIN; DROP TABLE lake.{table.place}; CREATE TABLE lake.{table.place} ({columns}); "
                 f"INSERT INTO lake.{table.place} VALUES ({bodies.RAW_NUMBER}, 'raw-eu', 'raw-a-0'); COMMIT")
    table.metadata = shown.json()['metadata-location']
    table.gone = True
    world.rules.tables.append(made)
    world.changes(made)


@operation('commit.both', 1)
def commit_both(world, source):
    """Two tables in one transaction of REST: both are changed or none."""
    if len(world.rules.live) < 2:
        raise Skip('one table is not two')
    tables, who = source.sample(world.rules.live, 2), source.choice(list(PRINCIPALS))
    world.made += 1
    updates = [{'action': 'set-properties', 'updates': {'mark': str(world.made)}}]
    body = {'table-changes': [{'identifier': {'namespace': [table.schema], 'name': table.name}, 'requirements': [], 'updates': updates}
                              for table in tables]}
    may = all(world.rules.may_commit(table, world.roles(who)) for table in tables)
    world.answer = world.client(who).post('transactions/commit', body)
    world.note(f'{who}: commits to {tables[0].place} and {tables[1].place} -> {world.answer.status_code}')
    world.demand(world.answer.status_code, 204 if may else 403)
    for table in tables:
        marked = world.owner.get(path_of(table)).json()['metadata']['properties'].get('mark') == str(world.made)
        if marked != may:
            raise Difference('a transaction', f'{who}: {table.place} is {"" if marked else "not "}changed')
        world.changes(table)


@operation('table.register', 2)
def register(world, source):
    """Nobody takes a mask off by dropping a table."""
    gone = [table for table in world.rules.tables if table.gone]
    if not gone:
        raise Skip('no table was dropped')
    table = source.choice(gone)
    schema, who = source.choice((table.schema, *world.schemas)), source.choice(list(PRINCIPALS))
    name = free_name(world, source, schema)
    world.answer = world.client(who).post(f'namespaces/{schema}/register', {'name': name, 'metadata-location': table.metadata})
    world.note(f'{who}: registers {table.place} as {schema}.{name} -> {world.answer.status_code}')
    table.gone = False
    table.moves(schema, name)
    world.changes(table)
    # It is there for everybody, and shown to who may see it: copies may not be there yet.
    kind = world.plan(table, who).kind
    world.demand(world.answer.status_code, *{'file_mask': (200, 503), 'refused': (403,)}.get(kind, (200,)))
