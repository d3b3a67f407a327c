"""A table of very many files, and a lake of very many snapshots, beside small ones."""
import statistics

import load
import measure
from appends import Table
from stack.postgres import DATABASE

NAMESPACE = measure.NAMESPACE
COMMITS = 20
FILES_EACH = 1000


def many_files(catalog, files, seconds):
    """LoadTable hits and appends on a table of `files` data files, beside the same on a new one."""
    client = catalog.client()
    client.create_namespace_if_not_exists(NAMESPACE)
    found = {}
    for name, commits in (('small', 1), ('large', files // FILES_EACH)):
        table = Table(client, f'{NAMESPACE}.{name}_table')
        measure.commit_all(catalog, f'{name}_table', table, commits, 1 if name == 'small' else FILES_EACH)
        found[name] = {'files': 1 if name == 'small' else files, **costs(catalog, f'{name}_table', table, seconds)}
    return found


def costs(catalog, name, table, seconds):
    before = measure.commit_counters(catalog)
    commits = measure.commit_all(catalog, name, table, COMMITS, 1)
    after = measure.commit_counters(catalog)
    own = 'lakeproxy_commit_own_seconds_sum'
    hits = load.get(f'{measure.table_url(catalog, name)}?snapshots=refs', 8, seconds)
    return {'append_p50_ms': statistics.median(commits), 'append_own_ms': (after[own] - before[own]) / COMMITS * 1000,
            'load_p50_ms': hits.p50_ms, 'loads_per_second': hits.per_second}


def many_snapshots(servers, catalog, count, seconds):
    """The same table before and after `count` snapshots of another one, written as DuckLake writes them."""
    client = catalog.client()
    client.create_namespace_if_not_exists(NAMESPACE)
    table = Table(client, f'{NAMESPACE}.quiet')
    measure.commit_all(catalog, 'quiet', table, 10, 1)
    other = Table(client, f'{NAMESPACE}.busy')
    measure.commit_all(catalog, 'busy', other, 1, 1)
    found = {'snapshots': count, 'before': costs(catalog, 'quiet', table, seconds)}
    add_snapshots(servers.stack.postgres, count)
    measure.commit_all(catalog, 'quiet', table, 1, 1)  # the news of all of them is read here, once
    found['after'] = costs(catalog, 'quiet', table, seconds)
    stack = servers.stack
    stack.stop(stack.catalog)
    stack.start(stack.catalog)
    found['after_restart'] = costs(catalog, 'quiet', table, seconds)
    return found


def add_snapshots(postgres, count):
    """Each inserts into the table that was last made. They bring no files: only their number is measured."""
    postgres.query(DATABASE, f'''
        WITH last AS (SELECT * FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1)
        INSERT INTO ducklake_snapshot
        SELECT last.snapshot_id + n, last.snapshot_time + n * interval '1 microsecond', last.schema_version,
               last.next_catalog_id, last.next_file_id
          FROM last, generate_series(1, {count}) n''')
    postgres.query(DATABASE, '''
        INSERT INTO ducklake_snapshot_changes (snapshot_id, changes_made)
        SELECT s.snapshot_id, 'inserted_into_table:' || (SELECT max(table_id) FROM ducklake_table)
          FROM ducklake_snapshot s LEFT JOIN ducklake_snapshot_changes c USING (snapshot_id)
         WHERE c.snapshot_id IS NULL''')
    postgres.query(DATABASE, 'ANALYZE ducklake_snapshot; ANALYZE ducklake_snapshot_changes')
