"""What DuckDB does to the table t of a schema of a test's own, as statements, one a line.

{s} is the schema, lake.{s} its full name.
"""

FLUSH = "CALL ducklake_flush_inlined_data('lake', schema_name => '{s}', table_name => 't')\n"
MERGE = "CALL ducklake_merge_adjacent_files('lake', 't', schema => '{s}')\n"
REWRITE = "CALL ducklake_rewrite_data_files('lake', 't', schema => '{s}', delete_threshold => 0)\n"


def inserts(table, count, first=0, rows=4):
    return '\n'.join(f'INSERT INTO lake.{{s}}.{table} SELECT n, n % 7 FROM range({start}, {start + rows}) r(n)'
                     for start in range(first, first + count * rows, rows))


def bigs(count, rows=20):
    return '\n'.join(f'INSERT INTO lake.{{s}}.t SELECT n, n % 7 FROM range({n * rows}, {n * rows + rows}) r(n)'
                     for n in range(count)) + '\n'


def run(duck, schema, statements, then=None):
    """`then` is called after each of them."""
    for statement in statements.format(s=schema).splitlines():
        if statement:
            duck.execute(statement)
            if then:
                then()


def last_snapshot(duck):
    return duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0]


def shown(catalog, table):
    return [snapshot.snapshot_id for snapshot in catalog.load_table(table).metadata.snapshots]
