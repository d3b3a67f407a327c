"""A private PostgreSQL cluster, with a password for every login. PostgreSQL refuses to run as root, so root lends it a user."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess

from stack import process
from stack.process import StackError

BINARIES = pathlib.Path('/usr/lib/postgresql/15/bin')
USER = 'lake'
DATABASE = 'lake'


class Postgres:
    """Data in `folder`, a Unix socket in `socket_folder`, TCP on loopback."""

    name = 'PostgreSQL'

    def __init__(self, folder, socket_folder, port, password):
        self.folder = reachable_folder(folder, socket_folder)
        self.socket_folder = socket_folder
        self.port = port
        self.password = password
        self.log = folder / 'postgres.log'
        self.data = self.folder / 'postgres'

    def start(self):
        own_folder(self.socket_folder)
        self.log.touch()
        if not (self.data / 'PG_VERSION').exists():
            self.make_cluster()
        options = [f'-p{self.port}', f'-k{self.socket_folder}', '-c', 'listen_addresses=127.0.0.1',
                   '-c', 'max_connections=200', '-c', 'unix_socket_permissions=0777']
        server = process.start(as_server_user([BINARIES / 'postgres', '-D', self.data, *options]),
                               self.log)
        process.wait_ready(self.name, server, self.log, self.ready, 30)
        self.make_database()
        return server

    def stop(self, server, kill=False):
        # SIGINT ends open sessions: a client that forgot to leave must not hold us up.
        server.stop(signal.SIGKILL if kill else signal.SIGINT)

    def make_cluster(self):
        own_folder(self.data)
        password_file = self.socket_folder / 'password'
        lend(password_file, self.password)
        try:
            process.run(as_server_user([BINARIES / 'initdb', '-D', self.data, '-U', USER, '--auth=scram-sha-256',
                                        f'--pwfile={password_file}', '--encoding=UTF8', '--locale=C',
                                        '--no-instructions']), self.log, cwd='/')
        finally:
            password_file.unlink()

    def make_database(self):
        found = self.query('postgres', f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'")
        if found.strip() != '1':
            self.query('postgres', f'CREATE DATABASE {DATABASE}')

    def ready(self):
        probe = [BINARIES / 'pg_isready', '-q', '-h', '127.0.0.1', '-p', str(self.port), '-U', USER,
                 '-d', 'postgres']
        return subprocess.run(probe, check=False).returncode == 0

    def query(self, database, sql):
        command = [BINARIES / 'psql', '-qtAX', '-v', 'ON_ERROR_STOP=1', '-d', database, '-c', sql]
        return subprocess.run(command, env=self.environment(), check=True, text=True, stdout=subprocess.PIPE).stdout

    def environment(self):
        """Whose login the tools of PostgreSQL take when they are told of no other."""
        return dict(os.environ, PGHOST='127.0.0.1', PGPORT=str(self.port), PGUSER=USER, PGPASSWORD=self.password,
                    PGDATABASE=DATABASE)

    def wipe(self):
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.rmtree(self.socket_folder, ignore_errors=True)

    def dsn(self):
        return f'host=127.0.0.1 port={self.port} user={USER} password={self.password} dbname={DATABASE}'


def server_user():
    """The user that PostgreSQL runs as when we are root; Debian's package makes it."""
    try:
        return pwd.getpwnam('postgres')
    except KeyError:
        return pwd.getpwnam('nobody')


def as_server_user(command):
    if os.getuid() != 0:
        return command
    user = server_user()
    return ['setpriv', f'--reuid={user.pw_uid}', f'--regid={user.pw_gid}', '--clear-groups', *command]


def own_folder(path):
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.getuid() == 0:
        user = server_user()
        os.chown(path, user.pw_uid, user.pw_gid)
    elif path.stat().st_uid != os.getuid():
        raise StackError(f'{path} belongs to another user')


def lend(path, text):
    """A file that the server's user and nobody else can read."""
    path.touch(mode=0o600)
    path.write_text(text)
    if os.getuid() == 0:
        os.chown(path, server_user().pw_uid, server_user().pw_gid)


def reachable_folder(folder, fallback):
    """`folder`, unless its parents are closed to the user that PostgreSQL runs as."""
    if os.getuid() != 0:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    probe = subprocess.run(as_server_user(['test', '-x', str(folder)]), check=False)
    return folder if probe.returncode == 0 else fallback
