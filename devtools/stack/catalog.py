"""The Iceberg REST catalogs a stack can carry: lakeproxy, or the Java reference as its peer."""
import os
import subprocess

from stack import object_store, paths, postgres, process

WAREHOUSE = 'lake'


class Lakeproxy:
    name = 'lakeproxy'

    def __init__(self, folder, port, database, store, binary, settings=None, lake_format=None):
        self.folder = folder
        self.log = folder / 'lakeproxy.log'
        self.port = port
        self.database = database
        self.store = store
        self.binary = binary
        self.settings = settings or {}
        self.lake_format = lake_format  # that the lake is created in, or None: the server's own choice

    def start(self):
        self.create_lake()
        server = process.start([self.binary, 'serve'], self.log, self.environment(), self.folder)
        process.wait_ready(self.name, server, self.log, self.ready, 60)
        return server

    def create_lake(self):
        there = self.database.query(postgres.DATABASE, "SELECT to_regclass('ducklake_metadata')").strip()
        if self.lake_format and not there:
            process.run([self.binary, 'lake', 'create', '--format', self.lake_format], self.log, self.environment(), self.folder)

    def make_administrator(self):
        """id:secret of a client that may do everything; its settings lie where the server starts."""
        for left in ('clients.json', '.env'):
            (self.folder / left).unlink(missing_ok=True)
        shown = subprocess.run([self.binary, 'init', '--folder', str(self.folder)], text=True, check=True,
                               stdout=subprocess.PIPE, cwd=self.folder).stdout
        return next(line for line in shown.splitlines() if line.startswith('admin:'))

    def stop(self, server, kill=False):
        server.stop(*([process.signal.SIGKILL] if kill else []))

    def ready(self):
        return object_store.answers(f'{self.uri()}/readyz')

    def uri(self):
        return f'http://127.0.0.1:{self.port}'

    def environment(self):
        """Settings of another lakeproxy in the caller's environment must not leak in."""
        own = {name: value for name, value in os.environ.items() if not name.startswith('LAKEPROXY_')}
        own.update({
            'LAKEPROXY_HOST': '127.0.0.1',
            'LAKEPROXY_PORT': str(self.port),
            'LAKEPROXY_CATALOG': WAREHOUSE,
            'LAKEPROXY_PG_HOST': str(self.database.socket_folder),
            'LAKEPROXY_PG_PORT': str(self.database.port),
            'LAKEPROXY_PG_USER': postgres.USER,
            'LAKEPROXY_PG_PASSWORD': self.database.password,
            'LAKEPROXY_PG_DATABASE': postgres.DATABASE,
            'LAKEPROXY_S3_ENDPOINT': self.store.endpoint(),
            'LAKEPROXY_S3_REGION': object_store.REGION,
            'LAKEPROXY_S3_BUCKET': object_store.BUCKET,
            'LAKEPROXY_S3_PREFIX': 'data/',
            # Where files lie that tests and demos add to tables.
            'LAKEPROXY_FILE_PREFIXES': f's3://{object_store.BUCKET}/data/beside/',
            'LAKEPROXY_S3_ROOT_KEY': self.store.access_key,
            'LAKEPROXY_S3_ROOT_SECRET': self.store.secret_key,
            'LAKEPROXY_ENGINE_EXTENSIONS': str(paths.ENGINE / 'extensions'),
            **self.settings,
        })
        return own


class Reference:
    name = 'reference catalog'

    def __init__(self, folder, port, database, store):
        self.log = folder / 'reference.log'
        self.port = port
        self.database = database
        self.store = store

    def start(self):
        properties = {
            'uri': f'jdbc:postgresql://127.0.0.1:{self.database.port}/{postgres.DATABASE}',
            'jdbc.user': postgres.USER,
            'jdbc.password': self.database.password,
            'warehouse': f's3://{object_store.BUCKET}/reference',
            'io-impl': 'org.apache.iceberg.aws.s3.S3FileIO',
            's3.endpoint': self.store.endpoint(),
            's3.path-style-access': 'true',
            's3.access-key-id': self.store.access_key,
            's3.secret-access-key': self.store.secret_key,
            'client.region': object_store.REGION,
        }
        command = [paths.ROOT / 'bench/reference_server/run.sh', str(self.port)]
        command += [f'{key}={value}' for key, value in properties.items()]
        server = process.start(command, self.log)
        process.wait_ready(self.name, server, self.log, self.ready, 120)
        return server

    def stop(self, server, kill=False):
        server.stop(*([process.signal.SIGKILL] if kill else []))

    def ready(self):
        return object_store.answers(f'{self.uri()}/v1/config')

    def uri(self):
        return f'http://127.0.0.1:{self.port}'
