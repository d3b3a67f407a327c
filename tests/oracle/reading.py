"""The rows of a table at a snapshot, from each access path, and whether they are the same rows."""
import collections

import pyarrow as pa
import pyarrow.compute as pc

import shown_types
from oracle.literals import parsed
from oracle.steps import Difference
from oracle.world import quoted

SHOWN = 6


def version(snapshot):
    return '' if snapshot is None else f' AT (VERSION => {snapshot})'


def shown_type(kind):
    """The type that clients read: `kind` itself, or what stands in the place of it or of its parts."""
    return kind if kind == 'GEOMETRY' else shown_types.shown_type(kind)


def as_shown(columns):
    """A select list of them all, each as clients read it."""
    return ', '.join(f'{shown_value(quoted(name), kind)} AS {quoted(name)}' for name, kind in columns)


def shown_value(value, kind):
    """SQL for what clients read in the place of an SQL value."""
    return value if shown_type(kind) == kind else shown_types.shown_value(value, kind)


class Truth:
    """What DuckDB on DuckLake shows: the rows in Arrow as clients read them, and (name, type) of the columns in the lake."""

    def __init__(self, world, table, snapshot=None, sql=None):
        """`sql` in place of the whole table."""
        source = sql or f'FROM {world.full_name(table, snapshot)}{version(snapshot)}'
        result = world.duck.execute(source)
        self.columns = [(column[0], str(column[1])) for column in result.description]
        if any(shown_type(kind) != kind for _, kind in self.columns):
            result = world.duck.execute(f'SELECT {as_shown(self.columns)} {source}')
        self.rows = result.to_arrow_table()

    def bag(self, world):
        return bag(world, self.rows, self.columns)

    def has_nan(self, names):
        """In one of the columns of these names."""
        columns = [self.rows.column(name) for name in names]
        return any(pc.any(pc.is_nan(column)).as_py() for column in columns if pa.types.is_floating(column.type))


def bag(world, rows, columns, where='true'):
    """Every row as exact text, with how often it is there. Clients name types differently: the lake's decide."""
    world.engine.register('shown', rows)
    casts = ', '.join(f'{cast(rows, name, kind)} AS {quoted(name)}' for name, kind in columns)
    parts = ', '.join(quoted(name) for name, _ in columns)
    found = world.engine.execute(
        f'SELECT CAST(row({parts}) AS VARCHAR) FROM (SELECT {casts} FROM shown) WHERE {where}').fetchall()
    return collections.Counter(row[0] for row in found)


def cast(rows, name, kind):
    if kind == 'GEOMETRY' and b'ARROW:extension:name' not in (rows.schema.field(name).metadata or {}):
        return f'ST_GeomFromWKB({quoted(name)})'
    return f'CAST({quoted(name)} AS {shown_type(kind)})'


def compare(check, expected, found, reader, truth='DuckDB on the lake'):
    """Raises a Difference that shows both sides."""
    if expected == found:
        return
    missing, extra = expected - found, found - expected
    raise Difference(check, '\n'.join((f'{truth} has {expected.total()} rows, {reader} {found.total()}',
                                       *side(f'only {truth}', missing), *side(f'only {reader}', extra))))


def side(label, rows):
    shown = [f'  {label}: {count} x {row[:400]}' for row, count in sorted(rows.items())[:SHOWN]]
    rest = len(rows) - SHOWN
    return shown + ([f'  {label}: and {rest} more'] if rest > 0 else [])


# PyIceberg 0.12 knows the type, and then cannot read it from a file.
UNREADABLE = ('GEOMETRY',)


def readable(columns):
    """The columns that PyIceberg can read; the rest is read by others."""
    return [(name, kind) for name, kind in columns if kind not in UNREADABLE]


def read_pyiceberg(loaded, columns, snapshot=None, expression=None):
    options = {} if expression is None else {'row_filter': expression}
    if len(readable(columns)) < len(columns):
        options['selected_fields'] = tuple(name for name, _ in readable(columns))
    return loaded.scan(snapshot_id=snapshot, **options).to_arrow()


def compare_names(check, columns, rows, reader):
    wanted = [name for name, _ in columns]
    if rows.column_names != wanted:
        raise Difference(check, f'DuckDB on the lake has the columns {wanted}, {reader} {rows.column_names}')


def compare_schema(truth, schema, check):
    """Names, types and order of the columns; nested ones too."""
    wanted = [(name, iceberg_type(kind)) for name, kind in truth.columns]
    found = [(field.name, plain(field.field_type)) for field in schema.fields]
    if wanted != found:
        raise Difference(check, f'DuckDB on the lake has\n  {wanted}\nthe Iceberg schema has\n  {found}')


NAMES = {'BOOLEAN': 'boolean', 'TINYINT': 'int', 'SMALLINT': 'int', 'INTEGER': 'int', 'BIGINT': 'long',
         'FLOAT': 'float', 'DOUBLE': 'double', 'DATE': 'date', 'TIME': 'time',
         'TIMESTAMP': 'timestamp', 'TIMESTAMP_S': 'timestamp', 'TIMESTAMP WITH TIME ZONE': 'timestamptz',
         'VARCHAR': 'string', 'JSON': 'string', 'UUID': 'uuid', 'BLOB': 'binary', 'TIMESTAMP_NS': 'timestamp_ns', 'GEOMETRY': 'geometry'}


def iceberg_type(kind):
    kind = shown_type(kind)
    if kind in NAMES:
        return NAMES[kind]
    if kind.startswith('DECIMAL') and kind.endswith(')'):
        return kind.lower().replace(',', ', ')
    shape = parsed(kind)
    children = [iceberg_type(str(child)) for _, child in shape.children]
    if shape.id == 'struct':
        return tuple((name, child) for (name, _), child in zip(shape.children, children))
    return (shape.id, *children)


def plain(kind):
    """PyIceberg's type in the same form."""
    if kind.is_struct:
        return tuple((field.name, plain(field.field_type)) for field in kind.fields)
    if hasattr(kind, 'element_type'):
        return ('list', plain(kind.element_type))
    if hasattr(kind, 'value_type'):
        return ('map', plain(kind.key_type), plain(kind.value_type))
    return 'binary' if str(kind).startswith('fixed') else str(kind)


def read_duck_iceberg(world, table, snapshot=None):
    return world.ice().execute(
        f'FROM ice.{table.schema}.{quoted(table.name)}{version(snapshot)}').to_arrow_table()
