-- A view's Iceberg side. The view itself is a row of ducklake_view, where
-- DuckDB sees it with the SQL of one dialect; its uuid, name and comment stand
-- there alone. A view without a row here was made by DuckDB.
-- The documents are json, not jsonb: their text comes back as it was written.
CREATE TABLE lakeproxy_view (
  view_id bigint PRIMARY KEY,
  revision bigint NOT NULL,
  metadata_location text NOT NULL,
  -- Of the metadata: location, current-version-id, schemas, version-log, properties.
  document json NOT NULL
);

CREATE TABLE lakeproxy_view_version (
  view_id bigint NOT NULL,
  version_id integer NOT NULL,
  version json NOT NULL,
  PRIMARY KEY (view_id, version_id)
);

CREATE INDEX lakeproxy_view_name ON ducklake_view (schema_id, view_name) WHERE end_snapshot IS NULL;
