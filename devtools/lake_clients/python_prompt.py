"""Names for an interactive Python on the running lake; ./dev shell python starts it."""
from lake_clients import duck, iceberg
from lake_clients.lake import Lake

lake = Lake.from_environment()
duckdb = duck.connect_lake(lake)
catalog = iceberg.connect(lake)
print("duckdb.sql('FROM ...')  the lake itself, as `lake`\n"
      "catalog.load_table('schema.table')  PyIceberg through the catalog")
