"""Lakes of DuckLake 1.1 without a DuckDB that writes them: migrated by hand, filled by hand, and turned back in a clone that
DuckDB 1.5.5 reads. With LAKE_DUCKDB=2.0 the tests would migrate, write and read with DuckDB itself; that waits for a release of
its extension ducklake."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import zlib

import duckdb
import pytest

from lake_clients import duck as duckdb_client
from oracle import roaring

ROOT = pathlib.Path(__file__).resolve().parents[2]
UPGRADE = (ROOT / 'db/upgrade/1_0_to_1_1.sql').read_text()
CLONE = 'lake_clone'

# What 1.1 has more, taken away; nested schemas become schemas of names with dots.
DOWNGRADE = """
DO $$ DECLARE t regclass; c text; BEGIN
  FOR t IN SELECT quote_ident(table_name)::regclass FROM ducklake_inlined_data_tables LOOP
    FOREACH c IN ARRAY ARRAY['row_id', 'begin_snapshot', 'end_snapshot'] LOOP
      EXECUTE format('ALTER TABLE %s RENAME COLUMN %I TO %I', t, '_ducklake_' || c, c);
    END LOOP;
  END LOOP;
END $$;
WITH RECURSIVE named (schema_id, name) AS (
  SELECT schema_id, schema_name::text FROM ducklake_schema WHERE parent_schema_id IS NULL
  UNION ALL SELECT s.schema_id, n.name || '.' || s.schema_name FROM ducklake_schema s JOIN named n ON n.schema_id = s.parent_schema_id)
UPDATE ducklake_schema s SET schema_name = n.name FROM named n WHERE n.schema_id = s.schema_id;
ALTER TABLE ducklake_schema DROP parent_schema_id;
DO $$ BEGIN
  FOR level IN 1..9 LOOP
    UPDATE ducklake_snapshot_changes SET changes_made = regexp_replace(changes_made, '(created_schema:"[^"]*)"\\."', '\\1.', 'g')
     WHERE changes_made ~ 'created_schema:"[^"]*"\\."';
    UPDATE ducklake_snapshot_changes
       SET changes_made = regexp_replace(changes_made, '(created_(table|view):"[^"]*)"\\."([^"]*"\\.")', '\\1.\\3', 'g')
     WHERE changes_made ~ 'created_(table|view):"[^"]*"\\."[^"]*"\\."';
  END LOOP;
END $$;
ALTER TABLE ducklake_data_file DROP row_group_count;
ALTER TABLE ducklake_delete_file DROP row_group_count;
ALTER TABLE ducklake_file_column_stats DROP min_is_exact, DROP max_is_exact;
ALTER TABLE ducklake_table_column_stats DROP min_is_exact, DROP max_is_exact;
DROP TABLE ducklake_view_column_tag;
-- 1.0 knows no transform that counts from 1970: such a table is one without partitions there.
CREATE TEMP TABLE counted ON COMMIT DROP AS SELECT DISTINCT partition_id FROM ducklake_partition_column WHERE transform LIKE 'epoch%';
DELETE FROM ducklake_file_partition_value v USING ducklake_data_file f
 WHERE f.data_file_id = v.data_file_id AND f.partition_id IN (SELECT partition_id FROM counted);
UPDATE ducklake_data_file SET partition_id = NULL WHERE partition_id IN (SELECT partition_id FROM counted);
DELETE FROM ducklake_partition_column WHERE partition_id IN (SELECT partition_id FROM counted);
DELETE FROM ducklake_partition_info WHERE partition_id IN (SELECT partition_id FROM counted);
UPDATE ducklake_metadata SET value = '1.0' WHERE key = 'version';
"""


UNLIKE = pathlib.Path(__file__).with_name('unlike_1_1.txt')


def unlike():
    """{test: why it fails on a lake of 1.1}"""
    lines = [line for line in UNLIKE.read_text().splitlines() if line and not line.startswith('#')]
    return dict(line.split(' ', 1) for line in lines)


def needs_duckdb_2():
    if os.environ.get('LAKE_DUCKDB') == '2.0':
        pytest.skip('LAKE_DUCKDB=2.0 waits for the extensions ducklake and postgres_scanner of DuckDB 2.0')


def migrate(own):
    """As DuckDB 2.0 does at its first attach, under the server."""
    needs_duckdb_2()
    own.ask(f'BEGIN; {UPGRADE}; COMMIT')


def command(own, *arguments):
    """`lakeproxy lake ...` on the stack's database."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([own.stack.state['binary'], 'lake', *arguments], text=True, cwd=folder, timeout=60,
                              env=own.stack.catalog.environment(), capture_output=True, check=False)


def copied_down(schema, clone=CLONE):
    """SQL that makes the schema `clone` anew: the lake in PostgreSQL's schema `schema`, as one of 1.0."""
    return f"""DROP SCHEMA IF EXISTS {clone} CASCADE;
CREATE SCHEMA {clone};
DO $$ DECLARE t text; BEGIN
  FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' AND tablename LIKE 'ducklake\\_%' LOOP
    EXECUTE format('CREATE TABLE {clone}.%I (LIKE {schema}.%I INCLUDING ALL)', t, t);
    EXECUTE format('INSERT INTO {clone}.%I TABLE {schema}.%I', t, t);
  END LOOP;
END $$;
SET LOCAL search_path = {clone};
{DOWNGRADE}"""


class Tables:
    """The lake's own tables in PostgreSQL, by SQL."""

    def __init__(self, lake):
        path = '' if 'search_path' in lake.pg_dsn else f' options=-csearch_path={lake.pg_schema}'
        self.connection = duckdb_client.connect(('postgres_scanner',), f"ATTACH '{lake.pg_dsn}{path}' AS pg (TYPE postgres)")

    def ask(self, sql):
        return self.connection.execute(f"FROM postgres_query('pg', {quoted(sql)})").fetchall()

    def run(self, sql):
        """In one transaction. A server that reads takes locks in an order of its own: one of both is ended then, and tries again."""
        for attempt in range(TRIES):
            try:
                self.connection.execute(f"CALL postgres_execute('pg', {quoted(sql)})")
                return
            except duckdb.Error as fault:
                if 'deadlock detected' not in str(fault) or attempt == TRIES - 1:
                    raise

    def close(self):
        self.connection.close()


TRIES = 5
# A change of a lake moves one of them.
STATE = 'SELECT max(snapshot_id), count(*) FROM ducklake_snapshot'


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


# What 1.0 cannot hold is laid aside, and put back where it was.
LAY_ASIDE = """
CREATE TABLE aside_key AS SELECT * FROM ducklake_partition_column
 WHERE partition_id IN (SELECT partition_id FROM ducklake_partition_column WHERE transform LIKE 'epoch%');
CREATE TABLE aside_spec AS SELECT * FROM ducklake_partition_info WHERE partition_id IN (SELECT partition_id FROM aside_key);
CREATE TABLE aside_file AS SELECT data_file_id, partition_id FROM ducklake_data_file
 WHERE partition_id IN (SELECT partition_id FROM aside_key);
CREATE TABLE aside_value AS SELECT * FROM ducklake_file_partition_value WHERE data_file_id IN (SELECT data_file_id FROM aside_file);
CREATE TABLE aside_log AS SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes WHERE changes_made ~ 'created_[a-z]+:"[^"]*"\\.';
CREATE TABLE aside_schema AS SELECT schema_id, begin_snapshot, schema_name, parent_schema_id FROM ducklake_schema
 WHERE parent_schema_id IS NOT NULL;
"""
PUT_BACK = """
INSERT INTO ducklake_partition_column TABLE aside_key;
INSERT INTO ducklake_partition_info TABLE aside_spec;
INSERT INTO ducklake_file_partition_value TABLE aside_value;
UPDATE ducklake_data_file f SET partition_id = a.partition_id FROM aside_file a WHERE a.data_file_id = f.data_file_id;
UPDATE ducklake_schema s SET schema_name = a.schema_name, parent_schema_id = a.parent_schema_id FROM aside_schema a
 WHERE (a.schema_id, a.begin_snapshot) = (s.schema_id, s.begin_snapshot);
UPDATE ducklake_snapshot_changes c SET changes_made = a.changes_made FROM aside_log a WHERE a.snapshot_id = c.snapshot_id;
DROP TABLE aside_log, aside_key, aside_spec, aside_file, aside_value, aside_schema;
"""
READS = re.compile(r'\s*(FROM|SELECT|DESCRIBE|WITH|SHOW|SUMMARIZE|EXPLAIN|COPY)\b', re.IGNORECASE)
STAYS = re.compile(r'\s*(SET|LOAD|ATTACH|PRAGMA|CREATE (OR REPLACE )?(TEMP|SCHEMA memory))\b', re.IGNORECASE)


class OldDuck:
    """DuckDB 1.5.5 on a lake of 1.1, as a connection to it. It reads a copy of the lake's tables that is turned back to 1.0. To
    write it turns the lake itself back, and migrates it again."""

    made = 0

    def __init__(self, lake):
        OldDuck.made += 1
        self.lake = lake
        self.clone = f'{CLONE}_{os.getpid()}_{OldDuck.made}'
        self.tables = Tables(lake)
        self.copied = None
        self.connection = duckdb_client.connect(duckdb_client.LAKE_EXTENSIONS, duckdb_client.secret(lake), "ATTACH ':memory:' AS lake")
        self.writes = False  # in a transaction

    def execute(self, sql, parameters=None):
        if STAYS.match(sql):
            return self.connection.execute(sql)
        if not self.writes and READS.match(sql):
            return self.reading().execute(sql, parameters)
        word = sql.split()[0].strip(';').upper()
        if not self.writes:
            self.turn_back()
        try:
            result = Fetched(self.connection.execute(sql, parameters))
        except duckdb.Error:
            if not self.writes:
                self.migrate()
            raise
        self.writes = word not in ('COMMIT', 'ROLLBACK') and (self.writes or word == 'BEGIN')
        if not self.writes:
            self.migrate()
        return result

    def reading(self):
        now = self.tables.ask(STATE)
        if self.copied != now:
            self.connection.execute('DETACH lake')
            self.tables.run(copied_down(self.lake.pg_schema, self.clone))
            self.attach(self.clone)
            self.copied = now
        return self.connection

    def attach(self, schema):
        self.connection.execute(duckdb_client.attach_lake(dataclasses.replace(self.lake, pg_schema=schema)))

    def turn_back(self):
        self.connection.execute('DETACH lake')
        self.tables.run(f'{LAY_ASIDE}; {DOWNGRADE}')
        self.attach(self.lake.pg_schema)

    def migrate(self):
        self.connection.execute('DETACH lake')
        self.connection.execute("ATTACH ':memory:' AS lake")
        self.tables.run(f'{UPGRADE}; {PUT_BACK}')
        self.copied = None

    def cursor(self):
        return OldDuck(self.lake)

    def close(self):
        if self.tables is None:
            return
        self.connection.close()
        self.tables.run(f'DROP SCHEMA IF EXISTS {self.clone} CASCADE')
        self.tables.close()
        self.tables = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Fetched:
    """The rows of a statement on a lake that is attached no more."""

    def __init__(self, result):
        self.description = result.description
        self.rows = result.fetchall() if result.description else []

    def fetchall(self):
        rows, self.rows = self.rows, []
        return rows

    def fetchone(self):
        return self.rows.pop(0) if self.rows else None


attach = duckdb_client.connect_lake


def connect(lake):
    """DuckDB on a lake of whatever version."""
    tables = Tables(lake)
    version = tables.ask("SELECT value FROM ducklake_metadata WHERE key = 'version'")
    tables.close()
    return OldDuck(lake) if version == [('1.1',)] else attach(lake)


@contextlib.contextmanager
def down_converted(own):
    """DuckDB 1.5.5 on a copy of the lake's tables in which it is one of 1.0."""
    own.ask(f'BEGIN; {copied_down(own.lake.pg_schema)}; COMMIT')
    duck = duckdb_client.connect_lake(dataclasses.replace(own.lake, pg_schema=CLONE))
    try:
        yield duck
    finally:
        duck.close()
        own.ask(f'DROP SCHEMA {CLONE} CASCADE')


def snapshot(own, changes, sql='', schema_changes=False):
    """A lake snapshot as DuckDB writes it, with rows by hand; {at} in `sql` is its id."""
    at = int(own.ask('SELECT max(snapshot_id) + 1 FROM ducklake_snapshot'))
    own.ask(f"""BEGIN;
      INSERT INTO ducklake_snapshot
        SELECT {at}, now(), schema_version + {int(schema_changes)}, greatest(next_catalog_id, 9900) + 100, next_file_id + 100
        FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1;
      INSERT INTO ducklake_snapshot_changes VALUES ({at}, '{changes}', NULL, NULL, NULL);
      {sql.format(at=at)}; COMMIT""")
    return at


def vector(positions):
    """The blob deletion-vector-v1: its length, magic and bitmap, their checksum."""
    body = b'\xd1\xd3\x39\x64' + roaring.write(positions)
    return struct.pack('>I', len(body)) + body + struct.pack('>I', zlib.crc32(body))


def puffin(by_snapshot, data_file):
    """A Puffin file of DuckLake 1.1: {snapshot: all positions deleted up to it}."""
    content, blobs = b'PFA1', []
    for at, positions in by_snapshot.items():
        blob = vector(positions)
        blobs.append({'type': 'deletion-vector-v1', 'fields': [2147483645], 'snapshot-id': -1, 'sequence-number': -1,
                      'offset': len(content), 'length': len(blob),
                      'properties': {'referenced-data-file': data_file, 'cardinality': str(len(positions)),
                                     'ducklake-snapshot-id': str(at)}})
        content += blob
    payload = json.dumps({'blobs': blobs, 'properties': {'created-by': 'ducklake'}}).encode()
    return content + b'PFA1' + payload + struct.pack('<II', len(payload), 0) + b'PFA1'
