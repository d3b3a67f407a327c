-- An Iceberg client may record any object of the lake as a data file of its table:
-- another table's data file, or a file of its metadata. Once that row is dead,
-- DuckDB's clean-up would remove the object under the other table's readers. So a
-- file that a client recorded outside of its own table's folder is never scheduled.

-- Whether an object lies in the folder of the table, and not in the folder of
-- another table inside of it.
CREATE FUNCTION lakeproxy_is_own(of_table bigint, object text) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH folders AS (
    SELECT t.table_id, rtrim(lakeproxy_object(t.table_id, '', true), '/') || '/' AS folder
      FROM ducklake_table t
     WHERE t.table_id = of_table OR strpos(object, rtrim(t.path, '/') || '/') > 0
  )
  SELECT EXISTS (
    SELECT 1 FROM folders own
     WHERE own.table_id = of_table AND starts_with(object, own.folder) AND NOT EXISTS (
       SELECT 1 FROM folders f
        WHERE f.table_id <> of_table AND starts_with(object, f.folder)
          AND starts_with(f.folder, own.folder) AND f.folder <> own.folder))
$$;

CREATE OR REPLACE FUNCTION lakeproxy_guard_scheduled_file() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  data_path text;
  object text;
BEGIN
  SELECT m.value INTO STRICT data_path FROM ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL;
  object := CASE WHEN NEW.path_is_relative THEN data_path || NEW.path ELSE NEW.path END;
  IF EXISTS (SELECT 1 FROM lakeproxy_file f
              WHERE f.data_file_id = NEW.data_file_id AND NOT lakeproxy_is_own(f.table_id, object)) THEN
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

-- What was scheduled before, as far as its table is still known.
DELETE FROM ducklake_files_scheduled_for_deletion s
 USING lakeproxy_file f, ducklake_metadata m
 WHERE f.data_file_id = s.data_file_id AND m.key = 'data_path' AND m.scope IS NULL
   AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = f.table_id)
   AND NOT lakeproxy_is_own(f.table_id, CASE WHEN s.path_is_relative THEN m.value || s.path ELSE s.path END);
