-- DuckLake schedules the object of a dead row for deletion without looking
-- whether another row still needs it. One object can have many rows here (a
-- rollback, a file that is appended again, a registered table), so a live file
-- would be lost. DuckDB clients pass here too: an entry whose object another
-- row still shows is dropped, and comes again when that row dies.

-- The name of an object without its folders, by which its rows are found.
CREATE FUNCTION lakeproxy_object_name(path text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT substring(path FROM '[^/]*$') $$;

CREATE INDEX lakeproxy_data_file_name ON ducklake_data_file (lakeproxy_object_name(path));
CREATE INDEX lakeproxy_delete_file_name ON ducklake_delete_file (lakeproxy_object_name(path));

-- The object of a path that is relative to its table's folder, or absolute.
CREATE FUNCTION lakeproxy_object(of_table bigint, path text, is_relative boolean) RETURNS text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT CASE WHEN NOT is_relative THEN $2 ELSE (
    SELECT CASE WHEN NOT t.path_is_relative THEN ''
                WHEN NOT s.path_is_relative THEN s.path
                ELSE (SELECT m.value FROM ducklake_metadata m
                       WHERE m.key = 'data_path' AND m.scope IS NULL) || s.path END || t.path || $2
      FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
     WHERE t.table_id = $1
     ORDER BY t.begin_snapshot DESC LIMIT 1) END
$$;

-- Whether a snapshot that is still kept shows a row of this life span.
CREATE FUNCTION lakeproxy_is_kept(begun bigint, ended bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT ended IS NULL OR EXISTS (
    SELECT 1 FROM ducklake_snapshot WHERE snapshot_id >= begun AND snapshot_id < ended)
$$;

-- Data files and delete files number from one sequence, so the scheduled id
-- names the dead row in either table.
CREATE FUNCTION lakeproxy_guard_scheduled_file() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  object text := NEW.path;
BEGIN
  IF NEW.path_is_relative THEN
    SELECT value || NEW.path INTO object FROM ducklake_metadata
     WHERE key = 'data_path' AND scope IS NULL;
  END IF;
  IF EXISTS (
    SELECT 1 FROM ducklake_data_file f
     WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(object)
       AND f.data_file_id IS DISTINCT FROM NEW.data_file_id
       AND lakeproxy_object(f.table_id, f.path, f.path_is_relative) = object
       AND lakeproxy_is_kept(f.begin_snapshot, f.end_snapshot)
    UNION ALL
    SELECT 1 FROM ducklake_delete_file f
     WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(object)
       AND f.delete_file_id IS DISTINCT FROM NEW.data_file_id
       AND lakeproxy_object(f.table_id, f.path, f.path_is_relative) = object
       AND lakeproxy_is_kept(f.begin_snapshot, f.end_snapshot)) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER lakeproxy_guard_scheduled_file BEFORE INSERT ON ducklake_files_scheduled_for_deletion
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_guard_scheduled_file();
