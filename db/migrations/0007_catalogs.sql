-- Catalogs beside the default one. The rows stand with the default lake; in the
-- schema of any other lake the table stays empty.
CREATE TABLE lakeproxy_catalog (
  catalog_id text PRIMARY KEY,
  metadata_schema text NOT NULL UNIQUE,
  data_prefix text NOT NULL UNIQUE,
  account_id text,
  created_at timestamptz NOT NULL DEFAULT now()
);
