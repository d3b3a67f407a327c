"""A fresh look at the lake: through DuckDB, through Iceberg, and at the objects in the store."""
from pyiceberg.exceptions import NoSuchTableError

from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from faults.reaching import Reaching

PLACE = 'lake.faults'


class Reader:
    """Of a stack: DuckDB on the lake itself, PyIceberg by way of the stack's own catalog, which never falls."""

    def __init__(self, stack, lake):
        self.lake = lake
        self.reaching = Reaching(stack.store, lake)
        self.batches = {}
        self.connect()

    def connect(self):
        self.duck = duckdb_client.connect_lake(self.lake)
        self.iceberg = iceberg_client.connect(self.lake)

    def exists(self, name):
        return self.ask(f"""SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake' AND schema_name = 'faults'
                            AND table_name = '{name}'""") == 1

    def ask(self, sql):
        return self.duck.execute(sql).fetchone()[0]

    def rows(self, name):
        """Rows of each batch; None where there is no table."""
        if not self.exists(name):
            return None
        return dict(self.duck.execute(f'SELECT batch, count(*) FROM {PLACE}.{name} GROUP BY batch').fetchall())

    def newest(self):
        return self.ask("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")

    def load(self, name):
        try:
            return self.iceberg.load_table(f'faults.{name}')
        except NoSuchTableError:
            return None

    def agreed(self, name):
        """What DuckDB finds; PyIceberg finds the same, and nothing it may reach is missing."""
        found, table = self.rows(name), self.load(name)
        assert (table and counted(table)) == found, f'{name}: PyIceberg and DuckDB disagree'
        if table:
            assert self.reaching.missing(table) == []
        return found

    def property(self, name, key):
        return self.load(name).properties.get(key)

    def state(self, names):
        """Of tables, and of properties as (table, property)."""
        return {name: self.property(*name) if isinstance(name, tuple) else self.agreed(name) for name in names}

    def batch_of(self, path):
        """The one batch of a data file."""
        if path not in self.batches:
            scan = self.duck.execute(f"SELECT DISTINCT batch FROM read_parquet('{path}')")
            self.batches[path], = (batch for batch, in scan.fetchall())
        return self.batches[path]


def counted(table, snapshot=None):
    """Rows of each batch, as PyIceberg finds them."""
    rows = table.scan(snapshot_id=snapshot).to_arrow().group_by('batch').aggregate([('row', 'count')]).to_pydict()
    return dict(zip(rows['batch'], rows['row_count']))
