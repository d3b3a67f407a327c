"""One history's lake: two servers, DuckDB on the lake, and the model of what they should say."""
import random

import urllib3
from lake_clients import duck
from minio import Minio
from oracle.steps import Difference, Skip
from policy_oracle.clients import OWNER, PRINCIPALS, client_of
from policy_oracle.rules import Rules
from stack import postgres

# What an administrator wrote in an earlier history, and what was said of its tables.
FORGET = ';'.join(f'DELETE FROM lakeproxy_{name}' for name in (
    'object_tag', 'policy_attachment', 'masking_policy', 'row_access_policy', 'tag', 'role', 'role_grant', 'object_grant'))


LONG = 400  # Characters of a statement that are told.


class World:
    def __init__(self, lake, stack, servers):
        self.lake, self.stack = lake, stack
        self.duck = duck.connect_lake(lake)
        *others, gateway = servers
        self.clients = {name: [client_of(server, name) for server in others] for name in PRINCIPALS}
        self.at_gateway = {name: client_of(gateway, name) for name in PRINCIPALS}
        self.catalogs = {}
        self.bucket = lake.s3_bucket
        self.wires = urllib3.PoolManager(maxsize=4)
        self.store = self.opened_with(lake.s3_access_key, lake.s3_secret_key)
        self.schema = None
        self.rules = Rules()
        self.log = []
        self.made = 0
        self.touched = []
        self.known_rows, self.sessions = {}, {}
        self.kept_keys = []  # of the gateway: (table, who, Keys, an object of the table's own)
        self.unseen = []  # (table, who was told that a change was made and cannot be shown)
        self.turn = random.Random(0)

    def opened_with(self, key, secret, token=None, endpoint=None):
        host = (endpoint or self.lake.s3_endpoint).removeprefix('http://')
        return Minio(host, access_key=key, secret_key=secret, session_token=token, secure=False, region=self.lake.s3_region,
                     http_client=self.wires)

    def begin(self, schema):
        self.forget_sessions()
        self.schema = schema
        self.rules = Rules()
        self.log, self.made, self.touched, self.unseen, self.kept_keys = [], 0, [], [], []
        self.stack.postgres.query(postgres.DATABASE, FORGET)
        for name in self.schemas:
            self.duck.execute(f'DROP SCHEMA IF EXISTS lake.{name} CASCADE')
            self.duck.execute(f'CREATE SCHEMA lake.{name}')

    def end(self):
        """Leaves nothing behind: old snapshots make each later statement slower."""
        self.forget_sessions()
        self.stack.postgres.query(postgres.DATABASE, FORGET)
        for name in self.schemas:
            self.duck.execute(f'DROP SCHEMA IF EXISTS lake.{name} CASCADE')
        self.duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        self.duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")

    @property
    def schemas(self):
        return (self.schema, f'{self.schema}_other')

    # Who and what

    def client(self, name):
        """On one of the servers."""
        return self.turn.choice(self.clients[name])

    @property
    def admin(self):
        return self.client('admin')

    @property
    def owner(self):
        return self.client(OWNER)

    def catalog(self, name):
        """PyIceberg's, of one principal."""
        client = self.client(name)
        if client not in self.catalogs:
            self.catalogs[client] = client.pyiceberg()
        return self.catalogs[client]

    def roles(self, principal):
        return self.rules.roles_of(principal, PRINCIPALS[principal])

    def plan(self, table, principal):
        return self.rules.plan(table, self.roles(principal))

    def pick(self, source):
        if not self.rules.live:
            raise Skip('no table is there')
        return source.choice(self.rules.live)

    def changes(self, table):
        self.touched.append(table)

    # What is done and said

    def note(self, text):
        self.log.append(text)

    def direct(self, sql):
        self.note(f'DuckDB: {sql if len(sql) < LONG else sql[:LONG] + " ..."}')
        return self.duck.execute(sql)

    def rows(self, sql):
        """Asked once between two steps."""
        if sql not in self.known_rows:
            self.known_rows[sql] = self.duck.execute(sql).fetchall()
        return self.known_rows[sql]

    def rows_in(self, schema, sql):
        """Of a statement that names tables without their schema, or with it."""
        if schema not in self.sessions:
            self.sessions[schema] = self.duck.cursor()
            self.sessions[schema].execute(f'USE lake.{schema}')
        return self.sessions[schema].execute(sql).fetchall()

    def forget_sessions(self):
        for session in self.sessions.values():
            session.close()
        self.sessions = {}

    def govern(self, method, path, body=None, by='admin'):
        """The answer's status."""
        answer = self.client(by).send(method, f'governance/{path}', json=body)
        self.note(f'{by}: {method} governance/{path} {body or ""} -> {answer.status_code}')
        self.answer = answer
        return answer.status_code

    def demand(self, status, *expected):
        """One of these, of the last request."""
        if status not in expected:
            raise Difference(f'status of {self.answer.request.method} {self.answer.request.path_url.split("?")[0].split("/")[-1]}',
                             f'the model says {" or ".join(map(str, expected))}, the catalog {status}: {self.answer.text[:600]}')


def path_of(table):
    return f'namespaces/{table.schema}/tables/{table.name}'
