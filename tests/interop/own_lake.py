"""What the tests of a lake's upkeep have in common: a stack of their own, objects, snapshots."""
import contextlib
import io
import subprocess
import tempfile

import readers
from agreement import engine
from faults import servers
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from lake_clients.lake import Lake
from rest import Rest


@contextlib.contextmanager
def own_stack(suffix, **settings):
    """A stack whose servers may fall and whose lake may lose its past: no other test sees it."""
    with servers.own_stack(suffix, **settings) as stack:
        yield OwnLake(stack)


class OwnLake:
    def __init__(self, stack):
        self.stack = stack
        self.lake = Lake.of(stack.variables())
        self.rest = Rest.of(self.lake)
        self.duck = duckdb_client.connect_lake(self.lake)
        self.catalog = iceberg_client.connect(self.lake)
        self.objects = Objects(stack)


    def gc(self, *arguments, **settings):
        """The command, done."""
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([self.stack.state['binary'], 'gc', *arguments], text=True, cwd=folder, timeout=60,
                                  env={**self.stack.catalog.environment(), **settings}, capture_output=True, check=False)

    def remove_orphans(self, **settings):
        """All that is none's now, young or not."""
        done = self.gc('--remove', '--older-than', '0s', **settings)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, sql, database='lake'):
        """PostgreSQL's answer, as psql prints it."""
        return self.stack.postgres.query(database, sql).strip()


class Objects:
    """The bucket, past every catalog."""

    def __init__(self, stack):
        self.client = stack.store.client()
        self.bucket = stack.variables()['S3_BUCKET']

    def keys(self, prefix):
        return {item.object_name for item in self.client.list_objects(self.bucket, prefix=prefix, recursive=True)}

    def under(self, location):
        """Keys below a location, as a table has it."""
        return self.keys(location.removeprefix(f's3://{self.bucket}/').rstrip('/') + '/')

    def put(self, key, content=b'x'):
        self.client.put_object(self.bucket, key, io.BytesIO(content), len(content))

    def exists(self, location):
        key = location.removeprefix(f's3://{self.bucket}/')
        return key in self.keys(key)


def location_of(rest, name_space, table):
    return rest.get(f'namespaces/{name_space}/tables/{table}').json()['metadata']['location']


def snapshots(duck):
    return [row[0] for row in duck.execute("SELECT snapshot_id FROM ducklake_snapshots('lake') ORDER BY 1").fetchall()]


def rows_at(reader, table, snapshot=None):
    """All rows in one order, by whatever reader of readers.py."""
    found = reader.read(table, snapshot)
    with engine(found=found) as connection:
        return connection.execute('SELECT * FROM found ORDER BY ALL').fetchall()


def compact_path(name):
    name_space, table = name.split('.')
    return f'admin/namespaces/{name_space}/tables/{table}/compact'


def compact(rest, name):
    # Beside writers DuckDB tries a step ten times, and waits longer each time.
    answer = rest.post(compact_path(name), timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


def as_shown(rest, duck, catalog, name):
    """The rows of both access paths at each snapshot that the table shows."""
    name_space, table = name.split('.')
    metadata = rest.get(f'namespaces/{name_space}/tables/{table}').json()['metadata']
    both = (readers.Direct(duck), readers.PyIceberg(catalog))
    return {(reader.name, entry['snapshot-id']): rows_at(reader, name, entry['snapshot-id'])
            for entry in metadata['snapshots'] for reader in both}


def data_file(duck, schema, name):
    return duck.execute("SELECT data_file FROM ducklake_list_files('lake', ?, schema => ?)", [name, schema]).fetchone()[0]


def fill(duck, table):
    duck.execute(f'CREATE TABLE lake.{table}(i INTEGER)')
    duck.execute(f'INSERT INTO lake.{table} SELECT * FROM range(1000)')


def expire_and_clean(duck):
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    return [row[0] for row in
            duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)").fetchall()]
