"""Columns of the type variant. PyIceberg 0.12 cannot load a table that has one, so such a table lives for one operation
alone and is read by DuckDB's Iceberg extension."""
import collections

from oracle.reading import compare, version
from oracle.rest import path_of
from oracle.steps import operation
from oracle.world import Table

VALUES = ("NULL", "1::VARIANT", "'text ü'::VARIANT", "{'a': 1, 'b': [NULL, 'x']}::VARIANT", "[1, 2]::VARIANT", "2.5::DOUBLE::VARIANT",
          "true::VARIANT", "DATE '2020-02-29'::VARIANT", "{'a': {'b': [1.5]}}::VARIANT")
FIELDS = [{'id': 1, 'name': 'n', 'type': 'int', 'required': False}, {'id': 2, 'name': 'v', 'type': 'variant', 'required': False}]


@operation('duck.variants', 1)
def variants(world, random):
    table = Table(world.schema, world.fresh_name(), world.snapshot())
    world.rest.post(f'namespaces/{table.schema}/tables', {
        'name': table.name, 'schema': {'type': 'struct', 'fields': FIELDS}, 'properties': {'format-version': '3'}})
    name = world.full_name(table)
    for _ in range(random.randint(2, 4)):
        world.run(random.choice((
            f"INSERT INTO {name} VALUES ({random.randint(0, 9)}, {random.choice(VALUES)})",
            f"INSERT INTO {name} SELECT n, {random.choice(VALUES)} FROM range({random.randint(11, 30)}) t(n)",
            f"DELETE FROM {name} WHERE n % 5 = {random.randint(0, 4)}")))
    metadata = world.rest.get(path_of(table.schema, table.name))['metadata']
    for snapshot in metadata['snapshots']:
        at = version(snapshot['snapshot-id'])
        compare(f'variants at snapshot {snapshot["snapshot-id"]}', read(world.duck, f'{name}{at}'),
                read(world.ice(), f'ice.{table.schema}.{table.name}{at}'), "DuckDB's iceberg extension")
    world.run(f'DROP TABLE {name}')


def read(connection, name):
    """Each row as text, and how often it is there."""
    rows = connection.execute(f"SELECT concat_ws(' ', n, v::JSON::VARCHAR) FROM {name}").fetchall()
    return collections.Counter(row[0] for row in rows)
