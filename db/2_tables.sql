-- What DuckLake's tables have no place for. It stands beside them in the same schema and
-- is written in the same transactions. Dropping the roles of readers and every table,
-- sequence, function and trigger named lakeproxy_* undoes all of it: the lake stays whole
-- and DuckDB does not notice.
--
-- An id without another word is DuckLake's: table_id, schema_id, snapshot_id, ...

-- DuckDB writes this table first in each of its commits: they wait here, before they hold
-- a lock that is needed below.
LOCK TABLE ducklake_snapshot IN SHARE ROW EXCLUSIVE MODE;

-- The lake -------------------------------------------------------------------------------

-- One row. Our commits lock it, so that one of them runs at a time.
CREATE TABLE lakeproxy_state (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  revision bigint NOT NULL, -- rises with each change that makes no lake snapshot
  snapshots_removed_revision bigint NOT NULL DEFAULT 0, -- the revision of the last expiry: it concerns every table
  lake_id uuid NOT NULL DEFAULT gen_random_uuid(), -- a copy of the database has the same: see lakeproxy_identity
  owner_written boolean NOT NULL DEFAULT false, -- this lake has put the object that names the prefix's owner: never made anew unasked
  owner_since timestamptz, -- when an administrator let this database take the prefix over
  reader_group text -- the role that holds the rights of readers; null while there were none
);
INSERT INTO lakeproxy_state (revision) VALUES (1);

-- Catalogs beside the default one. The rows stand with the default lake; in the schema of
-- any other lake the table stays empty.
CREATE TABLE lakeproxy_catalog (
  catalog_id text PRIMARY KEY, -- the REST prefix
  metadata_schema text NOT NULL UNIQUE, -- the PostgreSQL schema of its lake
  data_prefix text NOT NULL UNIQUE,
  account_id text,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- The first answer to a change that carried an Idempotency-Key, for 25 hours.
CREATE TABLE lakeproxy_idempotency (
  key uuid PRIMARY KEY,
  request_hash bytea NOT NULL, -- another request under the same key is refused
  status integer NOT NULL,
  response text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS lakeproxy_idempotency_created ON lakeproxy_idempotency (created_at);

-- How often another writer wanted a snapshot id that a commit of ours had taken. What other
-- writers take from each other is between them. A sequence does not roll back, so a failed
-- try stays counted, and an id that we take is seen before our transaction ends.
CREATE SEQUENCE lakeproxy_taken MINVALUE 0 START 0; -- the last snapshot id that we took
CREATE SEQUENCE lakeproxy_losses MINVALUE 0 START 0;
-- Before its first use a sequence shows its first value as its last.
SELECT nextval('lakeproxy_taken'), nextval('lakeproxy_losses');

-- Readers: logins of PostgreSQL that read this lake with DuckDB ---------------------------

-- One row for each login that was made, until it is gone.
CREATE TABLE lakeproxy_reader (
  role_name text PRIMARY KEY,
  subject text NOT NULL, -- the principal that it was made for
  issuer text NOT NULL,
  is_administrator boolean NOT NULL,
  namespaces text[], -- that its token read, each as lakeproxy_schemas() names it; null: all
  roles text[] NOT NULL, -- of its token
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  valid_until timestamptz NOT NULL
);

-- Rights to objects. Once any select is granted, principals read what is granted to a role of
-- theirs, and nothing else; the administrator reads everything.
CREATE TABLE lakeproxy_object_grant (
  object_kind text NOT NULL CHECK (object_kind IN ('schema', 'table', 'view')),
  object_id bigint NOT NULL, -- DuckLake's: a right stays with a table that is renamed
  privilege text NOT NULL,
  role text NOT NULL,
  PRIMARY KEY (role, privilege, object_kind, object_id)
);

-- Roles of principals, beside those of their tokens.
CREATE TABLE lakeproxy_role_grant (
  role text NOT NULL,
  principal text NOT NULL, -- a token's subject
  PRIMARY KEY (principal, role)
);

-- Namespaces, tables, views --------------------------------------------------------------

-- A namespace's properties. A namespace that DuckDB made has no row.
CREATE TABLE lakeproxy_namespace (
  schema_id bigint PRIMARY KEY,
  levels text[] NOT NULL UNIQUE, -- DuckDB drops schemas without a look here: the next of these levels takes the row over
  properties jsonb NOT NULL DEFAULT '{}'
);

-- A table's Iceberg side. A table that only DuckDB has written may have no row.
CREATE TABLE lakeproxy_table (
  table_id bigint PRIMARY KEY,
  revision bigint NOT NULL, -- that of lakeproxy_state at the table's last change
  table_uuid uuid, -- null: that of ducklake_table
  format_version integer, -- what a client asked for; null: see lakeproxy_format_version
  properties jsonb NOT NULL DEFAULT '{}',
  refs jsonb NOT NULL DEFAULT '{}', -- Iceberg's, with snapshot ids of the lake
  default_sort_order_id integer NOT NULL DEFAULT 0,
  last_partition_id integer, -- Iceberg's: the highest id of a partition field
  updated_ms bigint NOT NULL, -- Iceberg's last-updated-ms
  -- The lake snapshot that removed the branch main and all rows: the table has no current
  -- snapshot until a later one adds rows.
  cleared_at bigint,
  statistics jsonb NOT NULL DEFAULT '[]', -- Iceberg's statistics files, as they were given
  partition_statistics jsonb NOT NULL DEFAULT '[]',
  -- What clients removed and the lake keeps, hidden from them:
  --   {"schemas": [id, ...], "specs": {"id": revision, ...}, "snapshots": [[first, last], ...]}
  out_of_sight jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS lakeproxy_table_revision ON lakeproxy_table (revision);

-- Tables that were unregistered. Their files belong to another catalog, which may add others
-- in the same folder: nothing here removes any of them, neither our clean-up nor DuckDB's,
-- until the table is registered again.
CREATE TABLE lakeproxy_unregistered (
  table_id bigint PRIMARY KEY,
  folder text NOT NULL, -- canonical, ends in '/'
  unregistered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Tables that were dropped together with their files, until the files are gone.
CREATE TABLE lakeproxy_purge (
  table_id bigint PRIMARY KEY,
  schema_name text NOT NULL,
  table_name text NOT NULL,
  folder text NOT NULL, -- ends in '/'
  dropped_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A view's Iceberg side. The view itself is a row of ducklake_view, where DuckDB sees it
-- with the SQL of one dialect; its uuid, name and comment stand there alone. A view without
-- a row here was made by DuckDB.
CREATE TABLE lakeproxy_view (
  view_id bigint PRIMARY KEY,
  revision bigint NOT NULL, -- that of lakeproxy_state at the view's last change
  metadata_location text NOT NULL,
  -- Of the metadata: location, current-version-id, schemas, version-log, properties. The
  -- documents are json, not jsonb: their text is read as it was written.
  document json NOT NULL
);

-- The versions of a view.
CREATE TABLE lakeproxy_view_version (
  view_id bigint NOT NULL,
  version_id integer NOT NULL,
  version json NOT NULL, -- as Iceberg writes it
  PRIMARY KEY (view_id, version_id)
);

-- Definitions of a table -----------------------------------------------------------------

-- Schemas, partition specs and sort orders, each under its id. An id is assigned once: by the
-- commit of the client that adds the definition, or when it is first shown if DuckDB made it.
-- A definition is never changed nor removed, so an id never means something else.
CREATE TABLE lakeproxy_definition (
  table_id bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('schema', 'spec', 'order')),
  id integer NOT NULL, -- Iceberg's, within the kind
  body json NOT NULL, -- as Iceberg writes it; of a spec its fields. Read at each load: no jsonb
  format_version integer NOT NULL DEFAULT 2, -- of a schema that DuckDB made: the lowest that has its types
  PRIMARY KEY (table_id, kind, id)
);

-- Where in the lake a definition counts. The key of
--   schema     the lake snapshot from which on it is the current one;
--   default    the lake snapshot from which on a client made it the default spec;
--   partition  ducklake_partition_info.partition_id: the spec of its files;
--   mapping    ducklake_column_mapping.mapping_id: the spec of its files.
CREATE TABLE lakeproxy_definition_use (
  table_id bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('schema', 'default', 'partition', 'mapping')),
  key bigint NOT NULL,
  id integer NOT NULL,
  PRIMARY KEY (table_id, kind, key)
);

-- Columns whose values stand in the paths of added files alone ("name=value"). Iceberg's
-- readers take such values from a partition spec. DuckLake forgets these columns with the
-- last file; they are kept here, for the specs to get their ids in the same order.
CREATE TABLE lakeproxy_path_columns (
  mapping_id bigint PRIMARY KEY,
  table_id bigint NOT NULL,
  begin_snapshot bigint NOT NULL, -- of the first file with this mapping
  column_ids bigint[] NOT NULL -- in rising order
);
CREATE INDEX IF NOT EXISTS lakeproxy_path_columns_table ON lakeproxy_path_columns (table_id);

-- Files ----------------------------------------------------------------------------------

-- What an Iceberg client's manifest said of a data file. A file without a row was written
-- or added by DuckDB.
CREATE TABLE lakeproxy_file (
  data_file_id bigint PRIMARY KEY,
  table_id bigint NOT NULL,
  spec_id integer, -- Iceberg's, as is sort_order_id
  partition jsonb,
  split_offsets bigint[],
  sort_order_id integer,
  key_metadata bytea
);
CREATE INDEX IF NOT EXISTS lakeproxy_file_table ON lakeproxy_file (table_id);

-- Readable copies of data files: objects with the same rows that every Iceberg client reads
-- right (ADR 0098). A row comes when the object is there, or when it is known that none can
-- be made. Which of a file's copies counts follows from the table's columns, by the signature.
CREATE TABLE lakeproxy_readable_copy (
  data_file_id bigint NOT NULL,
  signature text NOT NULL, -- of its columns and types
  table_id bigint NOT NULL,
  location text NOT NULL,
  file_size_bytes bigint, -- null where none can be made
  failure text, -- why not
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (data_file_id, signature)
);
CREATE INDEX IF NOT EXISTS lakeproxy_readable_copy_location ON lakeproxy_readable_copy USING hash (location);

-- Masked copies of data files: what principals of one signature (of masks and filters) get of one
-- file (ADR 0110). A row comes when the object is there, or when it is known that none can be made.
CREATE TABLE lakeproxy_masked_copy (
  table_id bigint NOT NULL,
  signature text NOT NULL,
  name text NOT NULL, -- of the file, its deletes and the columns
  locations text[] NOT NULL, -- its objects in the order of their rows; none where none can be made
  record_counts bigint[] NOT NULL,
  file_sizes bigint[] NOT NULL,
  failure text, -- why not
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  unused_since timestamptz, -- no newest state names it
  PRIMARY KEY (table_id, signature, name)
);
CREATE INDEX IF NOT EXISTS lakeproxy_masked_copy_locations ON lakeproxy_masked_copy USING gin (locations);

-- States of tables as principals of one signature saw them: metadata over masked copies.
CREATE TABLE lakeproxy_masked_state (
  table_id bigint NOT NULL,
  signature text NOT NULL,
  metadata_file text NOT NULL,
  objects text[] NOT NULL, -- manifests, their list, and the metadata file
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  replaced_at timestamptz, -- a newer one was made
  PRIMARY KEY (table_id, signature, metadata_file)
);
CREATE INDEX IF NOT EXISTS lakeproxy_masked_state_objects ON lakeproxy_masked_state USING gin (objects);

-- Exact NaN counts: from a client's manifest, or counted once by us.
CREATE TABLE lakeproxy_nan_count (
  data_file_id bigint NOT NULL,
  column_id bigint NOT NULL,
  nan_count bigint, -- null where it stays unknown: a published manifest without a count stays as it is
  PRIMARY KEY (data_file_id, column_id)
);

-- Objects whose rows DuckDB removed from the lake while snapshots are kept that had them:
-- published ones in [first_snapshot, until_snapshot) may name them.
CREATE TABLE lakeproxy_kept_file (
  data_file_id bigint PRIMARY KEY,
  table_id bigint NOT NULL,
  object text NOT NULL, -- canonical
  first_snapshot bigint NOT NULL,
  until_snapshot bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS lakeproxy_kept_file_table ON lakeproxy_kept_file (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_kept_file_object ON lakeproxy_kept_file USING hash (object);

-- Snapshots and what is published of them ------------------------------------------------

-- Published snapshots: their manifest list is in the object store.
CREATE TABLE lakeproxy_snapshot (
  table_id bigint NOT NULL,
  snapshot_id bigint NOT NULL,
  snapshot_json jsonb NOT NULL, -- as Iceberg writes it
  format_version integer NOT NULL DEFAULT 2, -- of its manifests, which are of no use in another
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (table_id, snapshot_id)
);
CREATE INDEX IF NOT EXISTS lakeproxy_snapshot_recorded ON lakeproxy_snapshot (recorded_at);

-- The snapshot id that a client chose, and the lake's that stands for it.
CREATE TABLE lakeproxy_snapshot_alias (
  table_id bigint NOT NULL,
  client_snapshot_id bigint NOT NULL,
  snapshot_id bigint NOT NULL,
  PRIMARY KEY (table_id, client_snapshot_id)
);

-- The last maintenance of a table: the lake snapshot that last merged, flushed or rewrote its
-- files and changed no row.
CREATE TABLE lakeproxy_maintained (
  table_id bigint PRIMARY KEY,
  snapshot_id bigint NOT NULL
);

-- Manifest lists that no published snapshot has any more. Clients that loaded the table
-- before may still read them.
CREATE TABLE lakeproxy_superseded (
  table_id bigint NOT NULL,
  manifest_list text NOT NULL,
  superseded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  recorded_at timestamptz NOT NULL DEFAULT '-infinity' -- of lakeproxy_snapshot: it names no object that was scheduled before
);
CREATE INDEX IF NOT EXISTS lakeproxy_superseded_at ON lakeproxy_superseded (superseded_at);
CREATE INDEX IF NOT EXISTS lakeproxy_superseded_table ON lakeproxy_superseded (table_id, superseded_at);

-- Metadata files written: the log that metadata.json shows.
CREATE TABLE lakeproxy_metadata_log (
  table_id bigint NOT NULL,
  sequence bigint NOT NULL, -- rises with each file of the table
  timestamp_ms bigint NOT NULL,
  metadata_file text NOT NULL,
  PRIMARY KEY (table_id, sequence)
);
-- Which table a metadata file is of, when it is registered by its location.
CREATE INDEX IF NOT EXISTS lakeproxy_metadata_log_object ON lakeproxy_metadata_log USING hash (lakeproxy_canonical(metadata_file));

-- Indexes of DuckLake's tables -----------------------------------------------------------
-- DuckDB makes none and looks rows up by sequential scans. Where the table is large, each of
-- these is built before, CONCURRENTLY (see migrations/README.md for the form of the statement).

CREATE INDEX IF NOT EXISTS lakeproxy_data_file_begin ON ducklake_data_file (table_id, begin_snapshot);
CREATE INDEX IF NOT EXISTS lakeproxy_data_file_end ON ducklake_data_file (table_id, end_snapshot) WHERE end_snapshot IS NOT NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_data_file_name ON ducklake_data_file (lakeproxy_object_name(path));
CREATE INDEX IF NOT EXISTS lakeproxy_data_file_partial ON ducklake_data_file (table_id, partial_max) WHERE partial_max IS NOT NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_delete_file_begin ON ducklake_delete_file (table_id, begin_snapshot);
CREATE INDEX IF NOT EXISTS lakeproxy_delete_file_end ON ducklake_delete_file (table_id, end_snapshot) WHERE end_snapshot IS NOT NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_delete_file_name ON ducklake_delete_file (lakeproxy_object_name(path));
CREATE INDEX IF NOT EXISTS lakeproxy_delete_file_partial ON ducklake_delete_file (table_id, partial_max) WHERE partial_max IS NOT NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_delete_file_data ON ducklake_delete_file (data_file_id);
CREATE INDEX IF NOT EXISTS lakeproxy_scheduled_name ON ducklake_files_scheduled_for_deletion (lakeproxy_object_name(path));
CREATE INDEX IF NOT EXISTS lakeproxy_file_stats ON ducklake_file_column_stats (data_file_id);
CREATE INDEX IF NOT EXISTS lakeproxy_file_partition ON ducklake_file_partition_value (data_file_id);
CREATE INDEX IF NOT EXISTS lakeproxy_table_id ON ducklake_table (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_table_name ON ducklake_table (schema_id, table_name) WHERE end_snapshot IS NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_table_begin ON ducklake_table (begin_snapshot);
CREATE INDEX IF NOT EXISTS lakeproxy_table_end ON ducklake_table (end_snapshot) WHERE end_snapshot IS NOT NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_view_name ON ducklake_view (schema_id, view_name) WHERE end_snapshot IS NULL;
CREATE INDEX IF NOT EXISTS lakeproxy_column ON ducklake_column (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_column_tag ON ducklake_column_tag (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_ducklake_tag ON ducklake_tag (object_id);
CREATE INDEX IF NOT EXISTS lakeproxy_partition_info ON ducklake_partition_info (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_partition_column ON ducklake_partition_column (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_sort_info ON ducklake_sort_info (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_schema_versions ON ducklake_schema_versions (table_id, begin_snapshot);
CREATE INDEX IF NOT EXISTS lakeproxy_inlined_tables ON ducklake_inlined_data_tables (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_table_stats ON ducklake_table_stats (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_table_column_stats ON ducklake_table_column_stats (table_id);
