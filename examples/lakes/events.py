"""Events of a shop, as they come in: many small inserts, and once an hour the upkeep that makes files of them.

DuckDB keeps inserts of up to ten rows in PostgreSQL. Every hour they are flushed to a file and the files of the hours
before are merged. Those of the last hour are still inlined, and some events are corrected or withdrawn later.
"""
EXTENSIONS = ()
INSERTS_AN_HOUR = 12
EVENTS_AN_INSERT = 8
HOURS = 24


def make(duck, schema='shop', scale=1):
    """`scale` is in days."""
    table = f'lake.{schema}.events'
    duck.execute(f'CREATE TABLE {table} (id BIGINT, happened TIMESTAMPTZ, kind VARCHAR, visitor UUID, '
                 'page STRUCT(path VARCHAR, took_ms INTEGER), tags VARCHAR[], price DECIMAL(10,2))')
    hours = max(2, round(HOURS * scale))
    for hour in range(hours):
        for part in range(INSERTS_AN_HOUR):
            insert(duck, table, hour, part)
        correct(duck, table, hour)
        if hour < hours - 1:
            upkeep(duck, schema)
    yield f'{schema}.events'


def insert(duck, table, hour, part):
    first = (hour * INSERTS_AN_HOUR + part) * EVENTS_AN_INSERT
    duck.execute(f"""
        INSERT INTO {table}
        SELECT id, TIMESTAMPTZ '2026-03-01 00:00:00+00' + INTERVAL ({hour * 3600 + part * 300} + id % 300) SECOND,
               ['view', 'view', 'view', 'basket', 'order'][1 + id % 5], md5((id % 97)::VARCHAR)::UUID,
               {{'path': '/item/' || id % 41, 'took_ms': (id * 37 % 900)::INTEGER}},
               CASE WHEN id % 3 > 0 THEN ['mobile', NULL, 'tag' || id % 7] END,
               CASE WHEN id % 5 = 4 THEN (id % 1000) / 8 END
        FROM range({first}, {first + EVENTS_AN_INSERT}) r(id)""")


def correct(duck, table, hour):
    duck.execute(f"DELETE FROM {table} WHERE id = {hour * INSERTS_AN_HOUR * EVENTS_AN_INSERT + 5}")
    duck.execute(f"UPDATE {table} SET price = price + 1 WHERE id = {hour * INSERTS_AN_HOUR * EVENTS_AN_INSERT // 2 + 4}")


def upkeep(duck, schema):
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 'events')")
    duck.execute(f"CALL ducklake_merge_adjacent_files('lake', 'events', schema => '{schema}')")
