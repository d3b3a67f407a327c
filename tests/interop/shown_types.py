"""DuckDB's rows as Iceberg's clients are to see them, and a filtered read of a column in each client's words.

docs/lake/types.md is the rule: a HUGEINT is a double, a time with a zone is a time in UTC, an interval is text.
"""
import re
from datetime import timezone

from pyiceberg.expressions import EqualTo, GreaterThan, LessThan

from agreement import engine

# DuckDB's word for a type: what clients see, in DuckDB's word for that.
SHOWN = {'HUGEINT': 'DOUBLE', 'UHUGEINT': 'DOUBLE', 'UTINYINT': 'INTEGER', 'USMALLINT': 'INTEGER', 'UINTEGER': 'BIGINT',
         'UBIGINT': 'DECIMAL(20,0)', 'TIMESTAMP_S': 'TIMESTAMP', 'TIMESTAMP_MS': 'TIMESTAMP', 'TIME WITH TIME ZONE': 'TIME',
         # TEXT is of what no engine compares.
         'INTERVAL': 'VARCHAR', 'JSON': 'VARCHAR', 'VARIANT': 'TEXT', 'GEOMETRY': 'TEXT'}
WORDS = re.compile(r'''"(?:[^"]|"")*"|\b(?:''' + '|'.join(sorted(SHOWN, key=len, reverse=True)) + r')\b')
# Casts of DuckDB that lose or spell otherwise what clients see.
AS_SHOWN = {'TIME WITH TIME ZONE': "({} AT TIME ZONE 'UTC')::TIME", 'VARIANT': '{}::JSON::VARCHAR', 'INTERVAL': 'iso_8601({})',
            'STRUCT(a BIGINT, d INTERVAL)': 'CASE WHEN {0} IS NOT NULL THEN struct_pack(a := {0}.a, d := iso_8601({0}.d)) END'}
# The parts that are zero are left out, and nothing at all is PT0S.
ISO_8601 = """CREATE OR REPLACE TEMP MACRO iso_8601(span) AS CASE WHEN span IS NULL THEN NULL WHEN span = INTERVAL 0 DAY THEN 'PT0S' ELSE
  'P' || part(datepart('year', span), 'Y') || part(datepart('month', span), 'M') || part(datepart('day', span), 'D')
  || CASE WHEN datepart('hour', span) = 0 AND datepart('minute', span) = 0 AND datepart('microsecond', span) = 0 THEN '' ELSE
     'T' || part(datepart('hour', span), 'H') || part(datepart('minute', span), 'M')
     || CASE WHEN datepart('microsecond', span) = 0 THEN '' ELSE rtrim(rtrim(printf('%.6f', datepart('microsecond', span) / 1e6), '0'), '.') || 'S' END END END"""
PART = "CREATE OR REPLACE TEMP MACRO part(number, unit) AS CASE WHEN number = 0 THEN '' ELSE number || unit END"


def shown_type(kind):
    """The shown type of DuckDB's type `kind`, nested ones too; names in quotes stay."""
    return WORDS.sub(lambda word: SHOWN.get(word[0], word[0]), kind)


def shown_value(value, kind):
    """SQL for what clients see in the place of an SQL value of DuckDB's type `kind`."""
    return f'CAST({AS_SHOWN.get(kind, "{}").format(value)} AS {shown_type(kind)})'


def define_macros(connection):
    """What AS_SHOWN needs."""
    for macro in (PART, ISO_8601):
        connection.execute(macro)


def columns_of(duck, table):
    return [(row[0], row[1]) for row in duck.execute(f'DESCRIBE FROM {table}').fetchall()]


def expected_rows(duck, table):
    """The rows of `table` in Arrow, with the types that clients see, and [(name, shown type)]."""
    define_macros(duck)
    columns = columns_of(duck, table)
    parts = [f'{shown_value(quoted(name), kind)} AS {quoted(name)}' for name, kind in columns]
    rows = duck.execute(f'SELECT {", ".join(parts)} FROM {table}').to_arrow_table()
    return rows, [(name, shown_type(kind)) for name, kind in columns]


def quoted(name, mark='"'):
    return mark + name.replace(mark, 2 * mark) + mark


def assert_same_rows(expected, found, columns, who):
    assert found.column_names == [name for name, _ in columns], who
    local = engine(expected=expected, found=found)
    sides = {name: 'SELECT ' + ', '.join(f'CAST({quoted(column)} AS {kind})' for column, kind in columns) + f' FROM {name}'
             for name in ('expected', 'found')}
    assert expected.num_rows == found.num_rows, f'{who}: {found.num_rows} rows, not {expected.num_rows}'
    for left, right in (('expected', 'found'), ('found', 'expected')):
        rest = local.execute(f'{sides[left]} EXCEPT ALL {sides[right]} LIMIT 3').fetchall()
        assert not rest, f'{who}: {left}, and not {right}: {rest}'


PREDICATES = {'=': EqualTo, '>': GreaterThan, '<': LessThan}
# What can be compared, in DuckDB's words, and in those of other engines.
SPARK = {'BOOLEAN': 'BOOLEAN', 'TINYINT': 'INT', 'SMALLINT': 'INT', 'INTEGER': 'INT', 'BIGINT': 'BIGINT', 'FLOAT': 'FLOAT', 'DOUBLE': 'DOUBLE',
         'DATE': 'DATE', 'TIMESTAMP': 'TIMESTAMP_NTZ', 'TIMESTAMP WITH TIME ZONE': 'TIMESTAMP', 'VARCHAR': 'STRING', 'UUID': 'STRING'}
TRINO = {'BOOLEAN': 'BOOLEAN', 'TINYINT': 'INTEGER', 'SMALLINT': 'INTEGER', 'INTEGER': 'INTEGER', 'BIGINT': 'BIGINT', 'FLOAT': 'REAL',
         'DOUBLE': 'DOUBLE', 'DATE': 'DATE', 'TIMESTAMP': 'TIMESTAMP(6)', 'TIMESTAMP WITH TIME ZONE': 'TIMESTAMP(6) WITH TIME ZONE',
         'VARCHAR': 'VARCHAR', 'UUID': 'UUID', 'TIME': 'TIME(6)'}
CLICKHOUSE = {'BOOLEAN': 'Bool', 'TINYINT': 'Int32', 'SMALLINT': 'Int32', 'INTEGER': 'Int32', 'BIGINT': 'Int64', 'FLOAT': 'Float32', 'DOUBLE': 'Float64',
              'DATE': 'Date32', 'TIMESTAMP': 'DateTime64(6)', 'TIMESTAMP_NS': 'DateTime64(9)', 'VARCHAR': 'String', 'UUID': 'UUID'}
COMPARED = {*TRINO, 'TIMESTAMP_NS'}


class Filter:
    """Rows of one column that equal its least and its greatest value, and rows above one in the middle (below
    it where NaN may be: engines do not agree on what is above).

    Those are the reads that lose rows without a word where a bound in a manifest is wrong.
    """

    def __init__(self, rows, column, kind):
        self.column, self.kind = column, kind
        self.local = engine(rows=rows)
        self.cell = f'CAST({quoted(column)} AS {kind})'
        finite = f'AND NOT isnan({self.cell})' if kind in ('FLOAT', 'DOUBLE') else ''
        values = [row[0] for row in self.local.execute(
            f'SELECT DISTINCT {self.cell} AS picked FROM rows WHERE picked IS NOT NULL {finite} ORDER BY picked').fetchall()]
        texts = [row[0] for row in self.local.execute(
            f'SELECT picked::VARCHAR FROM (SELECT DISTINCT {self.cell} AS picked FROM rows WHERE picked IS NOT NULL {finite} ORDER BY picked)').fetchall()]
        third = '<' if kind in ('FLOAT', 'DOUBLE') else '>'
        picks = [(0, '='), (len(values) - 1, '='), (len(values) // 2, third)] if values else []
        self.asked = [(values[at], texts[at], sign) for at, sign in picks]

    def expected(self):
        return [self.local.execute(f'SELECT count(*) FROM rows WHERE {self.cell} {sign} CAST(? AS {self.kind})', [text]).fetchone()[0]
                for _, text, sign in self.asked]

    def statement(self, table, mark, names):
        """One statement of all counts, for an engine that quotes names with `mark` and calls types by `names`."""
        kind = names.get(self.kind, self.kind)
        spelled = {'inf': 'Infinity', '-inf': '-Infinity'} if names is TRINO else {}
        parts = [f'SELECT {n} AS asked_at, count(*) AS found FROM {table} WHERE {quoted(self.column, mark)} {sign} '
                 f"CAST('{spelled.get(text, text)}' AS {kind})" for n, (_, text, sign) in enumerate(self.asked)]
        return f'SELECT found FROM ({" UNION ALL ".join(parts)}) AS x ORDER BY asked_at'

    def for_pyiceberg(self):
        # PyIceberg 0.12 has no literal of nanoseconds, and takes a dot for a way into a struct.
        for value, text, sign in [] if self.kind == 'TIMESTAMP_NS' or '.' in self.column else self.asked:
            yield PREDICATES[sign](self.column, self.literal(value, text))

    def literal(self, value, text):
        if self.kind == 'TIMESTAMP WITH TIME ZONE':
            return value.astimezone(timezone.utc).isoformat()
        if self.kind in ('DATE', 'TIME', 'TIMESTAMP', 'UUID', 'TIMESTAMP_NS'):
            return text.replace(' ', 'T')
        return value


def filters_of(rows, columns):
    """One for each column that engines compare."""
    compared = [(name, kind) for name, kind in columns if kind in COMPARED or kind.startswith('DECIMAL(')]
    found = [Filter(rows, name, kind) for name, kind in compared]
    return [each for each in found if each.asked]
