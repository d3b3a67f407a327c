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
  compiled jsonb NOT NULL, -- what the engine's parser made of both, with the places of its arguments: this is run
  unmasked_roles text[] NOT NULL, -- whoever has one of them is not masked by this policy
  file_layer_masking boolean NOT NULL
);
CREATE TABLE lakeproxy_row_access_policy (
  name text PRIMARY KEY,
  signature text NOT NULL, -- "(region VARCHAR, amount BIGINT)"
  body text NOT NULL,
  compiled jsonb NOT NULL, -- what the engine's parser made of both, with the places of its arguments: this is run
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

-- Whether the lake has the object of an object tag or grant now; of a column its table.
CREATE FUNCTION lakeproxy_is_there(of_kind text, of_object bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT CASE of_kind
           WHEN 'schema' THEN EXISTS (SELECT 1 FROM ducklake_schema s WHERE s.schema_id = of_object AND s.end_snapshot IS NULL)
           WHEN 'view' THEN EXISTS (SELECT 1 FROM ducklake_view v WHERE v.view_id = of_object AND v.end_snapshot IS NULL)
           ELSE EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = of_object AND t.end_snapshot IS NULL) END
$$;

-- A second mask ----------------------------------------------------------------------------

-- Where two masks meet, of all that is live: on a column, on all columns of a table, on all tables of a
-- schema; no row where none do. A table that came back from a drop may stand there, too, which holds
-- no other change up: only one that adds a row is refused. A new column or table gets what its table or schema has, so asking
-- when governance changes is enough.
CREATE FUNCTION lakeproxy_second_mask(OUT of_object bigint, OUT of_column bigint, OUT place text, OUT policies text[]) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH tagged AS MATERIALIZED (
    SELECT o.object_kind, o.object_id, o.column_id, a.policy_name
      FROM lakeproxy_policy_attachment a
      JOIN lakeproxy_object_tag o ON (o.tag_namespace, o.tag_name) = (a.tag_namespace, a.tag_name)
     WHERE a.policy_kind = 'masking' AND a.target_kind = 'tag'
  ), of_columns AS MATERIALIZED ( -- what is said of single columns
    SELECT g.object_id AS table_id, g.column_id, g.policy_name FROM tagged g WHERE g.object_kind = 'column'
     UNION
    SELECT a.table_id, a.column_id, a.policy_name FROM lakeproxy_policy_attachment a
     WHERE a.policy_kind = 'masking' AND a.target_kind = 'column'
  ), of_tables AS MATERIALIZED ( -- and of all columns of a table
    SELECT t.table_id, t.table_name, g.policy_name
      FROM tagged g JOIN ducklake_table t ON t.end_snapshot IS NULL AND (g.object_kind, g.object_id) IN (('table', t.table_id), ('schema', t.schema_id))
  ), reached AS (
    SELECT r.table_id, r.column_id, format('the column %s of the table %s', c.column_name, t.table_name) AS place, r.policy_name
      FROM (SELECT o.table_id, o.column_id, o.policy_name FROM of_columns o
             UNION
            SELECT o.table_id, o.column_id, w.policy_name FROM of_columns o JOIN of_tables w USING (table_id)) r
      JOIN ducklake_table t ON t.table_id = r.table_id AND t.end_snapshot IS NULL
      JOIN ducklake_column c ON c.table_id = r.table_id AND c.column_id = r.column_id AND c.end_snapshot IS NULL
     UNION
    SELECT o.table_id, 0, format('the table %s', o.table_name), o.policy_name FROM of_tables o
     UNION
    SELECT s.schema_id, 0, format('the schema %s', replace(s.flat_name, E'\x1f', '.')), g.policy_name
      FROM tagged g JOIN lakeproxy_schemas() s ON g.object_kind = 'schema' AND g.object_id = s.schema_id
  )
  SELECT r.table_id, r.column_id, r.place, array_agg(r.policy_name ORDER BY r.policy_name) FROM reached r
   GROUP BY r.table_id, r.column_id, r.place HAVING count(*) > 1 ORDER BY r.place, r.table_id
$$;

-- The same of one table that moves to that schema, whose tags it gets in the place of its own schema's. What met
-- before, as on a table that came back from a drop, is no matter of the move.
CREATE FUNCTION lakeproxy_second_mask_in(of_table bigint, of_schema bigint, OUT place text, OUT policies text[]) RETURNS record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH attached AS MATERIALIZED ( -- column_id null: every column; schema_id null: wherever the table is
    SELECT nullif(o.column_id, 0) AS column_id, a.policy_name, CASE o.object_kind WHEN 'schema' THEN o.object_id END AS schema_id
      FROM lakeproxy_object_tag o
      JOIN lakeproxy_policy_attachment a ON (a.tag_namespace, a.tag_name) = (o.tag_namespace, o.tag_name) AND a.policy_kind = 'masking'
     WHERE (o.object_kind IN ('table', 'column') AND o.object_id = of_table)
        OR (o.object_kind = 'schema'
            AND o.object_id IN (of_schema, (SELECT t.schema_id FROM ducklake_table t WHERE t.table_id = of_table AND t.end_snapshot IS NULL)))
     UNION
    SELECT a.column_id, a.policy_name, NULL FROM lakeproxy_policy_attachment a WHERE a.policy_kind = 'masking' AND a.table_id = of_table
  ), reached AS (
    SELECT c.column_name,
           array_agg(DISTINCT a.policy_name ORDER BY a.policy_name) FILTER (WHERE coalesce(a.schema_id, of_schema) = of_schema) AS there,
           array_agg(DISTINCT a.policy_name ORDER BY a.policy_name) FILTER (WHERE coalesce(a.schema_id, t.schema_id) = t.schema_id) AS here
      FROM ducklake_column c
      JOIN ducklake_table t ON t.table_id = of_table AND t.end_snapshot IS NULL
      JOIN attached a ON a.column_id IS NULL OR a.column_id = c.column_id
     WHERE c.table_id = of_table AND c.parent_column IS NULL AND c.end_snapshot IS NULL
     GROUP BY c.column_id, c.column_name
  )
  SELECT format('the column %s', r.column_name), r.there FROM reached r
   WHERE cardinality(r.there) > 1 AND r.there IS DISTINCT FROM r.here ORDER BY 1 LIMIT 1
$$;

-- The life of tables -----------------------------------------------------------------------

-- What renames and drops did to governance, from whichever writer, until a server has
-- written it to the audit trail.
CREATE TABLE lakeproxy_governance_event (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ts timestamptz NOT NULL DEFAULT clock_timestamp(),
  operation text NOT NULL,
  object text NOT NULL,
  detail jsonb NOT NULL
);

-- Whether governance says anything of the table or its columns.
CREATE FUNCTION lakeproxy_is_governed(of_table bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT 1 FROM lakeproxy_object_tag o WHERE o.object_id = of_table AND o.object_kind IN ('table', 'column'))
      OR EXISTS (SELECT 1 FROM lakeproxy_policy_attachment a WHERE a.table_id = of_table)
$$;

-- A row that names a table again: renamed, or back from a drop.
CREATE FUNCTION lakeproxy_note_renamed_table() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO lakeproxy_governance_event (operation, object, detail)
  SELECT CASE WHEN p.end_snapshot < n.begin_snapshot THEN 'restore_table_governance' ELSE 'rename_table_governance' END,
         n.table_name, jsonb_build_object('table_id', n.table_id, 'from', p.table_name, 'snapshot', n.begin_snapshot, 'login', session_user)
    FROM new_rows n
   CROSS JOIN LATERAL (SELECT * FROM ducklake_table p WHERE p.table_id = n.table_id AND p.begin_snapshot < n.begin_snapshot
                        ORDER BY p.begin_snapshot DESC LIMIT 1) p
   WHERE n.end_snapshot IS NULL AND lakeproxy_is_governed(n.table_id)
     AND (p.table_name <> n.table_name OR p.end_snapshot < n.begin_snapshot);
  RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION lakeproxy_note_renamed_table() FROM PUBLIC;
CREATE TRIGGER lakeproxy_note_renamed_table AFTER INSERT ON ducklake_table
  REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_note_renamed_table();

-- The same of a column.
CREATE FUNCTION lakeproxy_note_renamed_column() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO lakeproxy_governance_event (operation, object, detail)
  SELECT 'rename_column_governance', t.table_name || '.' || n.column_name,
         jsonb_build_object('table_id', n.table_id, 'column_id', n.column_id, 'from', p.column_name, 'snapshot', n.begin_snapshot, 'login', session_user)
    FROM new_rows n
    JOIN ducklake_table t ON t.table_id = n.table_id AND t.end_snapshot IS NULL
   CROSS JOIN LATERAL (SELECT * FROM ducklake_column p WHERE p.table_id = n.table_id AND p.column_id = n.column_id AND p.begin_snapshot < n.begin_snapshot
                        ORDER BY p.begin_snapshot DESC LIMIT 1) p
   WHERE n.end_snapshot IS NULL AND p.column_name <> n.column_name AND lakeproxy_is_governed(n.table_id);
  RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION lakeproxy_note_renamed_column() FROM PUBLIC;
CREATE TRIGGER lakeproxy_note_renamed_column AFTER INSERT ON ducklake_column
  REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_note_renamed_column();

-- A table that has no live row once the transaction is over was dropped.
CREATE FUNCTION lakeproxy_note_dropped_table() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF lakeproxy_is_governed(NEW.table_id)
     AND NOT EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = NEW.table_id AND t.end_snapshot IS NULL) THEN
    INSERT INTO lakeproxy_governance_event (operation, object, detail)
    VALUES ('purge_table_governance', NEW.table_name,
            jsonb_build_object('table_id', NEW.table_id, 'snapshot', NEW.end_snapshot, 'login', session_user));
  END IF;
  RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION lakeproxy_note_dropped_table() FROM PUBLIC;
CREATE CONSTRAINT TRIGGER lakeproxy_note_dropped_table AFTER UPDATE ON ducklake_table
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.end_snapshot IS NULL AND NEW.end_snapshot IS NOT NULL)
  EXECUTE FUNCTION lakeproxy_note_dropped_table();

-- Once the lake has forgotten a table, what was said of it goes, too.
CREATE FUNCTION lakeproxy_forget_table_governance() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  gone bigint[] := ARRAY(SELECT DISTINCT o.table_id FROM old_rows o
                          WHERE NOT EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = o.table_id));
BEGIN
  IF EXISTS (SELECT 1 FROM unnest(gone) id WHERE lakeproxy_is_governed(id)) THEN
    DELETE FROM lakeproxy_object_tag o WHERE o.object_kind IN ('table', 'column') AND o.object_id = ANY (gone);
    DELETE FROM lakeproxy_policy_attachment a WHERE a.table_id = ANY (gone);
  END IF;
  RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION lakeproxy_forget_table_governance() FROM PUBLIC;
CREATE TRIGGER lakeproxy_forget_table_governance AFTER DELETE ON ducklake_table
  REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_forget_table_governance();
