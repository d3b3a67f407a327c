-- An Iceberg client may record a data file at any path: another bucket, a local
-- file, whatever it says. DuckDB removes the files of dead rows with the rights
-- of whoever calls its clean-up. So a file that a client recorded outside of the
-- lake's data path is never scheduled: it is not the lake's to remove. Files that
-- DuckDB itself added stand under DuckDB's own rule.
CREATE OR REPLACE FUNCTION lakeproxy_guard_scheduled_file() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  data_path text;
  object text;
BEGIN
  SELECT m.value INTO STRICT data_path FROM ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL;
  object := CASE WHEN NEW.path_is_relative THEN data_path || NEW.path ELSE NEW.path END;
  IF NOT starts_with(object, data_path)
     AND EXISTS (SELECT 1 FROM lakeproxy_file f WHERE f.data_file_id = NEW.data_file_id) THEN
    RETURN NULL;
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

-- What was scheduled before.
DELETE FROM ducklake_files_scheduled_for_deletion s
 USING lakeproxy_file f, ducklake_metadata m
 WHERE f.data_file_id = s.data_file_id AND NOT s.path_is_relative
   AND m.key = 'data_path' AND m.scope IS NULL AND NOT starts_with(s.path, m.value);
