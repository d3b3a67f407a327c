"""Where DuckDB on the lake is wrong by itself: asked of the lake's own tables, so that nothing else is passed over."""
# The table by its present name.
TABLE = """ducklake_table t
  JOIN ducklake_schema s ON s.schema_id = t.schema_id AND s.schema_name = '{schema}' AND s.end_snapshot IS NULL
                        AND t.table_name = '{name}' AND t.end_snapshot IS NULL"""


def ask(world, table, sql, **values):
    of = TABLE.format(schema=table.schema.replace("'", "''"), name=table.name.replace("'", "''"))
    return world.ask(sql.format(table=of, **values))


OLDER_THAN_THE_BUCKET = """
SELECT DISTINCT n.column_name FROM {table}
  JOIN ducklake_partition_info i ON i.table_id = t.table_id AND i.end_snapshot IS NULL
  JOIN ducklake_partition_column c ON c.partition_id = i.partition_id AND c.transform LIKE 'bucket%'
  JOIN ducklake_column n ON n.table_id = t.table_id AND n.column_id = c.column_id AND n.end_snapshot IS NULL
 WHERE NOT EXISTS (SELECT FROM lakeproxy_definition_use o WHERE o.table_id = t.table_id AND o.kind = 'default'
                                                           AND o.key = i.begin_snapshot)
   AND EXISTS (SELECT FROM ducklake_data_file f WHERE f.table_id = t.table_id AND f.end_snapshot IS NULL
                                           AND f.partition_id IS DISTINCT FROM i.partition_id)"""


def lost_by_buckets(world, table, names):
    """DuckDB 1.5.5 looks for `= value` in files with that bucket only, also among those that were written before it gave the
    table its present buckets. Of a client's buckets it knows nothing where there are such files."""
    if not names:
        return False
    return any(name in names for name, in ask(world, table, OLDER_THAN_THE_BUCKET))


DELETED_TWICE = """
SELECT 1 FROM {table}
  JOIN ducklake_data_file f ON f.table_id = t.table_id AND f.end_snapshot > {snapshot}
  JOIN ducklake_delete_file d ON d.data_file_id = f.data_file_id AND d.begin_snapshot <= {snapshot}
                             AND (d.end_snapshot IS NULL OR d.end_snapshot > {snapshot})
 GROUP BY f.data_file_id HAVING count(*) > 1"""


def deleted_twice(world, table, snapshot):
    """DuckDB 1.5.5 flushes deletes that it kept in PostgreSQL also of a file that is gone by then, beside the delete file that
    it had, and then applies neither where both are of the snapshot."""
    return bool(ask(world, table, DELETED_TWICE, snapshot=snapshot))


MAY_FLUSH = "SELECT lakeproxy_may_flush(s.schema_name, t.table_name) FROM {table}"


def may_flush(world, table):
    """DuckDB 1.5.5 looks for the deleted rows of a partition that is a text among bytes, and takes others for deleted: the
    catalog does not flush such a table, and says so (lakeproxy_may_flush)."""
    return ask(world, table, MAY_FLUSH) == [(True,)]


SORTED = """
SELECT 1 FROM {table} JOIN ducklake_sort_info i ON i.table_id = t.table_id AND i.end_snapshot IS NULL LIMIT 1"""


def is_sorted(world, table):
    """DuckDB 1.5.5 does not flush a table sorted by a column that it keeps, or kept, rows of from before the column was widened;
    nor in a connection that added it: an internal error."""
    return bool(ask(world, table, SORTED))


FORGOTTEN_BOUNDS = """
SELECT EXISTS (SELECT 1 FROM {table}
  JOIN ducklake_data_file f ON f.table_id = t.table_id
  JOIN ducklake_file_column_stats unknown ON unknown.data_file_id = f.data_file_id AND unknown.min_value IS NULL
  LEFT JOIN lakeproxy_nan_count n ON n.data_file_id = f.data_file_id AND n.column_id = unknown.column_id
 WHERE unknown.value_count > coalesce(n.nan_count, 0)
   AND NOT EXISTS (SELECT FROM lakeproxy_file c WHERE c.data_file_id = f.data_file_id)
   AND EXISTS (SELECT FROM ducklake_file_column_stats known
                WHERE known.table_id = t.table_id AND known.column_id = unknown.column_id AND known.min_value IS NOT NULL))
 OR EXISTS (SELECT 1 FROM {table}
  JOIN ducklake_data_file f ON f.table_id = t.table_id
  JOIN ducklake_file_column_stats unknown ON unknown.data_file_id = f.data_file_id AND unknown.min_value IS NULL
 WHERE NOT EXISTS (SELECT FROM lakeproxy_file c WHERE c.data_file_id = f.data_file_id)
   AND (EXISTS (SELECT FROM ducklake_data_file g
                  JOIN ducklake_file_column_stats known ON known.data_file_id = g.data_file_id AND known.min_value IS NOT NULL
                                                       AND known.column_id = unknown.column_id
                 WHERE g.table_id = t.table_id AND g.begin_snapshot = f.begin_snapshot
                   AND (f.partition_id IS NOT NULL OR f.data_file_id < g.data_file_id))
        OR (unknown.value_count = 0 OR unknown.contains_nan)
           AND EXISTS (SELECT FROM ducklake_snapshot_changes m
                        WHERE m.snapshot_id = f.begin_snapshot
                          AND m.changes_made ~ ('inlined_insert:' || t.table_id || '(,|$)'))))"""


def forgets_bounds(world, table):
    """DuckDB 1.5.5 forgets the bounds of a table's column where one of the files of a write, of a partitioned table or of a
    transaction of several inserts, has none, and takes those of the next rows for the whole table's: a filter then passes over
    rows. Small rows that the transaction keeps in PostgreSQL are forgotten as well, and so is a file one of whose row groups holds
    NULL or NaN alone: it has no bounds, whatever else it holds."""
    table.unbounded |= ask(world, table, FORGOTTEN_BOUNDS) == [(True,)]
    return table.unbounded


NAN_UNKNOWN = """
SELECT EXISTS (SELECT 1 FROM {table} JOIN ducklake_file_column_stats told ON told.table_id = t.table_id AND NOT told.contains_nan
  JOIN lakeproxy_nan_count n ON n.data_file_id = told.data_file_id AND n.column_id = told.column_id AND n.nan_count > 0)"""


def loses_nans(world, table):
    """DuckDB 1.5.5 says of a file whether its last row group holds NaN, and takes that for the whole file and table: MAX, which is
    NaN then, is another number."""
    table.nan_lost |= ask(world, table, NAN_UNKNOWN) == [(True,)]
    return table.nan_lost
