"""Lakes that are migrated to DuckLake 1.1 in the middle of a history. Each history has a lake of its own: a catalog beside the
server's own one, of 1.0 until the migration, which is done by SQL under the server.

DuckDB 1.5.5 attaches no lake of 1.1. What it reads then is a copy that SQL turns back to 1.0, made anew after each change; and
where it writes, the lake itself is turned back, and migrated again behind it.
"""
import contextlib
import dataclasses
import uuid

import duckdb
import requests
from minio import Minio
from minio.deleteobjects import DeleteObject

import format_1_1
from oracle import world
from oracle.steps import MIGRATE, Skip, operation, steps_with_migration
from oracle.world import World

# What a lake of 1.0 cannot hold.
ONLY_IN_1_1 = """SELECT count(*) FROM (
  SELECT partition_id AS id FROM ducklake_partition_column WHERE transform LIKE 'epoch%'
  UNION ALL SELECT schema_id FROM ducklake_schema WHERE parent_schema_id IS NOT NULL) t"""


class MigratedWorld(World):
    steps_of = staticmethod(steps_with_migration)

    def __init__(self, lake):
        self.home = lake
        self.migrated = False
        self.copied = None  # the state that the copy is of
        self.postgres = None
        super().__init__(lake)

    def open(self, lake):
        if lake is not self.home:
            super().open(lake)
            return
        self.lake, self.direct = lake, duckdb.connect()  # between two histories

    def begin(self, schema):
        self.leave()
        self.open(registered(self.home, f'{schema}_{uuid.uuid4().hex[:8]}'))
        self.postgres = format_1_1.Tables(self.lake)
        super().begin(schema)

    def end(self):
        self.leave()

    def leave(self):
        """Takes the history's lake away; there is no call for that."""
        self.direct.close()
        if self.lake is not self.home:
            self.drop()
        self.migrated, self.copied = False, None
        self.open(self.home)

    def drop(self):
        self.postgres.run(f'SET LOCAL search_path = public; DROP SCHEMA IF EXISTS {format_1_1.CLONE} CASCADE; '
                          f"DROP SCHEMA {self.lake.pg_schema} CASCADE; DELETE FROM lakeproxy_catalog WHERE catalog_id = '{self.lake.warehouse}'")
        self.postgres.close()
        store = Minio(self.lake.s3_endpoint.removeprefix('http://'), self.lake.s3_access_key, self.lake.s3_secret_key,
                      region=self.lake.s3_region, secure=False)
        found = store.list_objects(self.lake.s3_bucket, self.lake.prefix, recursive=True)
        list(store.remove_objects(self.lake.s3_bucket, [DeleteObject(each.object_name) for each in found]))

    def ask(self, sql):
        return self.postgres.ask(sql)

    def connect(self):
        schema = format_1_1.CLONE if self.migrated else self.lake.pg_schema
        return world.connect(dataclasses.replace(self.lake, pg_schema=schema))

    @property
    def duck(self):
        if self.migrated and self.copied != (now := self.ask(format_1_1.STATE)):
            self.direct.close()
            self.postgres.run(format_1_1.copied_down(self.lake.pg_schema))
            self.direct = self.connect()
            self.copied = now
        return self.direct

    def migrate(self):
        self.direct.close()
        self.postgres.run(format_1_1.UPGRADE)
        self.migrated, self.copied = True, None

    def ready_for(self, step):
        if not self.migrated:
            return super().ready_for(step)
        self.copied = None  # What DuckDB expires makes no snapshot.
        return self.turned_back() if step.name.startswith('duck.') else contextlib.nullcontext()

    @contextlib.contextmanager
    def turned_back(self):
        if self.ask(ONLY_IN_1_1) != [(0,)]:
            raise Skip('DuckDB 1.5.5 writes to no lake that has what only 1.1 knows')
        self.direct.close()
        self.postgres.run(format_1_1.DOWNGRADE)
        self.migrated = False
        self.direct = self.connect()
        try:
            yield
        finally:
            self.migrate()


def registered(home, name):
    """A catalog beside the server's own: a lake in a schema and under a prefix of its own."""
    body = {'catalog_id': name, 'metadata_schema': name, 'data_prefix': f'oracle/{name}/'}
    requests.post(f'{home.uri}/v1/catalogs', json=body, timeout=60).raise_for_status()
    return dataclasses.replace(home, warehouse=name, pg_schema=name, prefix=body['data_prefix'],
                               pg_dsn=f'{home.pg_dsn} options=-csearch_path={name}')


@operation(MIGRATE, 0)
def migrate(world, random):
    """As DuckDB 2.0 does at its first attach, under the server."""
    del random
    if world.migrated:
        raise Skip('the lake is migrated')
    world.note('-- the lake becomes one of DuckLake 1.1')
    world.migrate()
