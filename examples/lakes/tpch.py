"""The eight tables of TPC-H, as DuckDB's own generator makes them, laid out for reading.

The two large tables are partitioned by year. After the load come the benchmark's two refreshes, new orders and old
ones deleted, so that the lake has what a lake in use has: several snapshots, and deletes.
"""
EXTENSIONS = ('tpch',)
TABLES = ('region', 'nation', 'supplier', 'part', 'partsupp', 'customer', 'orders', 'lineitem')
PARTITIONS = {'orders': 'year(o_orderdate)', 'lineitem': 'year(l_shipdate)'}
# Of a thousand orders the refreshes add and delete this many, as section 2.5 of the benchmark says.
REFRESHED = 1


def make(duck, schema='tpch', scale=0.1):
    """`scale` is the benchmark's: 1 is six million line items, about 1 GB of text."""
    duck.execute('CREATE SCHEMA IF NOT EXISTS memory.tpch_generated')
    duck.execute(f"CALL dbgen(sf = {scale}, catalog = 'memory', schema = 'tpch_generated', overwrite = true)")
    for table in TABLES:
        load(duck, f'lake.{schema}.{table}', f'memory.tpch_generated.{table}', PARTITIONS.get(table))
        yield f'{schema}.{table}'
    refresh(duck, schema)
    duck.execute('DROP SCHEMA memory.tpch_generated CASCADE')


def load(duck, table, source, partition):
    duck.execute(f'CREATE TABLE {table} AS FROM {source} LIMIT 0')
    if partition:
        duck.execute(f'ALTER TABLE {table} SET PARTITIONED BY ({partition})')
    duck.execute(f'INSERT INTO {table} FROM {source}')


def refresh(duck, schema):
    """Both refreshes, each in one transaction: its orders and their line items are one change."""
    orders, items = f'lake.{schema}.orders', f'lake.{schema}.lineitem'
    beyond = duck.execute(f'SELECT max(o_orderkey) FROM {orders}').fetchone()[0]
    refreshed = f'hash(o_orderkey) % 1000 < {REFRESHED}'
    duck.execute('BEGIN')
    duck.execute(f'INSERT INTO {items} SELECT i.* REPLACE (l_orderkey + {beyond} AS l_orderkey) FROM {items} i '
                 f'JOIN {orders} ON o_orderkey = l_orderkey WHERE {refreshed}')
    duck.execute(f'INSERT INTO {orders} SELECT * REPLACE (o_orderkey + {beyond} AS o_orderkey) FROM {orders} WHERE {refreshed}')
    duck.execute('COMMIT')
    duck.execute('BEGIN')
    duck.execute(f'DELETE FROM {items} WHERE l_orderkey IN (SELECT o_orderkey FROM {orders} WHERE {refreshed})')
    duck.execute(f'DELETE FROM {orders} WHERE {refreshed}')
    duck.execute('COMMIT')
