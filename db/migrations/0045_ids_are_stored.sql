-- A schema, a partition spec or a sort order gets its id once: with the commit of the
-- client that adds it, or when it is first shown if DuckDB made it. A definition is
-- never changed nor removed, so an id never means something else.

CREATE TABLE lakeproxy_definition (
  table_id bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('schema', 'spec', 'order')),
  id integer NOT NULL,
  body json NOT NULL, -- as Iceberg writes it; of a spec its fields. Read at each load: no jsonb
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

DROP TABLE lakeproxy_schema, lakeproxy_spec;
ALTER TABLE lakeproxy_table DROP COLUMN sort_orders;
