"""The lake as one history sees it: both doors, its own schema, its tables and what was done to them."""
import contextlib
import dataclasses

import duckdb

from lake_clients import duck, iceberg
from oracle.rest import Rest
from oracle.steps import Difference, Skip


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@dataclasses.dataclass
class Table:
    """A table under the names it had: DuckLake's time travel wants the name of that time."""

    name: str
    born: int
    names: list = dataclasses.field(default_factory=list)  # (first snapshot, name)
    widened: bool = False  # some column got a wider type

    def name_at(self, snapshot):
        return [name for first, name in self.names if first <= snapshot][-1]


class World:
    """Connections stay open over all histories; `begin` makes an empty schema."""

    def __init__(self, lake):
        self.lake = lake
        self.duck = duck.connect_lake(lake)
        self.catalog = iceberg.connect(lake)
        self.rest = Rest(lake)
        self.engine = duckdb.connect()
        self.engine.execute("SET TimeZone = 'UTC'")
        self.other = None
        self.schema = None
        self.tables = []
        self.log = []
        self.made = 0
        self.picked = []
        self.expected = None

    def begin(self, schema):
        self.schema = schema
        self.tables = []
        self.picked = []
        self.expected = None
        self.log = []
        self.made = 0
        self.duck.execute(f'DROP SCHEMA IF EXISTS lake.{schema} CASCADE')
        self.duck.execute(f'CREATE SCHEMA lake.{schema}')

    def end(self):
        """Leaves nothing behind: old snapshots make each later statement slower."""
        self.duck.execute(f'DROP SCHEMA lake.{self.schema} CASCADE')
        self.duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        self.duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")

    def ice(self):
        """DuckDB's Iceberg extension, connected when first asked for."""
        if self.other is None:
            self.other = duck.connect_catalog(self.lake)
        return self.other

    def note(self, text):
        self.log.append(text)

    def run(self, sql):
        """A statement on the lake. What DuckDB itself does not do there is no difference between the doors."""
        self.note(sql)
        try:
            return self.duck.execute(sql)
        except (duckdb.NotImplementedException, duckdb.BinderException, duckdb.ConversionException,
                duckdb.ConstraintException, duckdb.CatalogException, duckdb.InvalidInputException) as fault:
            self.recover()
            raise Skip(f'DuckDB: {str(fault).splitlines()[0]}') from fault

    def recover(self):
        """Ends the transaction that a failed statement left aborted, also where none was begun by hand."""
        with contextlib.suppress(duckdb.TransactionException):
            self.duck.execute('ROLLBACK')

    def snapshot(self):
        return self.duck.execute("FROM ducklake_current_snapshot('lake')").fetchone()[0]

    def add(self, name):
        head = self.snapshot()
        self.tables.append(Table(name, head, [(head, name)]))
        self.picked.append(self.tables[-1])

    def fresh_name(self):
        self.made += 1
        return f't{self.made}'

    def pick(self, random):
        if not self.tables:
            raise Skip('there is no table')
        self.picked.append(random.choice(self.tables))
        return self.picked[-1]

    def expect(self, table, rows):
        """What an operation says the table holds after it; looked at with the next comparison."""
        self.expected = (table, rows)

    def demand(self, holds, text):
        if not holds:
            raise Difference('operation', text)

    def touched(self):
        """The tables that were picked since it was asked last, and are still there."""
        found = [table for table in self.tables if any(table is other for other in self.picked)]
        self.picked = []
        return found

    def full_name(self, table, snapshot=None):
        name = table.name if snapshot is None else table.name_at(snapshot)
        return f'lake.{self.schema}.{quoted(name)}'

    def identifier(self, table):
        return (self.schema, table.name)

    def load(self, table):
        return self.catalog.load_table(self.identifier(table))

    def columns(self, table):
        """(name, type) of each column, as DuckDB names the types."""
        return [(row[0], row[1]) for row in self.duck.execute(f'DESCRIBE {self.full_name(table)}').fetchall()]
