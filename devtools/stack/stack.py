"""One lake's servers under one name, and what is written down about them."""
import json
import secrets
import shutil

from stack import catalog, object_store, paths, ports, postgres
from stack.process import Process, StackError

DEFAULT_BINARY = paths.ROOT / 'build/dev/lakeproxy'

# Of the stack that a person brings up without a name, as the documents say them.
STANDARD_PORTS = {'pg_port': 55432, 's3_port': 9000, 'port': 8181}


class Stack:
    """Servers start in the order of `parts()` and stop in the opposite one.

    state.json holds ports, keys and the processes that run, and is written
    after each start, so that `down` finds even what a failed `up` left.
    """

    def __init__(self, name, state):
        self.name = name
        self.state = state
        self.folder = paths.stack_folder(name)
        self.postgres = postgres.Postgres(self.folder, paths.short_folder(name), state['pg_port'],
                                          state.get('pg_password', ''))  # none: a cluster made before there was one
        self.store = object_store.ObjectStore(self.folder, state['s3_port'], state['s3_key'],
                                              state['s3_secret'])
        self.catalog = self.make_catalog()

    def make_catalog(self):
        if self.state['kind'] == 'reference':
            return catalog.Reference(self.folder, self.state['port'], self.postgres, self.store)
        return catalog.Lakeproxy(self.folder, self.state['port'], self.postgres, self.store,
                                 self.state['binary'], lake_format=self.state.get('lake_format'))

    @staticmethod
    def exists(name):
        return (paths.stack_folder(name) / 'state.json').exists()

    @staticmethod
    def load(name):
        if not Stack.exists(name):
            raise StackError(f'no stack named {name}; ./dev up --name {name} makes it')
        return Stack(name, json.loads((paths.stack_folder(name) / 'state.json').read_text()))

    @staticmethod
    def make(name, pg_port=0, s3_port=0, port=0, kind='lakeproxy', binary=DEFAULT_BINARY, lake_format=None):
        """The stack `name`, known already or new, with ports that can be listened on."""
        known = Stack.load(name) if Stack.exists(name) else None
        if known and any(known.running(part) for part in known.parts()):
            return known
        state = known.state if known else {
            's3_key': secrets.token_hex(8), 's3_secret': secrets.token_hex(16), 'pg_password': secrets.token_hex(16)}
        # Tests stop and start their servers: a port that all wish for would be another's meanwhile.
        standard = STANDARD_PORTS if name == paths.DEFAULT_STACK else {}

        def wish(kind_of_port):
            return state.get(kind_of_port, standard.get(kind_of_port))

        state.update(kind=kind, binary=str(binary), lake_format=lake_format, processes={},
                     pg_port=ports.choose(pg_port, wish('pg_port'), 'PostgreSQL'),
                     s3_port=ports.choose(s3_port, wish('s3_port'), 'the S3 store'),
                     port=ports.choose(port, wish('port'), 'the catalog'))
        return Stack(name, state)

    def parts(self):
        return [self.postgres, self.store, self.catalog]

    def process_of(self, part):
        entry = self.state['processes'].get(part.name)
        return Process(*entry) if entry else None

    def running(self, part):
        process = self.process_of(part)
        return process is not None and process.alive()

    def make_administrator(self):
        """As on a fresh install; the stack keeps what is shown once."""
        if 'credential' in self.state or self.running(self.catalog):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state['credential'] = self.catalog.make_administrator()
        self.save()

    def start(self, part):
        if self.running(part):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        process = part.start()
        self.state['processes'][part.name] = [process.pid, process.start_ticks]
        self.save()

    def stop(self, part, kill=False):
        process = self.process_of(part)
        if process is not None:
            part.stop(process, kill)
            del self.state['processes'][part.name]
            self.save()

    def save(self):
        file = self.folder / 'state.json'
        file.touch(mode=0o600)
        file.write_text(json.dumps(self.state, indent=1))

    def wipe(self):
        """Forgets the lake: data, logs, keys and ports."""
        self.postgres.wipe()
        self.store.wipe()
        shutil.rmtree(self.folder, ignore_errors=True)

    def variables(self):
        """What a program needs to find the lake; the contents of the env file."""
        return {
            'LAKE_URI': self.catalog.uri(),
            'LAKE_WAREHOUSE': catalog.WAREHOUSE,
            'LAKE_PG_DSN': self.postgres.dsn(),
            'S3_ENDPOINT': self.store.endpoint(),
            'S3_REGION': object_store.REGION,
            'S3_BUCKET': object_store.BUCKET,
            'S3_ACCESS_KEY': self.store.access_key,
            'S3_SECRET_KEY': self.store.secret_key,
            **({'LAKE_TOKEN_URI': f'{self.catalog.uri()}/v1/oauth/tokens', 'LAKE_CREDENTIAL': self.state['credential']}
               if 'credential' in self.state else {}),
        }

    def write_env(self):
        file = paths.env_file(self.name)
        file.touch(mode=0o600)
        file.write_text(''.join(f"export {name}='{value}'\n" for name, value in self.variables().items()))
        return file
