"""A lake whose server makes logins for DuckDB: its owner is no superuser of PostgreSQL, but may make roles, as in production."""
import contextlib
import dataclasses
import datetime
import json
import pathlib
import re
import secrets
import subprocess

import requests
from minio import Minio

from lake_clients import duck as duckdb_client
from stack.postgres import BINARIES
from store_keys import StoreKeys

OPERATIONS = pathlib.Path(__file__).resolve().parents[2] / 'docs/operations.md'
HUSH = 'hush'  # in each name and value that the principal of these tests must not see
HOSTILE = ['"; DROP ROLE keeper; --', "it's", 'back\\slash', '{}[]();,' * 9, 'x' * 200, '%s $1 $$', 'lakeproxy_reader']
CLIENTS = [{'id': 'admin', 'secret': 's', 'scope': '*'}, {'id': 'bob', 'secret': 's', 'scope': 'ns:sales:r', 'roles': ['analyst']},
           {'id': 'wide', 'secret': 's', 'scope': 'ns:*:r'}, {'id': 'writer', 'secret': 's', 'scope': 'ns:sales:w'},
           *({'id': name, 'secret': 's', 'scope': 'ns:sales:r'} for name in HOSTILE)]


class Kept:
    """A lake in a database of its own, whose owner is an ordinary role that may make roles."""

    def __init__(self, stack, lake, folder):
        self.stack = stack
        name = 'kept_' + secrets.token_hex(4)
        self.owner = self.database = name
        self.group = name + '_reader'
        self.password = secrets.token_hex(16)
        stack.postgres.query('postgres', f"CREATE ROLE {name} LOGIN CREATEROLE PASSWORD '{self.password}'")
        stack.postgres.query('postgres', f'CREATE DATABASE {name} OWNER {name}')
        said = re.search(r'## Logins of direct readers.*?```sql\n(.*?)```', OPERATIONS.read_text(), re.DOTALL)[1]
        stack.postgres.query(name, said.replace('DATABASE lake', f'DATABASE {name}').replace('TO lake', f'TO {name}'))
        clients = folder / 'clients.json'
        clients.touch(mode=0o600)
        clients.write_text(json.dumps(CLIENTS))
        self.settings = {'LAKEPROXY_PG_HOST': '127.0.0.1', 'LAKEPROXY_PG_USER': name, 'LAKEPROXY_PG_PASSWORD': self.password,
                         'LAKEPROXY_PG_DATABASE': name, 'LAKEPROXY_S3_PREFIX': f'{name}/', 'LAKEPROXY_FILE_PREFIXES': '',
                         'LAKEPROXY_OAUTH_CLIENTS_FILE': str(clients), 'LAKEPROXY_OAUTH_JWT_SECRET': secrets.token_hex(32),
                         'LAKEPROXY_READER_GROUP_ROLE': self.group}
        self.lake = dataclasses.replace(lake, pg_dsn=self.dsn(name, self.password), prefix=f'{name}/')
        self.server = None

    def dsn(self, role, password):
        return f'host=127.0.0.1 port={self.stack.postgres.port} dbname={self.database} user={role} password={password}'

    def ask(self, sql):
        """As the superuser, who sees all."""
        return self.stack.postgres.query(self.database, sql).strip()

    def token(self, client, server=None, **fields):
        body = {'grant_type': 'client_credentials', 'client_id': client, 'client_secret': 's', **fields}
        answer = requests.post(f'{(server or self.server).uri()}/v1/oauth/tokens', data=body, timeout=30)
        assert answer.status_code == 200, answer.text
        return {'Authorization': f'Bearer {answer.json()["access_token"]}'}

    def get(self, client, name_space='sales', server=None, warehouse='lake', scope=None, **query):
        fields = {'scope': scope} if scope else {}
        url = f'{(server or self.server).uri()}/v1/{warehouse}/namespaces/{name_space}/ducklake-credentials'
        return requests.get(url, headers=self.token(client, server, **fields), params=query, timeout=60)

    def vend(self, client='bob', **more):
        answer = self.get(client, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()


def fill(kept):
    """The same in two schemas, of which bob reads one: files, inlined rows and deletes, partitions, a comment, a view, a macro."""
    duck = duckdb_client.connect_lake(kept.lake)
    for schema, word in (('sales', 'open'), ('hidden', HUSH)):
        duck.execute(f'CREATE SCHEMA lake.{schema}')
        duck.execute(f'CREATE TABLE lake.{schema}.{word}_t({word}_i INTEGER, s VARCHAR)')
        table = f'lake.{schema}.{word}_t'
        duck.execute(f"INSERT INTO {table} SELECT i, '{word}' || i FROM range(1000) r(i)")
        duck.execute(f"INSERT INTO {table} VALUES (5000, '{word} inlined'), (5001, '{word} inlined too')")
        duck.execute(f'DELETE FROM {table} WHERE {word}_i = 7')
        duck.execute(f'CREATE TABLE lake.{schema}.{word}_p(d DATE, {word}_n INTEGER)')
        duck.execute(f'ALTER TABLE lake.{schema}.{word}_p SET PARTITIONED BY (year(d))')
        duck.execute(f"INSERT INTO lake.{schema}.{word}_p SELECT DATE '2020-01-01' + INTERVAL (i) DAY, i FROM range(1000) r(i)")
        duck.execute(f'ALTER TABLE lake.{schema}.{word}_p SET SORTED BY ({word}_n)')
        duck.execute(f"COMMENT ON TABLE {table} IS '{word} words'")
        duck.execute(f"COMMENT ON COLUMN {table}.s IS '{word} words'")
        duck.execute(f'CREATE VIEW lake.{schema}.{word}_v AS SELECT {word}_i FROM {table}')
        duck.execute(f"CREATE MACRO lake.{schema}.{word}_m(x) AS x || '{word}'")
    duck.close()


class Keys(StoreKeys):
    """Those that came with a login."""

    def __init__(self, kept, keys):
        super().__init__(kept.lake.s3_bucket, Minio(
            f'127.0.0.1:{kept.stack.store.port}', access_key=keys['access-key-id'], region=keys['region'],
            secret_key=keys['secret-access-key'], session_token=keys['session-token'], secure=False))


def objects(kept, table):
    """Names of a table's data files, `table` with its schema."""
    prefix = kept.lake.prefix + table.replace('.', '/') + '/'
    found = [item.object_name for item in kept.stack.store.client().list_objects(kept.lake.s3_bucket, prefix=prefix, recursive=True)]
    assert found, prefix
    return found


def rows(connection, sql):
    return connection.execute(sql).fetchall()


def psql(answer, *statements):
    """All in one session, one result after the other."""
    words = [word for sql in statements for word in ('-c', sql)]
    return subprocess.run([BINARIES / 'psql', '-w', '-qtAX', '-v', 'ON_ERROR_STOP=1', answer['ducklake_dsn'], *words], text=True,
                          capture_output=True, check=False, timeout=60)


def told(answer, *statements):
    done = psql(answer, *statements)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def refused(answer, *statements, says='permission denied'):
    done = psql(answer, *statements)
    assert done.returncode != 0 and says in done.stderr, (done.stdout, done.stderr)


@contextlib.contextmanager
def granted(kept, kind, object_id, role='analyst'):
    where = f"('{kind}', ({object_id}), 'select', '{role}')"
    kept.ask(f'INSERT INTO lakeproxy_object_grant (object_kind, object_id, privilege, role) VALUES {where}')
    try:
        yield
    finally:
        kept.ask('DELETE FROM lakeproxy_object_grant')


def table_id(name):
    return f"SELECT table_id FROM ducklake_table WHERE table_name = '{name}' AND end_snapshot IS NULL"


def session(answer):
    """One that stays open."""
    return subprocess.Popen([BINARIES / 'psql', '-w', '-qtAX', answer['ducklake_dsn']], text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def say(one, sql):
    one.stdin.write(sql + ';\n')
    one.stdin.flush()
    return one.stdout.readline().strip()


def ends_of(kept, answer):
    """When the login ends: as it is told, and as PostgreSQL and the rules of rows have it."""
    told_end = datetime.datetime.fromisoformat(answer['pg_valid_until'].replace('Z', '+00:00')).timestamp()
    kept_ends = kept.ask(f"""SELECT extract(epoch FROM a.rolvaliduntil)::bigint, extract(epoch FROM r.valid_until)::bigint
        FROM pg_roles a JOIN lakeproxy_reader r ON r.role_name = a.rolname WHERE a.rolname = '{answer['pg_role']}'""")
    assert kept_ends == f'{int(told_end)}|{int(told_end)}'
    return told_end
