"""Tables as people make them in DuckDB, each a case that every client shall read.

A case is statements of DuckDB's; {t} stands for its table. What is not shown yet stands in
everyday_refusals.txt with the words of the refusal; what DuckDB itself refuses is in DUCKDB_REFUSES.
"""
from dataclasses import dataclass, field
from pathlib import Path

REFUSALS = Path(__file__).with_name('everyday_refusals.txt')


@dataclass
class Case:
    statements: tuple
    # Readers that do not know a type of the table, with the reason.
    unread_by: dict = field(default_factory=dict)


NO_TIME = {'Spark': 'Spark refuses each table that has a time'}
NULL_IS_EMPTY = {'PyIceberg': 'PyIceberg 0.12 reads a NULL list or map of structs as an empty one'}
NO_VERSION_3_TYPES = {'Trino': 'Trino 476 has none of the types of version 3', 'Spark': 'Iceberg 1.12 has no Spark type for it'}


def made(*statements, unread_by=None):
    return Case(statements, unread_by or {})


def select(query, unread_by=None):
    return made(f'CREATE TABLE {{t}} AS {query}', unread_by=unread_by)


def typed(value, unread_by=None):
    """1000 rows in a file, four inlined, and one of NULL; `value` is of i, from 0."""
    return made(f'CREATE TABLE {{t}} AS SELECT i, {value} AS v FROM range(1000) r(i)',
                f'INSERT INTO {{t}} SELECT i, {value} FROM range(1000, 1004) r(i)',
                'INSERT INTO {t} VALUES (NULL, NULL)', unread_by=unread_by)


def changed(value, *changes, rows=1000, unread_by=None):
    """A file of rows, and what is done to the table then."""
    return made(f'CREATE TABLE {{t}} AS SELECT i, {value} AS v FROM range({rows}) r(i)', *changes, unread_by=unread_by)


TYPES = {
    'boolean': typed('i % 3 = 0'),
    'tinyint': typed('(i % 200 - 100)::TINYINT'),
    'smallint': typed('(i * 30 - 15000)::SMALLINT'),
    'integer': typed('(i * 4000000 - 2000000000)::INTEGER'),
    'bigint': typed('i * 9000000000000000 - 4500000000000000000'),
    'hugeint_small': typed('i::HUGEINT - 500'),
    'hugeint_large': typed('(i::HUGEINT - 500) * 123456789012345678901234567'),
    'hugeint_beyond_a_doubles_digits': typed('9007199254740000::HUGEINT + i'),
    'uhugeint': typed('i::UHUGEINT * 323456789012345678901234567'),
    'utinyint': typed('(i % 256)::UTINYINT'),
    'usmallint': typed('(i * 65)::USMALLINT'),
    'uinteger_small': typed('i::UINTEGER'),
    'uinteger_above_the_signed': typed('(i * 4280000)::UINTEGER'),
    'ubigint_small': typed('i::UBIGINT'),
    'ubigint_above_the_signed': typed('i::UBIGINT * 18300000000000000'),
    'float': typed("CASE WHEN i % 100 = 0 THEN 'nan' ELSE i / 8 END::FLOAT"),
    'double': typed("CASE WHEN i % 100 = 0 THEN 'inf' ELSE -i / 3.0 END::DOUBLE"),
    'decimal_of_4': typed('(i / 10)::DECIMAL(4, 1)'),
    'decimal_of_9': typed('(i * 1.01)::DECIMAL(9, 2)'),
    'decimal_of_18': typed('(i * 1000.0001)::DECIMAL(18, 4)'),
    'decimal_of_38': typed('(i * 100000000.5)::DECIMAL(38, 10)'),
    'date': typed("DATE '1969-06-01' + i::INTEGER"),
    'time': typed("TIME '00:00:01.5' + to_minutes(i)", NO_TIME),
    'time_with_zone_in_utc': typed("(TIME '00:00:01.5' + to_minutes(i))::TIMETZ", NO_TIME),
    'time_with_offset': typed("((TIME '00:00:00' + to_minutes(i))::VARCHAR || CASE WHEN i % 2 = 0 THEN '+05:30' ELSE '-11' END)::TIMETZ",
                              NO_TIME),
    'timestamp': typed("TIMESTAMP '1969-12-31 23:00:00.000001' + to_minutes(i)"),
    'timestamp_s': typed("(TIMESTAMP '1969-12-31 23:00:00' + to_minutes(i))::TIMESTAMP_S"),
    'timestamp_ms': typed("(TIMESTAMP '1969-12-31 23:00:00.001' + to_minutes(i))::TIMESTAMP_MS"),
    'timestamp_ns': typed("(TIMESTAMP '1969-12-31 23:00:00.000001' + to_minutes(i))::TIMESTAMP_NS + INTERVAL 1 DAY", NO_VERSION_3_TYPES),
    'timestamptz': typed("TIMESTAMPTZ '1969-12-31 23:00:00.000001+02' + to_minutes(i)"),
    'interval_of_days': typed('to_days(i::INTEGER)'),
    'interval_of_months': typed('to_months(i::INTEGER)'),
    'interval_of_parts': typed('to_months(i::INTEGER) + to_days(3) + to_milliseconds(i)'),
    # Inlined alone: DuckDB writes no negative interval to a file.
    'interval_of_both_signs': made('CREATE TABLE {t} (i BIGINT, v INTERVAL)',
                                   'INSERT INTO {t} SELECT i, to_months(-i::INTEGER) + to_days(i::INTEGER) - to_milliseconds(i) FROM range(5) r(i)'),
    'varchar': typed("'ü' || i"),
    'varchar_long': typed("repeat('€', 100) || i"),
    'json': typed("('{\"a\": ' || i || '}')::JSON"),
    'blob': typed("encode('b' || i)"),
    'uuid': typed("CAST(lpad(hex(i), 8, '0') || '-1111-2222-3333-444455556666' AS UUID)"),
    'variant': typed("{'x': i}::VARIANT", {'Trino': 'Trino 476 has no variant', 'PyIceberg': 'PyIceberg 0.12 has no variant',
                                           'DuckDB iceberg': 'its reader of 1.5.5 refuses the shredded ones'}),
    'geometry': typed("('POINT(' || i || ' 1.5)')::GEOMETRY", {**NO_VERSION_3_TYPES, 'PyIceberg': 'PyIceberg 0.12 reads no geometry'}),
    'nulls_alone': typed('NULL'),
}

QUERIES = {
    'sum_of_integers': select('SELECT i % 10 AS g, sum(i) AS v FROM range(1000) r(i) GROUP BY 1'),
    'sum_of_few_rows': select('SELECT i % 3 AS g, sum(i) AS v FROM range(9) r(i) GROUP BY 1'),
    'sum_of_decimals': select('SELECT i % 10 AS g, sum(i::DECIMAL(9, 2)) AS v FROM range(1000) r(i) GROUP BY 1'),
    'sum_of_doubles': select('SELECT i % 10 AS g, sum(i / 2) AS v FROM range(1000) r(i) GROUP BY 1'),
    'running_sum': select('SELECT i, sum(i) OVER (ORDER BY i) AS v FROM range(1000) r(i)'),
    'sum_in_a_cube': select('SELECT i % 3 AS a, i % 5 AS b, sum(i) AS v FROM range(1000) r(i) GROUP BY CUBE (1, 2)'),
    'product': select('SELECT i % 10 AS g, product(i % 3 + 1) AS v FROM range(100) r(i) GROUP BY 1'),
    'count_and_average': select('SELECT i % 10 AS g, count(*) AS v, avg(i) AS a FROM range(1000) r(i) GROUP BY 1'),
    'spread': select('SELECT i % 10 AS g, stddev(i) AS v, median(i) AS m, quantile_cont(i, 0.9) AS q FROM range(1000) r(i) GROUP BY 1'),
    'row_numbers': select('SELECT i, row_number() OVER (ORDER BY -i) AS v, ntile(4) OVER (ORDER BY i) AS n FROM range(1000) r(i)'),
    'neighbours': select('SELECT i, lag(i, 1) OVER (ORDER BY i) AS v FROM range(1000) r(i)'),
    'hashes': select('SELECT i, hash(i) AS v FROM range(1000) r(i)'),
    'digests': select('SELECT i, md5(i::VARCHAR) AS v FROM range(1000) r(i)'),
    'days_between': select("SELECT i, date_diff('day', DATE '2020-01-01', DATE '2020-01-01' + i::INTEGER) AS v FROM range(1000) r(i)"),
    'difference_of_times': select("SELECT i, TIMESTAMP '2020-01-01' + to_hours(i) - TIMESTAMP '2019-01-01' AS v FROM range(1000) r(i)"),
    'time_from_milliseconds': select('SELECT i, epoch_ms(i * 86400000) AS v FROM range(1000) r(i)'),
    'parts_of_dates': select("SELECT i, year(d) AS y, month(d) AS m, date_trunc('month', d) AS v, strftime(d, '%Y-%m') AS s "
                             "FROM (SELECT i, DATE '2020-01-01' + i::INTEGER AS d FROM range(1000) r(i))"),
    'words': select("SELECT i, upper('word' || i) AS v, length('word' || i) AS n FROM range(1000) r(i)"),
    'split_words': select("SELECT i, string_split('a-b-' || i, '-') AS v FROM range(1000) r(i)"),
    'lists_of_a_group': select('SELECT i % 10 AS g, list(i ORDER BY i) AS v FROM range(1000) r(i) GROUP BY 1'),
    'histogram': select('SELECT i % 10 AS g, histogram(i % 3) AS v FROM range(1000) r(i) GROUP BY 1'),
    'pivot': select('SELECT * FROM (PIVOT (SELECT i % 10 AS g, i % 3 AS k, i FROM range(1000) r(i)) ON k IN (0, 1, 2) USING sum(i))'),
    'union_of_numbers': select('SELECT i AS v FROM range(500) r(i) UNION ALL SELECT i / 2 FROM range(500) r(i)'),
    'rows_written_out': made("CREATE TABLE {t} AS FROM (VALUES (1, 'a', 1.5), (2, NULL, 2.5)) x(i, v, d)"),
    'no_rows': select('SELECT i AS v FROM range(1000) r(i) WHERE false'),
    'random_numbers': select('SELECT i, random() AS v FROM range(1000) r(i)'),
}

NESTED = {
    'list_of_hugeints': typed('[i::HUGEINT * 1000000000000000000000, NULL]'),
    'list_of_uintegers': typed('[(i * 4280000)::UINTEGER, NULL]'),
    'list_of_times_with_zone': typed("[(TIME '00:00:01.5' + to_minutes(i))::TIMETZ]", NO_TIME),
    'struct_of_hugeint': typed("{'h': i::HUGEINT, 's': 'x' || i}"),
    # Not inlined: DuckDB 1.5.5 ends with an internal error at such rows.
    'struct_with_interval': changed("{'a': i, 'd': to_days(i::INTEGER)}"),
    'struct_with_nanoseconds': changed("{'a': i, 'n': (TIMESTAMP '1969-12-31 23:00:00' + to_minutes(i))::TIMESTAMP_NS}", unread_by=NO_VERSION_3_TYPES),
    'map_of_ubigints': typed("MAP {'k' || i: i::UBIGINT}"),
    'map_of_sums': typed("MAP {'k' || i: i::HUGEINT}"),
    'list_of_structs': typed("[{'a': i, 'b': [NULL, 'x']}]", NULL_IS_EMPTY),
    'struct_of_sums_deep': typed("{'a': [{'h': i::HUGEINT}]}"),
    'list_of_lists': typed('[[i], [], NULL]'),
    'map_of_structs': typed("MAP {i: {'d': DATE '2020-01-01'}}", NULL_IS_EMPTY),
}

CHANGES = {
    'column_added': changed('i', 'ALTER TABLE {t} ADD COLUMN w VARCHAR', "INSERT INTO {t} SELECT i, i, 'n' || i FROM range(2000, 2020) r(i)"),
    'sum_added': changed('i', 'ALTER TABLE {t} ADD COLUMN w HUGEINT', 'INSERT INTO {t} SELECT i, i, i FROM range(2000, 2020) r(i)',
                         'UPDATE {t} SET w = i * 1000000000000000 WHERE i < 3'),
    'column_added_with_default': changed('i', 'ALTER TABLE {t} ADD COLUMN w INTEGER DEFAULT 7'),
    'column_added_with_default_text': changed('i', "ALTER TABLE {t} ADD COLUMN w VARCHAR DEFAULT 'none'"),
    'default_in_version_3': changed("(TIMESTAMP '2020-01-01' + to_minutes(i))::TIMESTAMP_NS",
                                    'ALTER TABLE {t} ADD COLUMN w INTEGER DEFAULT 7',
                                    'ALTER TABLE {t} ADD COLUMN h HUGEINT DEFAULT 5',
                                    'INSERT INTO {t} (i) VALUES (5000)', unread_by=NO_VERSION_3_TYPES),
    'default_of_a_time_in_version_3': changed(
        "(TIMESTAMP '2020-01-01' + to_minutes(i))::TIMESTAMP_NS", "ALTER TABLE {t} ADD COLUMN z TIMETZ DEFAULT '12:00:00+02'",
        unread_by={**NO_VERSION_3_TYPES, 'PyIceberg': 'PyIceberg 0.12 fails at a filter that meets the default of a time'}),
    'default_that_is_computed': made('CREATE TABLE {t} (i BIGINT, v TIMESTAMP DEFAULT now())', 'INSERT INTO {t} (i) SELECT i FROM range(1000) r(i)'),
    'column_renamed': changed('i', 'ALTER TABLE {t} RENAME v TO w', 'INSERT INTO {t} VALUES (5, 6)'),
    'column_dropped': changed('i', 'ALTER TABLE {t} DROP COLUMN v', 'INSERT INTO {t} VALUES (5)'),
    'column_dropped_and_added': changed('i', 'ALTER TABLE {t} DROP COLUMN v', 'ALTER TABLE {t} ADD COLUMN v VARCHAR',
                                        "INSERT INTO {t} VALUES (5, 'x')"),
    'unsigned_dropped': changed('i::UINTEGER', 'ALTER TABLE {t} DROP COLUMN v', 'INSERT INTO {t} VALUES (5)'),
    'nanoseconds_added': changed('i', 'ALTER TABLE {t} ADD COLUMN w TIMESTAMP_NS', "INSERT INTO {t} VALUES (5, 6, '2020-01-01 00:00:00.000000001')",
                                 unread_by=NO_VERSION_3_TYPES),
    'nanoseconds_added_nested': changed("{'a': i}", 'ALTER TABLE {t} ADD COLUMN v.n TIMESTAMP_NS',
                                        "INSERT INTO {t} SELECT i, {'a': i, 'n': '2020-01-01 00:00:00.000000001'} FROM range(20) r(i)",
                                        unread_by=NO_VERSION_3_TYPES),
    'nanoseconds_dropped': changed("(TIMESTAMP '2020-01-01' + to_minutes(i))::TIMESTAMP_NS", 'ALTER TABLE {t} DROP COLUMN v',
                                   'INSERT INTO {t} VALUES (5)'),
    'not_null': made('CREATE TABLE {t} (v BIGINT NOT NULL)', 'INSERT INTO {t} SELECT i FROM range(1000) r(i)'),
    'struct_field_added': changed("{'a': i}", 'ALTER TABLE {t} ADD COLUMN v.b INTEGER', "INSERT INTO {t} VALUES (5, {'a': 1, 'b': 2})"),
    'struct_field_dropped': changed("{'a': i, 'b': i}", 'ALTER TABLE {t} DROP COLUMN v.b', "INSERT INTO {t} VALUES (5, {'a': 1})"),
    'odd_names': select('SELECT i AS "select", i AS "a b", i AS "ü.x", i AS "TIME" FROM range(1000) r(i)',
                        {'Trino': 'Trino gives all names in lower case'}),
    'table_renamed': changed('i', 'ALTER TABLE {t} RENAME TO {n}_then', 'ALTER TABLE {t}_then RENAME TO {n}'),
    'integer_to_bigint': changed('i::INTEGER', 'ALTER TABLE {t} ALTER v TYPE BIGINT', 'INSERT INTO {t} VALUES (5, 5000000000)'),
    'tinyint_to_integer': changed('(i % 100)::TINYINT', 'ALTER TABLE {t} ALTER v TYPE INTEGER', 'INSERT INTO {t} VALUES (5, 70000)'),
    'float_to_double': changed('(i / 10)::FLOAT', 'ALTER TABLE {t} ALTER v TYPE DOUBLE', 'INSERT INTO {t} VALUES (5, 0.1)',
                               unread_by={'Trino': 'Trino 476 fails at a filter on a float that became a double'}),
    'decimal_widened': changed('i::DECIMAL(10, 2)', 'ALTER TABLE {t} ALTER v TYPE DECIMAL(14, 2)', 'INSERT INTO {t} VALUES (5, 123456789012.25)'),
    'decimal_of_another_scale': changed('i::DECIMAL(10, 2)', 'ALTER TABLE {t} ALTER v TYPE DECIMAL(14, 4)', 'INSERT INTO {t} VALUES (5, 0.1234)'),
    'integer_to_double': changed('i::INTEGER', 'ALTER TABLE {t} ALTER v TYPE DOUBLE', 'INSERT INTO {t} VALUES (5, 0.5)'),
    'integer_to_hugeint': changed('i::INTEGER', 'ALTER TABLE {t} ALTER v TYPE HUGEINT', 'INSERT INTO {t} VALUES (5, 100000000000000000000)'),
    'hugeint_to_double': changed('i::HUGEINT * 1000000000000000000000', 'ALTER TABLE {t} ALTER v TYPE DOUBLE', 'INSERT INTO {t} VALUES (5, 0.5)'),
    'uinteger_to_bigint': changed('i::UINTEGER', 'ALTER TABLE {t} ALTER v TYPE BIGINT', 'INSERT INTO {t} VALUES (5, -5)'),
    'date_to_timestamp': changed("DATE '2020-01-01' + i::INTEGER", 'ALTER TABLE {t} ALTER v TYPE TIMESTAMP',
                                 "INSERT INTO {t} VALUES (5, '2020-01-01 12:00:00')"),
    'integer_to_json': changed('i::INTEGER', 'ALTER TABLE {t} ALTER v TYPE JSON', """INSERT INTO {t} VALUES (5, '"x"')"""),
    'type_of_an_empty_table': made('CREATE TABLE {t} (i BIGINT, v INTEGER)', 'ALTER TABLE {t} ALTER v TYPE DOUBLE',
                                   'INSERT INTO {t} SELECT i, i / 2 FROM range(1000) r(i)'),
    'partitioned_by_text': made('CREATE TABLE {t} (i BIGINT, v VARCHAR)', 'ALTER TABLE {t} SET PARTITIONED BY (v)',
                                "INSERT INTO {t} SELECT i, 'p' || (i % 3) FROM range(1000) r(i)"),
    'partitioned_by_month': made('CREATE TABLE {t} (i BIGINT, v TIMESTAMP)', 'ALTER TABLE {t} SET PARTITIONED BY (year(v), month(v))',
                                 "INSERT INTO {t} SELECT i, TIMESTAMP '2020-01-01' + to_days(i::INTEGER) FROM range(200) r(i)"),
    'partitioned_by_hugeint': made('CREATE TABLE {t} (i BIGINT, v HUGEINT)', 'ALTER TABLE {t} SET PARTITIONED BY (v)',
                                   'INSERT INTO {t} SELECT i, 9007199254740992 + i % 3 FROM range(300) r(i)',
                                   'INSERT INTO {t} VALUES (5000, 9007199254740993)'),
    'partitioned_by_time_with_zone': made('CREATE TABLE {t} (i BIGINT, v TIMETZ)', 'ALTER TABLE {t} SET PARTITIONED BY (v)',
                                          "INSERT INTO {t} SELECT i, CASE WHEN i % 2 = 0 THEN '23:00:00-05' ELSE '04:00:00+00' END FROM range(300) r(i)",
                                          unread_by=NO_TIME),
    'sorted_by_hugeint': made('CREATE TABLE {t} (i BIGINT, v HUGEINT)', 'ALTER TABLE {t} SET SORTED BY (v)',
                              'INSERT INTO {t} SELECT i, -i FROM range(300) r(i)'),
    'rows_updated': changed('i::HUGEINT', 'UPDATE {t} SET v = -v WHERE i % 7 = 0'),
    'rows_deleted': changed('i::HUGEINT', 'DELETE FROM {t} WHERE i % 7 = 0'),
    'few_rows_updated': changed("('12:00:00+0' || i)::TIMETZ", "UPDATE {t} SET v = '23:30:00-02' WHERE i = 3", rows=8, unread_by=NO_TIME),
    'all_rows_deleted': changed('i::HUGEINT', 'DELETE FROM {t}', 'INSERT INTO {t} VALUES (1, 2)'),
    'rows_merged': changed('i::HUGEINT', 'MERGE INTO {t} USING (SELECT i FROM range(990, 1020) r(i)) s ON s.i = {t}.i '
                                         'WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.i, 1)'),
    'inlined_rows_flushed': made('CREATE TABLE {t} (i BIGINT, v HUGEINT, z TIMETZ)',
                                 "INSERT INTO {t} VALUES (1, 9007199254740993, '23:30:00-02'), (2, -5, '00:10:00+00')",
                                 "CALL ducklake_flush_inlined_data('lake', schema_name => '{s}', table_name => '{n}')",
                                 "INSERT INTO {t} VALUES (3, 100000000000000000000, '12:00:00+05:30')", unread_by=NO_TIME),
    'files_merged': changed('i::HUGEINT', 'INSERT INTO {t} SELECT i, i FROM range(2000, 2100) r(i)',
                            "CALL ducklake_merge_adjacent_files('lake', '{n}', schema => '{s}')"),
}

CASES = {**TYPES, **QUERIES, **NESTED, **CHANGES}

# What chdb (ClickHouse 26.9) does not read as it is. A case that it does fails until it is gone from here.
UNREAD_BY_CHDB = {
    'a time is a number to it': (
        'time', 'time_with_zone_in_utc', 'time_with_offset', 'list_of_times_with_zone', 'partitioned_by_time_with_zone', 'few_rows_updated',
        'inlined_rows_flushed'),
    'a NULL list, map or struct is an empty one to it': (
        'list_of_hugeints', 'list_of_uintegers', 'struct_of_hugeint', 'map_of_ubigints', 'map_of_sums', 'list_of_structs',
        'struct_of_sums_deep', 'list_of_lists', 'map_of_structs'),
    'it takes no notice of the default of an added column, which only format version 3 has':
        ('default_in_version_3', 'default_of_a_time_in_version_3'),
    'it finds no row by a UUID': ('uuid',),
    'it takes a column for the one that had its name before, or fails at one that is gone': ('column_dropped_and_added', 'unsigned_dropped'),
    'a nested timestamp of nanoseconds has a zone': ('nanoseconds_added_nested',),
    'it knows no variant': ('variant',),
    'it knows no geometry': ('geometry',),
}
for reason, names in UNREAD_BY_CHDB.items():
    for name in names:
        CASES[name].unread_by = {**CASES[name].unread_by, 'chdb': reason}

# What DuckDB 1.5.5 refuses of a table with an INTEGER i; DuckLake 1.0 has none of the types.
DUCKDB_REFUSES = {
    'enum': "ALTER TABLE {t} ADD COLUMN v ENUM ('a', 'b')",
    'fixed_array': 'ALTER TABLE {t} ADD COLUMN v INTEGER[2]',
    'bits': 'ALTER TABLE {t} ADD COLUMN v BIT',
    'big_number': 'ALTER TABLE {t} ADD COLUMN v BIGNUM',
    'tagged_union': 'ALTER TABLE {t} ADD COLUMN v UNION (a INTEGER, b VARCHAR)',
    'integer_to_text': 'ALTER TABLE {t} ALTER i TYPE VARCHAR',
}


def make(duck, schema):
    """Every table, in `schema` of the lake."""
    for name, case in CASES.items():
        for statement in case.statements:
            run(duck, statement, schema, name)


def run(duck, statement, schema, name):
    # Structs have braces of their own.
    for mark, text in (('{t}', f'lake.{schema}.{name}'), ('{s}', schema), ('{n}', name)):
        statement = statement.replace(mark, text)
    duck.execute(statement)


def refusals():
    """The message of each case that is refused, as far as it is known."""
    lines = [line for line in REFUSALS.read_text().splitlines() if line and not line.startswith('#')]
    return {name.strip(): words.strip() for name, _, words in (line.partition(':') for line in lines)}


def read_by(reader):
    """The cases that a reader by that name can read."""
    refused = refusals()
    return [name for name, case in CASES.items() if name not in refused and reader not in case.unread_by]
