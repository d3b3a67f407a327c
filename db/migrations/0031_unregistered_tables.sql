-- A table that is unregistered leaves its files to another catalog, which may add
-- others in the same folder. Nothing here removes any of them until the table is
-- registered here again, neither our own clean-up nor DuckDB's.

CREATE TABLE lakeproxy_unregistered (
  table_id bigint PRIMARY KEY,
  folder text NOT NULL, -- canonical, ends in '/'
  unregistered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Whether a row of this table and life span makes its object needed.
CREATE FUNCTION lakeproxy_is_needed(of_table bigint, begun bigint, ended bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_is_kept(begun, ended)
      OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = of_table)
$$;

-- ducklake_delete_orphaned_files removes each *.parquet under the data path that no
-- row names. So the rows of these files outlive the snapshots that showed them, and
-- with them those of their table and schema, by which DuckDB resolves their paths.
CREATE FUNCTION lakeproxy_keep_unregistered() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = OLD.table_id) THEN
    RETURN NULL;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER lakeproxy_keep_unregistered BEFORE DELETE ON ducklake_data_file
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_keep_unregistered();
CREATE TRIGGER lakeproxy_keep_unregistered BEFORE DELETE ON ducklake_delete_file
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_keep_unregistered();
CREATE TRIGGER lakeproxy_keep_unregistered BEFORE DELETE ON ducklake_table
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_keep_unregistered();

CREATE FUNCTION lakeproxy_keep_schema_of_unregistered() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM ducklake_table t JOIN lakeproxy_unregistered u ON u.table_id = t.table_id
              WHERE t.schema_id = OLD.schema_id) THEN
    RETURN NULL;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER lakeproxy_keep_schema_of_unregistered BEFORE DELETE ON ducklake_schema
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_keep_schema_of_unregistered();

CREATE OR REPLACE FUNCTION lakeproxy_guard_scheduled_file() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  object text := lakeproxy_scheduled_object(NEW.path, NEW.path_is_relative);
BEGIN
  IF EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE starts_with(object, u.folder)) THEN
    RETURN NULL;
  END IF;
  IF EXISTS (SELECT 1 FROM lakeproxy_file f
              WHERE f.data_file_id = NEW.data_file_id AND NOT lakeproxy_is_own(f.table_id, object)) THEN
    RETURN NULL;
  END IF;
  IF EXISTS (
    SELECT 1 FROM ducklake_data_file f
     WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(object)
       AND (f.data_file_id IS DISTINCT FROM NEW.data_file_id
            OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = f.table_id))
       AND lakeproxy_object(f.table_id, f.path, f.path_is_relative) = object
       AND lakeproxy_is_needed(f.table_id, f.begin_snapshot, f.end_snapshot)
    UNION ALL
    SELECT 1 FROM ducklake_delete_file f
     WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(object)
       AND (f.delete_file_id IS DISTINCT FROM NEW.data_file_id
            OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = f.table_id))
       AND lakeproxy_object(f.table_id, f.path, f.path_is_relative) = object
       AND lakeproxy_is_needed(f.table_id, f.begin_snapshot, f.end_snapshot)) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION lakeproxy_folders(OUT table_id bigint, OUT folder text) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT t.table_id, rtrim(lakeproxy_canonical(
           CASE WHEN NOT t.path_is_relative THEN ''
                WHEN NOT s.path_is_relative THEN s.path
                ELSE (SELECT m.value FROM ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL) || s.path
           END || t.path), '/') || '/'
    FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
   WHERE lakeproxy_is_kept(t.begin_snapshot, t.end_snapshot)
   UNION ALL
  SELECT NULL, rtrim(lakeproxy_canonical(v.document->>'location'), '/') || '/'
    FROM lakeproxy_view v WHERE v.document->>'location' IS NOT NULL
   UNION ALL
  SELECT u.table_id, u.folder FROM lakeproxy_unregistered u
$$;

CREATE OR REPLACE FUNCTION lakeproxy_named(objects text[], but bigint) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT a.asked FROM (SELECT u AS asked, lakeproxy_canonical(u) AS o FROM unnest(objects) AS u) AS a
   WHERE EXISTS (SELECT 1 FROM ducklake_data_file f
                  WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(o) AND f.table_id IS DISTINCT FROM but
                    AND coalesce(lakeproxy_object(f.table_id, f.path, f.path_is_relative) = o, true))
      OR EXISTS (SELECT 1 FROM ducklake_delete_file f
                  WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(o) AND f.table_id IS DISTINCT FROM but
                    AND coalesce(lakeproxy_object(f.table_id, f.path, f.path_is_relative) = o, true))
      OR EXISTS (SELECT 1 FROM lakeproxy_metadata_log l
                  WHERE lakeproxy_canonical(l.metadata_file) = o AND l.table_id IS DISTINCT FROM but
                    AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = l.table_id))
      OR EXISTS (SELECT 1 FROM lakeproxy_view v JOIN ducklake_view d ON d.view_id = v.view_id
                  WHERE lakeproxy_canonical(v.metadata_location) = o)
      OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE starts_with(o, u.folder))
      OR o IN (SELECT lakeproxy_canonical(file->>'statistics-path')
                 FROM lakeproxy_table p, jsonb_array_elements(p.statistics || p.partition_statistics) AS file
                WHERE p.table_id IS DISTINCT FROM but AND file->>'statistics-path' IS NOT NULL
                  AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = p.table_id))
$$;
