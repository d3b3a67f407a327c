"""Whether two clients saw the same rows, in whatever order.

Clients name types differently (a UUID is a string to one and 16 bytes to the
other), so every column is first cast to the type that the lake itself gives.
"""
import duckdb

# One for all comparisons: to make another costs more than most of them.
LOCAL = duckdb.connect(config={'threads': 1})


def assert_agree(truth, readers, table, snapshot=None):
    """Row count and checksum of every reader equal those of `truth`. Returns the row count."""
    columns = truth.columns(table, snapshot)
    expected = truth.read(table, snapshot)
    wanted = checksum(expected, columns)
    for reader in readers:
        rows = reader.read(table, snapshot)
        assert rows.column_names == [name for name, _ in columns], f'{reader.name}: columns of {table}'
        found = checksum(rows, columns)
        assert found == wanted, (
            f'{reader.name} at {snapshot or "now"}: (rows, checksum) of {table} are {found}, '
            f'not {wanted}\n{differences(expected, rows, columns)}')
    return wanted[0]


def assert_agree_always(truth, readers, catalog, table):
    """Every snapshot that is shown reads the same through both access paths. Returns the rows now."""
    for snapshot in catalog.load_table(table).snapshots():
        assert_agree(truth, readers, table, snapshot.snapshot_id)
    return assert_agree(truth, readers, table)


def checksum(rows, columns):
    """(count, a sum of the rows' hashes), the same for any order of the rows."""
    connection = engine(rows=rows)
    return connection.execute(
        f'SELECT count(*), sum(hash({casts(columns)})::HUGEINT) FROM rows').fetchone()


def differences(expected, found, columns, limit=5):
    """The first rows that one side has and the other lacks."""
    connection = engine(expected=expected, found=found)
    sides = {name: f'SELECT {casts(columns)} FROM {name}' for name in ('expected', 'found')}
    lines = []
    for label, left, right in (('missing', 'expected', 'found'), ('too many', 'found', 'expected')):
        rows = connection.execute(f'{sides[left]} EXCEPT ALL {sides[right]} LIMIT {limit}').fetchall()
        lines += [f'{label}: {row}' for row in rows]
    return '\n'.join(lines)


def engine(**tables):
    """A connection to a DuckDB without a lake, which alone knows these tables."""
    connection = LOCAL.cursor()
    connection.execute("SET TimeZone = 'UTC'")
    for name, table in tables.items():
        connection.register(name, table)
    return connection


def casts(columns):
    return ', '.join(f'CAST("{name}" AS {kind})' for name, kind in columns)
