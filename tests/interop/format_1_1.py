"""Lakes of DuckLake 1.1 without a DuckDB that writes them: migrated by hand, filled by hand, and turned back in a clone that
DuckDB 1.5.5 reads. With LAKE_DUCKDB=2.0 the tests would migrate, write and read with DuckDB itself; that waits for a release of
its extension ducklake."""
import contextlib
import dataclasses
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import zlib

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


def copied_down(schema):
    """SQL that makes CLONE anew: the lake in PostgreSQL's schema `schema`, as one of 1.0."""
    return f"""DROP SCHEMA IF EXISTS {CLONE} CASCADE;
CREATE SCHEMA {CLONE};
DO $$ DECLARE t text; BEGIN
  FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' AND tablename LIKE 'ducklake\\_%' LOOP
    EXECUTE format('CREATE TABLE {CLONE}.%I (LIKE {schema}.%I INCLUDING ALL)', t, t);
    EXECUTE format('INSERT INTO {CLONE}.%I TABLE {schema}.%I', t, t);
  END LOOP;
END $$;
SET LOCAL search_path = {CLONE};
{DOWNGRADE}"""


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
