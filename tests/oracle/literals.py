"""Random values of every type that DuckLake and Iceberg share, as SQL text.

Text, since one history must run the same at both access paths and must be readable when it fails: Iceberg
clients get their rows from a local engine that evaluates the same text.
"""
import functools

import duckdb

STRINGS = ("''", "'a'", "'NULL'", "'ü'", "'漢字🦆'", "'it''s'", "'\"q\"'", "' '", "'a,b'", "'{}'", "'%'", "'\\'",
           "repeat('z', 40)", "repeat('é', 30)", "'zz' || chr(65535)", "chr(1114111) || 'x'", "'Z'")
FLOATS = ("'nan'", "'inf'", "'-inf'", '0.0', '-0.0', '1.5', '-2.25', '1e-30', '1e30')
# Exact in binary: DuckDB asks the lake for IN lists of others as decimals, and finds none of its own rows.
SHORT_FLOATS = ("'nan'", "'inf'", "'-inf'", '0.0', '-0.0', '1.5', '-2.25', '0.0009765625', '1048576.5')
BLOBS = ("''", r"'\x00'", r"'\xFF\xFF'", "'abc'", r"'\x00\xFF'", "repeat('x', 40)")
DATES = ('0001-01-01', '1582-10-15', '1969-12-31', '1970-01-01', '2000-02-29', '2024-06-30', '9999-12-31')
TIMES = ('00:00:00', '23:59:59.999999', '12:34:56', '00:00:00.000001')
# Not below zero: DuckDB 1.5.5 writes no such interval to a file, not when it flushes rows either. Of microseconds a file keeps
# the milliseconds alone, so that a flush would change the row.
SPANS = ('0 days', '1 year 2 months 3 days 04:05:06.007', '3 days', '00:00:01.5', '400 days 25:00:00', '1 month')
ZONED_TIMES = ('00:00:00+00', '23:59:59.999999-01:30', '00:30:00+02', '12:34:56+15:59', '12:00:00-12')
UUIDS = ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
         '7fffffff-0000-4000-8000-000000000001', '80000000-0000-4000-8000-000000000000')
INTEGERS = {'TINYINT': (-2**7, 2**7 - 1), 'SMALLINT': (-2**15, 2**15 - 1), 'INTEGER': (-2**31, 2**31 - 1),
            'BIGINT': (-2**63, 2**63 - 1),
            'UTINYINT': (0, 2**8 - 1), 'USMALLINT': (0, 2**16 - 1), 'UINTEGER': (0, 2**32 - 1), 'UBIGINT': (0, 2**64 - 1),
            # Rounded to a double the greatest of all is out of range, and DuckDB 1.5.5 cannot read its own file.
            'HUGEINT': (-10**30, 2**126), 'UHUGEINT': (0, 2**126)}

# Types that a new column can have. Both access paths make the first; only DuckDB makes the second.
SHARED = ('BOOLEAN', 'INTEGER', 'BIGINT', 'FLOAT', 'DOUBLE', 'DECIMAL(9,2)', 'DECIMAL(18,4)', 'DECIMAL(38,10)',
          'DATE', 'TIME', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE', 'VARCHAR', 'UUID', 'BLOB', 'INTEGER[]',
          'STRUCT(a INTEGER, b VARCHAR)', 'MAP(VARCHAR, BIGINT)', 'STRUCT(x STRUCT(y VARCHAR[], d DECIMAL(9,2)))')
# Within a struct. Of any other value DuckDB 1.5.5 keeps the text CAST('...' AS VARCHAR) in PostgreSQL, in place of the
# value: it then ends with an internal error, or shows that text. In lists and maps, and in files, all is well.
IN_STRUCT = ('BOOLEAN', 'INTEGER', 'BIGINT', 'DECIMAL(9,2)', 'DECIMAL(18,4)', 'DECIMAL(38,10)', 'VARCHAR', 'INTEGER[]')
DUCK_ONLY = ('TINYINT', 'SMALLINT', 'TIMESTAMP_S', 'JSON', 'HUGEINT', 'UHUGEINT', 'HUGEINT[]', 'TIME WITH TIME ZONE',
             'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'UINTEGER[]', 'TIMESTAMP_MS', 'INTERVAL')


# A table that has one is shown in format version 3.
NEW_IN_VERSION_3 = ('TIMESTAMP_NS', 'GEOMETRY')
NANOSECONDS = ('1677-09-22 00:00:00.000000001', '1969-12-31 23:59:59.999999999', '1970-01-01 00:00:00', '2262-04-11 00:00:00.123456789',
               '2024-02-29 12:00:00.000000999')
SHAPES = ('POINT(1 1.5)', 'POINT EMPTY', 'LINESTRING(0 0, 1 -1)', 'POLYGON((0 0, 4 0, 4 4, 0 0))', 'MULTIPOINT(1 2, 3 4)')


@functools.lru_cache(maxsize=None)
def parsed(type_text):
    return duckdb.sqltype(type_text)


def random_literal(random, type_text, nulls=0.15):
    """SQL for one value of the type, sometimes NULL."""
    if random.random() < nulls:
        return 'NULL'
    if type_text == 'JSON':
        return random.choice(("'{\"k\": 1}'", "'[]'", "'null'", "'\"ü\"'"))
    kind = parsed(type_text)
    if kind.id in ('list', 'struct', 'map'):
        return nested_literal(random, kind)
    return f'CAST({primitive_text(random, type_text)} AS {type_text})'


def nested_literal(random, kind):
    children = [(name, str(child)) for name, child in kind.children]
    if kind.id == 'list':
        items = [random_literal(random, children[0][1]) for _ in range(random.choice((0, 1, 1, 3)))]
        return f'CAST([{", ".join(items)}] AS {kind})'
    if kind.id == 'map':
        keys = random.sample(("'k'", "''", "'ü'", "'NULL'"), random.choice((0, 1, 2)))
        pairs = [f'{key}: {random_literal(random, children[1][1])}' for key in keys]
        return f'CAST(MAP {{{", ".join(pairs)}}} AS {kind})'
    fields = [f"'{name}': {random_literal(random, child)}" for name, child in children]
    # Of a struct that it keeps in PostgreSQL DuckDB loses a quote, and cannot read one with a backslash again.
    return f'CAST({{{", ".join(fields)}}} AS {kind})'.replace("it''s", 'its').replace("'\\'", "'/'")


def primitive_text(random, type_text):
    if type_text in INTEGERS:
        low, high = INTEGERS[type_text]
        return f"'{random.choice((low, high, 0, 1, max(low, min(high, -7)), random.randint(low, high), random.randint(0, 20)))}'"
    if type_text.startswith('DECIMAL'):
        return decimal_text(random, type_text)
    if type_text == 'TIMESTAMP_NS':
        return f"'{random.choice(NANOSECONDS)}'"
    if type_text == 'GEOMETRY':
        return f"'{random.choice(SHAPES)}'"
    if type_text.startswith('TIMESTAMP'):
        text = timestamp_text(random, whole_seconds=type_text == 'TIMESTAMP_S')
        # Rounded to milliseconds the last one would be in the year 10000, which Python does not know.
        return text.replace('.999999', '.999') if type_text == 'TIMESTAMP_MS' else text
    choices = {'BOOLEAN': ("'true'", "'false'"), 'FLOAT': SHORT_FLOATS, 'DOUBLE': FLOATS, 'VARCHAR': STRINGS, 'BLOB': BLOBS,
               'DATE': [f"'{day}'" for day in DATES], 'TIME': [f"'{time}'" for time in TIMES],
               'INTERVAL': [f"'{span}'" for span in SPANS],
               'TIME WITH TIME ZONE': [f"'{time}'" for time in ZONED_TIMES],
               'UUID': [f"'{text}'" for text in UUIDS]}[type_text]
    if type_text == 'DATE' and random.random() < 0.4:
        return f"'2024-{random.randint(1, 12):02}-{random.randint(1, 28):02}'"
    if type_text == 'VARCHAR' and random.random() < 0.4:
        return f"'s{random.randint(0, 30)}'"
    return random.choice(choices)


def decimal_text(random, type_text):
    precision, scale = (int(part) for part in type_text[len('DECIMAL('):-1].split(','))
    most = 10**precision - 1
    unscaled = random.choice((0, 1, -1, most, -most, random.randint(-most, most), random.randint(-999, 999)))
    digits = f'{abs(unscaled):0{scale + 1}}'
    sign = '-' if unscaled < 0 else ''
    whole, fraction = (digits[:-scale], digits[-scale:]) if scale else (digits, '')
    return f"'{sign}{whole}.{fraction}'" if scale else f"'{sign}{whole}'"


def timestamp_text(random, whole_seconds):
    day = random.choice(DATES) if random.random() < 0.4 else f'2024-{random.randint(1, 3):02}-{random.randint(1, 28):02}'
    time = random.choice(TIMES[:1] + TIMES[2:3] if whole_seconds else TIMES)
    return f"'{day} {time}'"


def values_clause(random, types, count):
    rows = (', '.join(random_literal(random, kind) for kind in types) for _ in range(count))
    return 'VALUES ' + ', '.join(f'({row})' for row in rows)


def many_rows(random, types, count):
    """A SELECT of `count` rows; each column draws from a small pool of values."""
    columns = [from_pool(random, number, kind) for number, kind in enumerate(types)]
    return f'SELECT {", ".join(columns)} FROM range({count}) t(n)'


def from_pool(random, number, kind):
    pool = [random_literal(random, kind) for _ in range(random.choice((1, 3, 5)))]
    turn = f'1 + (n * {7 + 2 * number} + {number}) % {len(pool)}'
    return f'list_extract(CAST([{", ".join(pool)}] AS {kind}[]), {turn})'


# DuckDB hands its rows on by so many, and a row group of a file holds no fewer where the option asks for less.
ROW_GROUP = 2048
PLAIN = {'FLOAT': ('1.5', '-2.25', '7.0'), 'DOUBLE': ('1.5', '-2.25', '7.0')}
EXTREMES = {'FLOAT': ("'nan'", "'inf'", "'-inf'"), 'DOUBLE': ("'nan'", "'inf'", "'-inf'"),
            **{kind: tuple(str(end) if end >= 0 else f"'{end}'" for end in ends) for kind, ends in INTEGERS.items()}}


def row_groups(random, types, groups):
    """A SELECT of rows that fill so many row groups. What is rare stands at the edges of the groups, in some of them only: what is
    said of one group is not true of the file."""
    count = (groups - 1) * ROW_GROUP + random.choice((1, 2, random.randint(3, ROW_GROUP)))
    edges = sorted({min(place, count - 1) for group in range(groups) for place in (group * ROW_GROUP, (group + 1) * ROW_GROUP - 1)})
    columns = []
    for number, kind in enumerate(types):
        rare = [place for place in edges if random.random() < 0.4]
        cases = ' '.join(f'WHEN {place} THEN {rare_literal(random, kind)}' for place in rare)
        usual = usual_value(random, number, kind)
        columns.append(f'CASE n {cases} ELSE {usual} END' if rare else usual)
    return f'SELECT {", ".join(columns)} FROM range({count}) t(n)'


def rare_literal(random, kind):
    if kind in EXTREMES and random.random() < 0.7:
        return f'CAST({random.choice(EXTREMES[kind])} AS {kind})'
    return random_literal(random, kind, nulls=0.4)


def usual_value(random, number, kind):
    if kind not in PLAIN:
        return from_pool(random, number, kind)
    chosen = random.sample(PLAIN[kind], random.choice((2, 3)))
    return f'list_extract(CAST([{", ".join(chosen)}] AS {kind}[]), 1 + (n * 7 + {number}) % {len(chosen)})'
