-- Governance: tags, masking and row-access policies, where they are attached, and roles. What an
-- administrator wrote; which of it reaches a read is decided in lakeproxy/governance/.
--
-- Objects are named by DuckLake's ids, and columns by theirs, which are Iceberg's field ids: what
-- was said of a table or column stays with it when it is renamed, and never meets a new one of the
-- same name. Rows of a table that was dropped are not in force and hold nothing up; a table that
-- is registered again finds them (ADR 0108). They go with the last row of the table's id.
-- Roles' grants stand in 2_tables.sql, since logins of readers ask them, too.

-- One row: what each change here raises. A server asks it with the lake's version, so that
-- every server sees a change at its next request.
CREATE TABLE lakeproxy_policy_version (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  version bigint NOT NULL -- rises, and never comes back: also after a failover that lost changes
);
INSERT INTO lakeproxy_policy_version (version) VALUES (1);

CREATE TABLE lakeproxy_tag (
  namespace text NOT NULL,
  name text NOT NULL,
  allowed_values text[], -- null: any
  PRIMARY KEY (namespace, name)
);

-- Tags of objects. A tag of a schema reaches its tables, one of a table its columns.
CREATE TABLE lakeproxy_object_tag (
  tag_namespace text NOT NULL,
  tag_name text NOT NULL,
  object_kind text NOT NULL CHECK (object_kind IN ('schema', 'table', 'view', 'column')),
  object_id bigint NOT NULL, -- schema_id, table_id or view_id; of a column its table's
  column_id bigint NOT NULL DEFAULT 0, -- 0 where the object is no column
  value text,
  PRIMARY KEY (object_id, object_kind, column_id, tag_namespace, tag_name),
  FOREIGN KEY (tag_namespace, tag_name) REFERENCES lakeproxy_tag (namespace, name),
  CHECK ((object_kind = 'column') = (column_id <> 0))
);
CREATE INDEX IF NOT EXISTS lakeproxy_object_tag_name ON lakeproxy_object_tag (tag_namespace, tag_name);

-- A mask is an expression over one value; a row-access policy keeps the rows that its predicate is
-- true of. The body is SQL of DuckDB that was tried when it was written.
CREATE TABLE lakeproxy_masking_policy (
  name text PRIMARY KEY,
  signature text NOT NULL, -- "(v VARCHAR)"
  body text NOT NULL,
  unmasked_roles text[] NOT NULL, -- whoever has one of them is not masked by this policy
  file_layer_masking boolean NOT NULL
);
CREATE TABLE lakeproxy_row_access_policy (
  name text PRIMARY KEY,
  signature text NOT NULL, -- "(region VARCHAR, amount BIGINT)"
  body text NOT NULL,
  unmasked_roles text[] NOT NULL
);

-- A mask is attached to a tag or a column, a row-access policy to a tag or a table.
CREATE TABLE lakeproxy_policy_attachment (
  policy_kind text NOT NULL CHECK (policy_kind IN ('masking', 'row_access')),
  policy_name text NOT NULL,
  target_kind text NOT NULL,
  tag_namespace text, -- of a tag
  tag_name text,
  table_id bigint, -- of a table or column
  column_id bigint, -- of a column
  column_ids bigint[], -- of a table: the columns that are the policy's arguments, in their order
  FOREIGN KEY (tag_namespace, tag_name) REFERENCES lakeproxy_tag (namespace, name),
  CHECK (CASE target_kind
           WHEN 'tag' THEN num_nonnulls(tag_namespace, tag_name) = 2 AND num_nonnulls(table_id, column_id, column_ids) = 0
           WHEN 'column' THEN policy_kind = 'masking' AND num_nonnulls(table_id, column_id) = 2
                              AND num_nonnulls(tag_namespace, tag_name, column_ids) = 0
           WHEN 'table' THEN policy_kind = 'row_access' AND num_nonnulls(table_id, column_ids) = 2
                             AND num_nonnulls(tag_namespace, tag_name, column_id) = 0
           ELSE false END)
);
CREATE UNIQUE INDEX lakeproxy_policy_attachment_target ON lakeproxy_policy_attachment
  (policy_kind, policy_name, coalesce(tag_namespace, ''), coalesce(tag_name, ''), coalesce(table_id, -1), coalesce(column_id, 0));
CREATE INDEX IF NOT EXISTS lakeproxy_policy_attachment_table ON lakeproxy_policy_attachment (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_policy_attachment_tag ON lakeproxy_policy_attachment (tag_namespace, tag_name);

-- Roles that an administrator made. A token may name others.
CREATE TABLE lakeproxy_role (
  name text PRIMARY KEY
);

-- Raises the version. The time is in it so that no number means two states: a replica that lacked
-- the last changes would count on from an older one.
CREATE FUNCTION lakeproxy_raise_policy_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE lakeproxy_policy_version
     SET version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION lakeproxy_raise_policy_version() FROM PUBLIC;

CREATE TRIGGER lakeproxy_raise_policy_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON lakeproxy_tag
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_raise_policy_version();
CREATE TRIGGER lakeproxy_raise_policy_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON lakeproxy_object_tag
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_raise_policy_version();
CREATE TRIGGER lakeproxy_raise_policy_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON lakeproxy_masking_policy
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_raise_policy_version();
CREATE TRIGGER lakeproxy_raise_policy_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON lakeproxy_row_access_policy
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_raise_policy_version();
CREATE TRIGGER lakeproxy_raise_policy_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON lakeproxy_policy_attachment
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_raise_policy_version();
CREATE TRIGGER lakeproxy_raise_policy_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON lakeproxy_role
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_raise_policy_version();
CREATE TRIGGER lakeproxy_raise_policy_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON lakeproxy_role_grant
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_raise_policy_version();
CREATE TRIGGER lakeproxy_raise_policy_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON lakeproxy_object_grant
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_raise_policy_version();
