"""One table on its way through an engine's statements, held against the lake after each of them.

Three parties say what the table is: the engine under test with the other Iceberg clients, DuckDB on
the lake itself, and a plain DuckDB table that goes through the same statements and knows no lake.
"""
import duckdb
import pyarrow as pa

from agreement import checksum, differences


class Tour:
    """`{t}` in a statement is the table. The first of `readers` is the engine under test."""

    def __init__(self, name, run, duck, truth, readers, catalog):
        self.name = name
        self.run = run
        self.duck = duck
        self.truth = truth
        self.readers = readers
        self.catalog = catalog
        self.model = duckdb.connect()
        self.model.execute("SET TimeZone = 'UTC'")

    def __call__(self, statement, model=''):
        """The engine runs `statement`, the model the same or `model`, and both are looked at."""
        self.run(statement.format(t=f'lake.{self.name}'))
        self.follow(model or statement)

    def by_lake(self, statement):
        """DuckDB runs it on the lake, past the catalog."""
        self.duck.execute(statement.format(t=f'lake.{self.name}'))
        self.follow(statement)

    def follow(self, statement):
        for part in statement.split(';'):
            self.model.execute(part.format(t='t'))
        self.matches_the_model()
        same(self.truth, self.readers[:1], self.name)

    def matches_the_model(self):
        columns = self.truth.columns(self.name)
        found, wanted = self.truth.read(self.name), self.model.execute('FROM t').to_arrow_table()
        assert found.column_names == wanted.column_names
        assert checksum(found, columns) == checksum(wanted, columns), differences(wanted, found, columns)

    def snapshots(self):
        return [one.snapshot_id for one in self.catalog.load_table(self.name).snapshots()]

    def agrees_always(self, at_least=1):
        """The readers see the lake's rows and types, now and at every snapshot. Returns the rows now."""
        shown = self.snapshots()
        assert len(shown) >= at_least, f'{len(shown)} snapshots'
        for turn, snapshot in enumerate(shown):
            # The engine under test may be slow, and saw each snapshot when it was new.
            same(self.truth, self.readers[turn % 3 > 0:], self.name, snapshot)
        return same(self.truth, self.readers, self.name)


def same(truth, readers, table, snapshot=None):
    """Names, types and rows that `readers` see are those of `truth`. Returns the row count."""
    columns = truth.columns(table, snapshot)
    expected = truth.read(table, snapshot)
    for reader in readers:
        found = reader.read(table, snapshot)
        where = f'{reader.name}: {table} at {snapshot or "now"}'
        assert shape(found) == shape(expected), where
        assert checksum(found, columns) == checksum(expected, columns), (
            f'{where}\n{differences(expected, found, columns)}')
    return expected.num_rows


def shape(rows):
    return [(field.name, plain(field.type)) for field in rows.schema]


def plain(kind):
    """An Arrow type, without what is only a client's way to hold it in memory."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain(kind.storage_type)
    if pa.types.is_struct(kind):
        return tuple((field.name, plain(field.type)) for field in kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ('list', plain(kind.value_type))
    if pa.types.is_map(kind):
        return ('map', plain(kind.key_type), plain(kind.item_type))
    if pa.types.is_fixed_size_binary(kind):
        return 'string' if kind.byte_width == 16 else str(kind)  # A UUID is text to some.
    if pa.types.is_int8(kind) or pa.types.is_int16(kind):
        return 'int32'  # Iceberg has none that small.
    if pa.types.is_timestamp(kind):
        return ('timestamp', kind.unit, kind.tz is not None)
    return str(kind).removeprefix('large_')

