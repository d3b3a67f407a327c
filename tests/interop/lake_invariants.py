"""What holds in every DuckLake, whoever wrote it: statements that find what breaks it. Of 1.0 and 1.1."""

# Versioned tables, and what a row of each is of.
VERSIONED = {'ducklake_table': 'table_id', 'ducklake_column': 'column_id', 'ducklake_data_file': 'data_file_id',
             'ducklake_delete_file': 'delete_file_id', 'ducklake_schema': 'schema_id', 'ducklake_view': 'view_id',
             'ducklake_partition_info': 'partition_id', 'ducklake_sort_info': 'sort_id', 'ducklake_tag': 'object_id'}

RULES = {
    'each snapshot says what it changed': """
        SELECT coalesce(s.snapshot_id, c.snapshot_id) FROM ducklake_snapshot s FULL JOIN ducklake_snapshot_changes c USING (snapshot_id)
         WHERE s.snapshot_id IS NULL OR c.snapshot_id IS NULL""",
    'times and versions rise with the ids': """
        SELECT snapshot_id FROM (SELECT *, lag(schema_version) OVER o AS v, lag(snapshot_time) OVER o AS t,
          lag(next_catalog_id) OVER o AS c, lag(next_file_id) OVER o AS f FROM ducklake_snapshot WINDOW o AS (ORDER BY snapshot_id)) s
         WHERE schema_version < v OR snapshot_time < t OR next_catalog_id < c OR next_file_id < f""",
    'ids are below the next ones': """
        SELECT n.* FROM (SELECT next_catalog_id, next_file_id FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1) n
         WHERE next_catalog_id <= greatest((SELECT max(schema_id) FROM ducklake_schema), (SELECT max(table_id) FROM ducklake_table),
                 (SELECT max(view_id) FROM ducklake_view), (SELECT max(partition_id) FROM ducklake_partition_info))
            OR next_file_id <= greatest((SELECT max(data_file_id) FROM ducklake_data_file),
                 (SELECT max(delete_file_id) FROM ducklake_delete_file))""",
    'a data file has one open delete file': """
        SELECT data_file_id FROM ducklake_delete_file WHERE end_snapshot IS NULL GROUP BY 1 HAVING count(*) > 1""",
    'no more is deleted than there is': """
        SELECT d.delete_file_id FROM ducklake_delete_file d JOIN ducklake_data_file f USING (data_file_id) WHERE d.delete_count > f.record_count""",
    'a column is one at a time': """
        SELECT a.table_id, a.column_id FROM ducklake_column a JOIN ducklake_column b USING (table_id, column_id)
         WHERE a.begin_snapshot < b.begin_snapshot AND coalesce(a.end_snapshot, 'Infinity'::float8) > b.begin_snapshot""",
    'siblings have names of their own': """
        SELECT table_id, column_name FROM ducklake_column WHERE end_snapshot IS NULL GROUP BY table_id, parent_column, column_name
        HAVING count(*) > 1""",
    'names stand for one thing': """
        SELECT schema_id, name FROM (SELECT schema_id, table_name AS name FROM ducklake_table WHERE end_snapshot IS NULL
          UNION ALL SELECT schema_id, view_name FROM ducklake_view WHERE end_snapshot IS NULL) n GROUP BY 1, 2 HAVING count(*) > 1""",
    'tables stand in schemas': """
        SELECT t.table_id FROM ducklake_table t LEFT JOIN ducklake_schema s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL
         WHERE t.end_snapshot IS NULL AND s.schema_id IS NULL""",
    'a schema version is noted once': """
        SELECT table_id, schema_version FROM ducklake_schema_versions GROUP BY 1, 2 HAVING count(*) > 1""",
    'an inlined table is registered once': """
        SELECT table_id, schema_version FROM ducklake_inlined_data_tables GROUP BY 1, 2 HAVING count(*) > 1""",
    # What DuckDB merged or flushed is younger than its first snapshot. It may be larger than what it stands for, of which no bytes are
    # counted, and hold a row once for each of its versions, under the one id.
    'totals are not below the live files': """
        SELECT f.table_id FROM (SELECT table_id, sum(record_count) AS rows, sum(file_size_bytes) AS bytes, bool_and(as_added) AS as_added,
              max(row_id_start + record_count) FILTER (WHERE as_added) AS ids
          FROM (SELECT f.*, coalesce(f.data_file_id < b.next_file_id, false) AS as_added FROM ducklake_data_file f
                  LEFT JOIN ducklake_snapshot b ON b.snapshot_id = f.begin_snapshot WHERE f.end_snapshot IS NULL) f GROUP BY 1) f
          LEFT JOIN ducklake_table_stats s USING (table_id)
         WHERE s.table_id IS NULL OR s.record_count < f.rows OR (f.as_added AND s.file_size_bytes < f.bytes) OR s.next_row_id < f.ids""",
    'a file of a partition has a value of each key': """
        SELECT f.data_file_id FROM ducklake_data_file f WHERE f.partition_id IS NOT NULL
           AND (SELECT count(*) FROM ducklake_file_partition_value v WHERE v.data_file_id = f.data_file_id)
            <> (SELECT count(*) FROM ducklake_partition_column k WHERE k.partition_id = f.partition_id AND k.table_id = f.table_id)""",
    'names of objects are known to the log': """
        SELECT snapshot_id FROM ducklake_snapshot_changes, regexp_split_to_table(regexp_replace(changes_made, '"([^"]|"")*"', 'n', 'g'), ',') AS e
         WHERE changes_made <> '' AND e !~ ('^(created_schema:n(\\.n)*|created_(table|view|scalar_macro|table_macro):n(\\.n)+|'
           || '(dropped_(schema|table|view|scalar_macro|table_macro)|inserted_into_table|deleted_from_table|altered_table|altered_view|'
           || 'inlined_insert|inlined_delete|inline_flush|flushed_inlined|merge_adjacent|rewrite_delete|compacted_table):[0-9]+)$')""",
}

RULES_OF_1_0 = {
    'schemas have names of their own': """
        SELECT schema_name FROM ducklake_schema WHERE end_snapshot IS NULL GROUP BY 1 HAVING count(*) > 1""",
    'transforms are those of 1.0': """
        SELECT partition_id FROM ducklake_partition_column WHERE transform !~ '^(identity|year|month|day|hour|bucket\\([0-9]+\\))$'""",
}
RULES_OF_1_1 = {
    'schemas have names of their own': """
        SELECT schema_name FROM ducklake_schema WHERE end_snapshot IS NULL GROUP BY schema_name, parent_schema_id HAVING count(*) > 1""",
    'a schema stands in one that is there': """
        SELECT s.schema_id FROM ducklake_schema s LEFT JOIN ducklake_schema p ON p.schema_id = s.parent_schema_id AND p.end_snapshot IS NULL
         WHERE s.end_snapshot IS NULL AND s.parent_schema_id IS NOT NULL AND p.schema_id IS NULL""",
    'transforms are those of 1.1': """
        SELECT partition_id FROM ducklake_partition_column
         WHERE transform !~ '^(identity|(epoch_)?(year|month|day|hour)|bucket\\([0-9]+\\))$'""",
    'numbers since 1970 are numbers': """
        SELECT v.data_file_id FROM ducklake_file_partition_value v JOIN ducklake_data_file f USING (data_file_id)
          JOIN ducklake_partition_column k ON k.partition_id = f.partition_id AND k.partition_key_index = v.partition_key_index
         WHERE k.transform LIKE 'epoch%' AND v.partition_value !~ '^-?[0-9]+$'""",
    'reserved names are not used': """
        SELECT column_name FROM ducklake_column WHERE end_snapshot IS NULL AND parent_column IS NULL AND column_name ILIKE '\\_ducklake\\_%'""",
}


def broken(ask):
    """{rule: rows that break it}, as `ask` runs SQL in the lake's database."""
    newest = ask("SELECT max(value) FROM ducklake_metadata WHERE key = 'version'") == '1.1'
    rules = {**RULES, **(RULES_OF_1_1 if newest else RULES_OF_1_0)}
    rules |= {f'{table} ends behind its beginning':
              f'SELECT {key} FROM {table} WHERE end_snapshot < begin_snapshot' for table, key in VERSIONED.items()}
    own = '_ducklake_' if newest else ''
    for table in ask('SELECT table_name FROM ducklake_inlined_data_tables').split():
        rules[f'rows of {table} begin, then end, and are one at a time'] = f"""
            SELECT {own}row_id FROM {table} WHERE {own}end_snapshot < {own}begin_snapshot
            UNION ALL SELECT {own}row_id FROM {table} WHERE {own}end_snapshot IS NULL GROUP BY 1 HAVING count(*) > 1"""
    found = {rule: ask(sql) for rule, sql in rules.items()}
    return {rule: rows for rule, rows in found.items() if rows}
