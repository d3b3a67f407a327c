"""Bodies of policies, and the SQL that an owner would run to have what they leave.

Raw values are told from masked ones by their look: every text of a table begins with raw-, every number is a million or more, and no
mask leaves such a value.
"""
import re

KINDS = ('VARCHAR', 'BIGINT', 'INTEGER', 'DATE')
RAW_NUMBER = 1_000_000
RAW_YEAR = 1900
ARGUMENT = re.compile(r'\bv\b')

MASKS = {
    'VARCHAR': ("'***'", "left(v, 2) || '~'", 'md5(v)', 'NULL', "regexp_replace(v, '.', '*', 'g')", "CASE WHEN v LIKE '%7' THEN 'seven' END"),
    'BIGINT': ('v % 10', '-1', 'NULL', 'CASE WHEN v > 1000500 THEN 1 ELSE 0 END', 'v - v'),
    'DATE': ("DATE '2000-01-01'", 'NULL'),
}
# Arguments by the names of columns that tables have at first, and a predicate over them.
FILTERS = (
    ((('region', 'VARCHAR'),), "region <> 'raw-us'"),
    ((('region', 'VARCHAR'),), "region = 'raw-eu' OR region IS NULL"),
    ((('id', 'BIGINT'),), 'id % 3 <> 0'),
    ((('id', 'BIGINT'), ('region', 'VARCHAR')), "id % 2 = 0 OR region = 'raw-eu'"),
    ((('a', 'VARCHAR'),), "a NOT LIKE '%5'"),
)


def signature(arguments):
    return '(' + ', '.join(f'{name} {kind}' for name, kind in arguments) + ')'


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def cast(name, kind):
    return f'TRY_CAST({quoted(name)} AS {kind})'


def masked(column, mask):
    """A mask has its column's type; an argument or a value that does not fit is NULL."""
    body = ARGUMENT.sub(lambda _: cast(column.name, mask.kind), mask.body)
    return f'TRY_CAST(({body}) AS {column.kind})'


def kept(rule, columns):
    by_name = {name: cast(column.name, kind) for (name, kind), column in zip(rule.arguments, columns)}
    names = '|'.join(map(re.escape, by_name))
    return '(' + re.sub(rf"(?<!['-])\b({names})\b", lambda found: by_name[found[1]], rule.body) + ')'


def select(plan, table):
    """What the policies leave of a table, by their own SQL."""
    columns = ', '.join(f'{masked(column, plan.masks[column]) if column in plan.masks else quoted(column.name)} AS {quoted(column.name)}'
                        for column in table.shown)
    where = ' AND '.join(kept(rule, of) for rule, of in plan.filters) or 'true'
    return f'SELECT {columns} FROM lake.{table.schema}.{table.name} WHERE {where}'


def value(random, kind, number, column):
    """SQL of a raw value."""
    if random.random() < 0.1 and column != 'id':
        return 'NULL'
    if column == 'region' and kind == 'VARCHAR':
        return random.choice(("'raw-eu'", "'raw-us'", "'raw-asia'"))
    if kind == 'VARCHAR':
        return f"'raw-{column}-{number}'"
    if kind == 'DATE':
        return f"DATE '{RAW_YEAR}-01-01' + {number % 300}"
    return str(RAW_NUMBER + number)


def looks_raw(shown):
    """Of a value in a masked column."""
    if isinstance(shown, str):
        return 'raw-' in shown
    if isinstance(shown, int):
        return shown >= RAW_NUMBER
    return shown is not None and getattr(shown, 'year', 0) == RAW_YEAR
