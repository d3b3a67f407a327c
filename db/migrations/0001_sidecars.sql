-- What DuckLake's tables cannot hold, beside them in the same schema and
-- written in the same transactions. Every statement here can be undone by
-- dropping the lakeproxy_* tables, functions and triggers: the lake itself
-- stays whole and DuckDB does not notice.

-- One row: the lock that our commits queue on, and the number that rises with
-- every change that makes no lake snapshot.
CREATE TABLE lakeproxy_state (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  revision bigint NOT NULL
);
INSERT INTO lakeproxy_state (revision) VALUES (1);

-- The levels of a nested namespace whose lake schema is flat, and properties.
CREATE TABLE lakeproxy_namespace (
  schema_id bigint PRIMARY KEY,
  levels text[] NOT NULL UNIQUE,
  properties jsonb NOT NULL DEFAULT '{}'
);

-- A table's Iceberg side. `revision` is the state's revision at its last change.
CREATE TABLE lakeproxy_table (
  table_id bigint PRIMARY KEY,
  revision bigint NOT NULL,
  table_uuid uuid,
  format_version integer,
  properties jsonb NOT NULL DEFAULT '{}',
  refs jsonb NOT NULL DEFAULT '{}',
  sort_orders jsonb NOT NULL DEFAULT '[]',
  default_sort_order_id integer NOT NULL DEFAULT 0,
  last_partition_id integer,
  updated_ms bigint NOT NULL
);
CREATE INDEX lakeproxy_table_revision ON lakeproxy_table (revision);

-- Iceberg schemas given by clients. A schema that DuckDB made by ALTER has no
-- row: its id follows from the order of begin_snapshot.
CREATE TABLE lakeproxy_schema (
  table_id bigint NOT NULL,
  schema_id integer NOT NULL,
  begin_snapshot bigint NOT NULL,
  is_current boolean NOT NULL,
  schema_json jsonb NOT NULL,
  PRIMARY KEY (table_id, schema_id)
);

-- Iceberg partition specs given by clients; partition_id is the lake's, NULL
-- for the unpartitioned spec or one that the lake cannot hold.
CREATE TABLE lakeproxy_spec (
  table_id bigint NOT NULL,
  spec_id integer NOT NULL,
  begin_snapshot bigint NOT NULL,
  partition_id bigint,
  is_default boolean NOT NULL,
  fields jsonb NOT NULL,
  PRIMARY KEY (table_id, spec_id)
);

-- What an Iceberg client's manifest said of a file and DuckLake has no column for.
CREATE TABLE lakeproxy_file (
  data_file_id bigint PRIMARY KEY,
  table_id bigint NOT NULL,
  spec_id integer,
  partition jsonb,
  split_offsets bigint[],
  sort_order_id integer,
  key_metadata bytea
);
CREATE INDEX lakeproxy_file_table ON lakeproxy_file (table_id);

-- Exact NaN counts: from a client's manifest, or counted once by us.
CREATE TABLE lakeproxy_nan_count (
  data_file_id bigint NOT NULL,
  column_id bigint NOT NULL,
  nan_count bigint NOT NULL,
  PRIMARY KEY (data_file_id, column_id)
);

-- Snapshots whose manifest list is in the object store.
CREATE TABLE lakeproxy_snapshot (
  table_id bigint NOT NULL,
  snapshot_id bigint NOT NULL,
  epoch bigint NOT NULL,
  snapshot_json jsonb NOT NULL,
  PRIMARY KEY (table_id, snapshot_id)
);

-- The snapshot id that a client chose, and the lake's that stands for it.
CREATE TABLE lakeproxy_snapshot_alias (
  table_id bigint NOT NULL,
  client_snapshot_id bigint NOT NULL,
  snapshot_id bigint NOT NULL,
  PRIMARY KEY (table_id, client_snapshot_id)
);

-- The first answer to a change that carried an Idempotency-Key.
CREATE TABLE lakeproxy_idempotency (
  key uuid PRIMARY KEY,
  request_hash bytea NOT NULL,
  status integer NOT NULL,
  response text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lakeproxy_idempotency_created ON lakeproxy_idempotency (created_at);

-- Metadata files written, newest last; the log that metadata.json shows.
CREATE TABLE lakeproxy_metadata_log (
  table_id bigint NOT NULL,
  sequence bigint NOT NULL,
  timestamp_ms bigint NOT NULL,
  metadata_file text NOT NULL,
  PRIMARY KEY (table_id, sequence)
);

-- Removing old snapshots makes no new one, so readers learn of it here.
CREATE FUNCTION lakeproxy_snapshots_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lakeproxy_state SET revision = revision + 1;
  UPDATE lakeproxy_table SET revision = (SELECT revision FROM lakeproxy_state);
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_snapshots_removed AFTER DELETE ON ducklake_snapshot
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_snapshots_removed();

-- Look-ups that DuckLake makes by sequential scan.
CREATE INDEX IF NOT EXISTS lakeproxy_data_file_begin ON ducklake_data_file (table_id, begin_snapshot);
CREATE INDEX IF NOT EXISTS lakeproxy_data_file_end ON ducklake_data_file (table_id, end_snapshot) WHERE end_snapshot IS NOT NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_delete_file_begin ON ducklake_delete_file (table_id, begin_snapshot);
CREATE INDEX IF NOT EXISTS lakeproxy_delete_file_data ON ducklake_delete_file (data_file_id);
CREATE INDEX IF NOT EXISTS lakeproxy_file_stats ON ducklake_file_column_stats (data_file_id);
CREATE INDEX IF NOT EXISTS lakeproxy_file_partition ON ducklake_file_partition_value (data_file_id);
CREATE INDEX IF NOT EXISTS lakeproxy_column ON ducklake_column (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_table_name ON ducklake_table (schema_id, table_name) WHERE end_snapshot IS NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_table_id ON ducklake_table (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_schema_versions ON ducklake_schema_versions (table_id, begin_snapshot);
CREATE INDEX IF NOT EXISTS lakeproxy_table_stats ON ducklake_table_stats (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_table_column_stats ON ducklake_table_column_stats (table_id);
