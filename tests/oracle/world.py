"""The lake as one history sees it: both access paths, its own schema, its tables and what was done to them."""
import contextlib
import dataclasses
import time

import duckdb
from pyiceberg.exceptions import ServiceUnavailableError

import lake_invariants
import shown_types
from lake_clients import duck, iceberg, spark
from oracle.rest import Rest
from oracle.steps import Difference, Skip, steps_of


# DuckDB 1.5.5 asks PostgreSQL for COUNT("q"uote") when rows that it keeps there become a file.
OWN_QUOTING = 'Failed to read inlined-data aggregates'

# The instance that an internal error ended keeps its transaction, and with it locks that others wait for. DuckDB's
# connections have no name.
END_OF_THE_DEAD = ("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' "
                   "AND application_name = '' AND pid <> pg_backend_pid()")


COPIES_SECONDS = 60


def connect(lake):
    connection = duck.connect_lake(lake)
    shown_types.define_macros(connection)
    return connection


def text(value):
    return "'" + value.replace("'", "''") + "'"


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@dataclasses.dataclass
class Table:
    """A table under the names it had: DuckLake's time travel wants the name of that time."""

    schema: str
    name: str
    born: int
    names: list = dataclasses.field(default_factory=list)  # (first snapshot, schema, name)
    widened: bool = False  # some column got a wider type
    undone: bool = False  # DuckDB took rows back in the transaction that brought them: it counts their values as there
    repeated: bool = False  # a client took back what deleted the older form of updated rows: both have one id
    nan_lost: bool = False  # DuckDB does not know of a NaN in the table
    unbounded: bool = False  # DuckDB forgot what values the table's columns have
    renumbered: int = 0  # The lake's snapshot when DuckDB last gave rows other ids, as it merged their files
    seen: dict = dataclasses.field(default_factory=dict)  # {snapshot: its manifest list} as shown last, of one format version
    seen_version: int = 0
    seen_metadata: object = None  # PyIceberg's, as shown last

    @property
    def shares_ids(self):
        """Two rows may have one id."""
        return self.repeated or self.renumbered > 0

    def is_called(self, snapshot, schema, name):
        """From this snapshot on."""
        self.schema, self.name = schema, name
        self.names.append((snapshot, schema, name))

    def name_at(self, snapshot):
        """(schema, name)"""
        return [(schema, name) for first, schema, name in self.names if first <= snapshot][-1]


class World:
    """Connections stay open over all histories; `begin` makes an empty schema."""

    steps_of = staticmethod(steps_of)
    migrated = False  # the lake is one of DuckLake 1.1

    def __init__(self, lake):
        self.dead = []
        self.engine = duckdb.connect()
        self.engine.execute("SET TimeZone = 'UTC'")
        shown_types.define_macros(self.engine)
        self.schema = None
        self.tables = []
        self.log = []
        self.made = 0
        self.picked = []
        self.expected = []
        self.session = None
        self.open(lake)

    def open(self, lake):
        """Connects to it."""
        self.lake = lake
        self.catalog = iceberg.connect(lake)
        self.rest = Rest(lake)
        self.other = None
        self.direct = self.connect()

    def connect(self):
        return connect(self.lake)

    @property
    def duck(self):
        """DuckDB on DuckLake itself."""
        return self.direct

    def ask(self, sql):
        """PostgreSQL's rows, of the lake's own tables."""
        return self.duck.execute(f"FROM postgres_query('__ducklake_metadata_lake', {text(sql)})").fetchall()

    def ready_for(self, step):
        """What a step is done in."""
        del step
        return contextlib.nullcontext()

    def check_rules(self):
        """What holds in every lake, whatever its tables show."""
        broken = lake_invariants.broken(lambda sql: '\n'.join('|'.join(map(str, row)) for row in self.ask(sql)))
        if broken:
            raise Difference('rules of a lake', '\n'.join(f'{rule}: {rows}' for rule, rows in broken.items()))

    def begin(self, schema):
        self.schema = schema
        self.tables = []
        self.picked = []
        self.expected = []
        self.log = []
        self.made = 0
        for name in self.schemas():
            self.duck.execute(f'DROP SCHEMA IF EXISTS lake.{name} CASCADE')
            self.duck.execute(f'CREATE SCHEMA lake.{name}')

    def schemas(self):
        """The second is for tables that move."""
        return (self.schema, f'{self.schema}_other')

    def end(self):
        """Leaves nothing behind: old snapshots make each later statement slower."""
        for name in self.schemas():
            self.duck.execute(f'DROP SCHEMA lake.{name} CASCADE')
        self.duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        self.duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")

    def ice(self):
        """DuckDB's Iceberg extension, connected when first asked for."""
        if self.other is None:
            self.other = duck.connect_catalog(self.lake)
        return self.other

    def spark(self):
        """One session for all histories: it takes seconds to start."""
        if self.session is None:
            self.session = spark.connect(self.lake)
        return self.session

    def note(self, text):
        self.log.append(text)

    def run(self, sql):
        """A statement on the lake. What DuckDB itself does not do there is no difference between the access paths."""
        self.note(sql)
        try:
            return self.duck.execute(sql)
        except (duckdb.NotImplementedException, duckdb.ConversionException, duckdb.ConstraintException,
                duckdb.CatalogException, duckdb.InvalidInputException, duckdb.TransactionException) as fault:
            self.recover()
            if isinstance(fault, duckdb.TransactionException) and OWN_QUOTING not in str(fault):
                raise
            raise Skip(f'DuckDB: {str(fault).splitlines()[0]}') from fault

    def renew(self):
        """Another connection to the lake: one that has seen a column keeps its type for MIN and MAX when it is widened,
        whoever does it, and DuckDB 1.5.5 then ends with an internal error."""
        self.duck.close()
        self.direct = self.connect()

    def recover(self):
        """Ends the transaction that a failed statement left aborted, also where none was begun by hand."""
        try:
            with contextlib.suppress(duckdb.TransactionException, duckdb.ConnectionException):
                self.direct.execute('ROLLBACK')
        except duckdb.FatalException:  # an internal error ends the whole instance, and its destructor the process
            self.dead.append(self.direct)
            self.direct = self.connect()
            self.ask(END_OF_THE_DEAD)

    def snapshot(self):
        return self.duck.execute("FROM ducklake_current_snapshot('lake')").fetchone()[0]

    def add(self, name, schema=None):
        head = self.snapshot()
        schema = schema or self.schema
        self.tables.append(Table(schema, name, head, [(head, schema, name)]))
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
        self.expected.append((table, rows))

    def demand(self, holds, text):
        if not holds:
            raise Difference('operation', text)

    def demand_refused(self, reason, send, status=400):
        """A request that breaks a rule is answered with this status and the rule."""
        try:
            send()
        except RuntimeError as refusal:
            if isinstance(refusal, NotImplementedError):  # which is one of them to Python
                raise
            self.demand(f': {status} ' in str(refusal) and reason in str(refusal),
                        f'refused otherwise than by {status} for "{reason}": {refusal}')
            return
        self.demand(False, f'not refused for "{reason}"')

    def demand_not_offered(self, reason, send):
        """501, with the name of what is not offered."""
        try:
            send()
        except NotImplementedError as refusal:
            self.demand(reason in str(refusal), f'refused otherwise than for "{reason}": {refusal}')
            return
        self.demand(False, f'not refused for "{reason}"')

    def touched(self):
        """The tables that were picked since it was asked last, and are still there."""
        found = [table for table in self.tables if any(table is other for other in self.picked)]
        self.picked = []
        return found

    def full_name(self, table, snapshot=None):
        schema, name = (table.schema, table.name) if snapshot is None else table.name_at(snapshot)
        return f'lake.{schema}.{quoted(name)}'

    def views(self, schema):
        """Their names, as DuckDB lists them."""
        rows = self.duck.execute("SELECT view_name FROM duckdb_views() WHERE database_name = 'lake' AND schema_name = ? "
                                 'ORDER BY 1', [schema]).fetchall()
        return [name for name, in rows]

    def forget_shown(self, table=None):
        """From here on snapshots of the table, or of all, may be hidden."""
        for each in self.tables if table is None else [table]:
            each.seen = {}

    def identifier(self, table):
        return (table.schema, table.name)

    def load(self, table):
        """As it is once every readable copy is made: until then the newest state that is whole is shown, or none."""
        until = time.monotonic() + COPIES_SECONDS
        while True:
            try:
                loaded = self.catalog.load_table(self.identifier(table))
                if not self.rest.copies_waiting():
                    again = self.catalog.load_table(self.identifier(table))
                    if again.metadata_location == loaded.metadata_location:
                        return again
            except ServiceUnavailableError as refusal:
                self.demand('copied ' in str(refusal), f'503 without the progress of copies: {refusal}')
            self.demand(time.monotonic() < until, f'the copies of {table.name} were not made within {COPIES_SECONDS} s')
            time.sleep(0.05)

    def columns(self, table):
        """(name, type) of each column, as DuckDB names the types."""
        return [(row[0], row[1]) for row in self.duck.execute(f'DESCRIBE {self.full_name(table)}').fetchall()]
