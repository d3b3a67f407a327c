"""Conditions on rows, for changes and for filtered reads; each in SQL and as PyIceberg's expression."""
import math

from pyiceberg import expressions as ice

from oracle.world import quoted, text

# Types whose order is the same to DuckDB and to Iceberg's readers.
COMPARED = ('INTEGER', 'BIGINT', 'SMALLINT', 'TINYINT', 'VARCHAR', 'DATE', 'TIMESTAMP',
            'TIMESTAMP WITH TIME ZONE', 'BOOLEAN', 'DOUBLE', 'FLOAT', 'DECIMAL(9,2)', 'DECIMAL(18,4)', 'DECIMAL(38,10)',
            'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'TIMESTAMP_MS')
# DuckDB 1.5.5 ends with an internal error when it filters inlined rows by a column whose type was widened.
WIDENED = ('INTEGER', 'BIGINT', 'SMALLINT', 'DOUBLE', 'DECIMAL(12,2)', 'DECIMAL(18,4)', 'USMALLINT', 'UINTEGER', 'TIMESTAMP')
# In lone aggregates, too; a UBIGINT is a decimal to clients, of another spelling.
AGGREGATED = (*(kind for kind in COMPARED if kind != 'UBIGINT'), 'TIMESTAMP_NS')
OPERATORS = {'=': ice.EqualTo, '<': ice.LessThan, '<=': ice.LessThanOrEqual, '>': ice.GreaterThan,
             '>=': ice.GreaterThanOrEqual, '<>': ice.NotEqualTo}


def can_be_asked(table, kind):
    return kind in COMPARED and not (table.widened and kind in WIDENED)


def some_rows(world, random, table):
    """SQL that holds for few, many or no rows, decided by the rows that there are."""
    columns = [(name, kind) for name, kind in world.columns(table) if can_be_asked(table, kind)]
    if not columns or random.random() < 0.15:
        return random.choice(('true', 'false'))
    name, kind = random.choice(columns)
    column = quoted(name)
    if random.random() < 0.2:
        return f'{column} IS {random.choice(("NULL", "NOT NULL"))}'
    value = value_in(world, random, table, column, kind)
    if value is None:
        return f'{column} IS NULL'
    return f'{column} {random.choice(("=", "<", ">=", "<>"))} {value}'


def value_in(world, random, table, column, kind):
    """A value of the column, as SQL; the same for the same rows in whatever order they come."""
    rows = world.duck.execute(f'SELECT DISTINCT CAST({column} AS VARCHAR) v FROM {world.full_name(table)} '
                              f'WHERE {column} IS NOT NULL ORDER BY v').fetchall()
    return f'CAST({text(random.choice(rows)[0])} AS {kind})' if rows else None


class Filter:
    """One condition, to be asked of both access paths."""

    def __init__(self, sql, expression, unequal=(), equal=()):
        """`unequal` and `equal` name the columns that it compares by <>, and by = or IN."""
        self.sql = sql
        self.expression = expression
        self.unequal = unequal
        self.equal = equal

    def __str__(self):
        return self.sql


def random_filter(random, table, rows, columns, with_or=True):
    """A filter over the columns of `rows` (Arrow), or None where no column can be compared."""
    usable = [(number, name, kind) for number, (name, kind) in enumerate(columns) if can_be_asked(table, kind)]
    if not usable:
        return None
    first = one_filter(random, rows, *random.choice(usable))
    if random.random() < 0.6:
        return first
    second = one_filter(random, rows, *random.choice(usable))
    if not with_or or random.random() < 0.5:
        return Filter(f'({first.sql}) AND ({second.sql})', ice.And(first.expression, second.expression),
                      first.unequal + second.unequal, first.equal + second.equal)
    return Filter(f'({first.sql}) OR ({second.sql})', ice.Or(first.expression, second.expression),
                  first.unequal + second.unequal, first.equal + second.equal)


def one_filter(random, rows, number, name, kind):
    column = quoted(name)
    values = sorted({value for value in rows.column(number).to_pylist() if usable_value(value)}, key=repr)
    if kind in ('FLOAT', 'DOUBLE') and random.random() < 0.3:
        # DuckDB leaves NULL out of both; PyIceberg keeps it as 'not NaN' where a file has no such column.
        return random.choice((Filter(f'isnan({column})', ice.IsNaN(name)),
                              Filter(f'NOT isnan({column})', ice.And(ice.NotNaN(name), ice.NotNull(name)))))
    if not values or random.random() < 0.15:
        return random.choice((Filter(f'{column} IS NULL', ice.IsNull(name)),
                              Filter(f'{column} IS NOT NULL', ice.NotNull(name))))
    value = random.choice(values)
    if kind == 'VARCHAR' and value and random.random() < 0.3:
        prefix = value[:random.randint(1, 3)]
        return Filter(f'starts_with({column}, {text(prefix)})', ice.StartsWith(name, prefix))
    # pyarrow, which asks IN for PyIceberg, tells -0.0 from 0.0.
    several = [item for item in values if not isinstance(item, float) or item != 0]
    if random.random() < 0.2 and several:
        chosen = random.sample(several, min(3, len(several)))
        listed = ', '.join(sql_value(item, kind) for item in chosen)
        return Filter(f'{column} IN ({listed})', ice.In(name, [ice_value(item) for item in chosen]), equal=(name,))
    sign = random.choice(sorted(OPERATORS))
    sql = f'{column} {sign} {sql_value(value, kind)}'
    if kind in ('FLOAT', 'DOUBLE') and sign in ('>', '>='):
        sql = f'({sql} AND NOT isnan({column}))'  # to DuckDB NaN is the greatest number, to Iceberg it is none
    return Filter(sql, OPERATORS[sign](name, ice_value(value)), (name,) if sign == '<>' else (),
                  (name,) if sign == '=' else ())


def usable_value(value):
    return value is not None and value == value and value not in (math.inf, -math.inf)


def sql_value(value, kind):
    return f'CAST({text(value.isoformat() if hasattr(value, "isoformat") else str(value))} AS {kind})'


def ice_value(value):
    return value.isoformat() if hasattr(value, 'isoformat') else value
