"""Changes of rows by PyIceberg, a client that rewrites the files it changes."""
import contextlib

import pyarrow as pa
from pyiceberg.exceptions import ResolveError, ValidationError
from pyiceberg.expressions import And, IsNull

from oracle import conditions
from oracle.commits import live
from oracle.data_files import columns_by_id, contents
from oracle.literals import many_rows, values_clause
from oracle.reading import Truth, bag, shown_value
from oracle.steps import Skip, operation
from oracle.world import quoted

# What the client itself does not do; a refusal by the catalog is an answer over HTTP instead.
# ResolveError: it reads geometry from no file.
OWN_LIMITS = (ValueError, TypeError, ZeroDivisionError, ValidationError, ResolveError, pa.ArrowInvalid,
              pa.ArrowNotImplementedError, pa.ArrowTypeError)


@contextlib.contextmanager
def client(world, text):
    world.note(f'PyIceberg: {text}')
    try:
        yield
    except OWN_LIMITS as fault:
        raise Skip(f'PyIceberg: {type(fault).__name__}: {str(fault).splitlines()[0]}') from fault


def load(world, table):
    """A table that is not shown, for whatever good reason, is not changed through this access path either."""
    try:
        return world.load(table)
    except NotImplementedError as refusal:
        raise Skip(f'not shown: {refusal}') from refusal


def arrow(world, table, loaded, sql):
    """The rows of a SELECT as the client wants them."""
    columns = world.columns(table)
    names = ', '.join(quoted(name) for name, _ in columns)
    rows = world.engine.execute(f'SELECT {", ".join(shaped(*column) for column in columns)} FROM ({sql}) v({names})')
    target = loaded.schema().as_arrow()
    return pa.table([cast(column, field.type) for column, field in zip(rows.to_arrow_table().columns, target)], schema=target)


def shaped(name, kind):
    column = quoted(name)
    if kind == 'UUID':
        return f"unhex(replace(CAST({column} AS VARCHAR), '-', ''))"
    return shown_value(f'CAST({column} AS {kind})', kind)


def cast(column, kind):
    if isinstance(kind, pa.BaseExtensionType):
        storage = column.cast(kind.storage_type)
        return pa.chunked_array([kind.wrap_array(chunk) for chunk in storage.chunks], kind)
    return column.cast(kind)


def random_rows(world, random, table, loaded, most=30):
    types = [kind for _, kind in world.columns(table)]
    count = random.choice((1, 3, most))
    sql = values_clause(random, types, count) if count <= 3 else many_rows(random, types, count)
    return sql, arrow(world, table, loaded, sql)


def random_expression(world, random, table):
    truth = Truth(world, table)
    # PyIceberg 0.12 keeps each row that has a null in a column of the filter, also where the other side of an OR holds.
    chosen = conditions.random_filter(random, table, truth.rows, truth.columns, with_or=False)
    if chosen is None:
        raise Skip('no column to filter by')
    return chosen


@operation('pyiceberg.append', 6)
def append(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    with client(world, f'append to {table.name}'):
        sql, rows = random_rows(world, random, table, loaded)
        world.note(sql)
        truth = Truth(world, table)
        loaded.append(rows)
        world.expect(table, truth.bag(world) + bag(world, rows, truth.columns))


@operation('pyiceberg.append_twice', 2)
def append_twice(world, random):
    """Two snapshots in one commit."""
    table = world.pick(random)
    loaded = load(world, table)
    with client(world, f'append twice to {table.name}'):
        with loaded.transaction() as change:
            for _ in range(2):
                sql, rows = random_rows(world, random, table, loaded)
                world.note(sql)
                change.append(rows)


@operation('pyiceberg.overwrite', 2)
def overwrite(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    with client(world, f'overwrite {table.name} with'):
        sql, rows = random_rows(world, random, table, loaded)
        world.note(sql)
        columns = Truth(world, table).columns
        loaded.overwrite(rows)
        world.expect(table, bag(world, rows, columns))


@operation('pyiceberg.overwrite_where', 2)
def overwrite_where(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    chosen = random_expression(world, random, table)
    with client(world, f'overwrite the rows of {table.name} where {chosen} with'):
        sql, rows = random_rows(world, random, table, loaded)
        world.note(sql)
        loaded.overwrite(rows, overwrite_filter=chosen.expression)


@operation('pyiceberg.delete', 4)
def delete(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    chosen = random_expression(world, random, table)
    with client(world, f'delete from {table.name} where {chosen}'):
        truth = Truth(world, table)
        # PyIceberg 0.12 finds NaN unequal to a value, and keeps its rows where it deletes those that are unequal.
        takes_others = (has_nulls(loaded, chosen.unequal) or truth.has_nan(chosen.unequal)
                        or asks_for_null_and_a_value(chosen.expression))
        loaded.delete(chosen.expression)
        if not takes_others:
            world.expect(table, truth.bag(world) - bag(world, truth.rows, truth.columns, where=chosen.sql))


def asks_for_null_and_a_value(expression):
    """PyIceberg 0.12 deletes the rows with NULL in a column that it is to find NULL and compared with a value at once."""
    parts = all_of(expression)
    return any(isinstance(part, IsNull) and any(other is not part and other.term == part.term for other in parts)
               for part in parts)


def all_of(expression):
    """What must hold together."""
    return all_of(expression.left) + all_of(expression.right) if isinstance(expression, And) else [expression]


def has_nulls(loaded, names):
    """PyIceberg 0.12 takes every row of a file for unequal to a value where the bounds of the column, which say nothing of
    NULL, leave the value out."""
    fields = [loaded.schema().find_field(name).field_id for name in names]
    files = [columns_by_id(contents(loaded, file.path)) for file in live(loaded)[0]]
    return any(file[field].null_count for file in files for field in fields if field in file)


@operation('pyiceberg.upsert', 2)
def upsert(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    keys = [name for name, kind in world.columns(table) if kind in ('INTEGER', 'BIGINT', 'VARCHAR', 'DATE')]
    if not keys:
        raise Skip('no column to join on')
    key = random.choice(keys)
    shown = loaded.current_snapshot()
    if shown is not None and key not in loaded.metadata.schema_by_id(shown.schema_id).column_names:
        raise Skip('PyIceberg looks for the rows under the schema of the last snapshot')
    with client(world, f'upsert into {table.name} by {key}'):
        names = ', '.join(quoted(name) for name, _ in world.columns(table))
        pool = values_clause(random, [kind for _, kind in world.columns(table)], 5)
        sql = (f'SELECT DISTINCT ON ({quoted(key)}) * FROM ({pool}) v({names}) '
               f'WHERE {quoted(key)} IS NOT NULL ORDER BY ALL')
        world.note(sql)
        loaded.upsert(arrow(world, table, loaded, sql), join_cols=[key])


@operation('pyiceberg.overwrite_partitions', 2)
def overwrite_partitions(world, random):
    table = world.pick(random)
    loaded = load(world, table)
    if loaded.spec().is_unpartitioned():
        raise Skip('no partitions')
    with client(world, f'overwrite partitions of {table.name} with'):
        sql, rows = random_rows(world, random, table, loaded)
        world.note(sql)
        loaded.dynamic_partition_overwrite(rows)


