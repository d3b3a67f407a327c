-- "s3a://" and "s3n://" are other spellings of "s3://": Hadoop's file systems write
-- them, and a table that such a client made can be registered here. Whoever asks
-- whether something names an object compares the canonical spelling, or an object
-- that is needed looks like nobody's.

CREATE FUNCTION lakeproxy_canonical(location text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT regexp_replace(location, '^s3[an]://', 's3://') $$;

DROP INDEX lakeproxy_metadata_log_file;
CREATE INDEX lakeproxy_metadata_log_object ON lakeproxy_metadata_log USING hash (lakeproxy_canonical(metadata_file));

-- The object of a path that is relative to its table's folder, or absolute, in
-- its canonical spelling.
CREATE OR REPLACE FUNCTION lakeproxy_object(of_table bigint, path text, is_relative boolean) RETURNS text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_canonical(CASE WHEN NOT is_relative THEN $2 ELSE (
    SELECT CASE WHEN NOT t.path_is_relative THEN ''
                WHEN NOT s.path_is_relative THEN s.path
                ELSE (SELECT m.value FROM ducklake_metadata m
                       WHERE m.key = 'data_path' AND m.scope IS NULL) || s.path END || t.path || $2
      FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
     WHERE t.table_id = $1
     ORDER BY t.begin_snapshot DESC LIMIT 1) END)
$$;

-- The object of an entry of ducklake_files_scheduled_for_deletion.
CREATE FUNCTION lakeproxy_scheduled_object(path text, is_relative boolean) RETURNS text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_canonical(CASE WHEN is_relative
    THEN (SELECT m.value FROM ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL) || $1
    ELSE $1 END)
$$;

CREATE OR REPLACE FUNCTION lakeproxy_is_own(of_table bigint, object text) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH folders AS (
    SELECT t.table_id, rtrim(lakeproxy_object(t.table_id, '', true), '/') || '/' AS folder
      FROM ducklake_table t
     WHERE t.table_id = of_table
        OR strpos(lakeproxy_canonical(object), rtrim(lakeproxy_canonical(t.path), '/') || '/') > 0
  )
  SELECT EXISTS (
    SELECT 1 FROM folders own
     WHERE own.table_id = of_table AND starts_with(lakeproxy_canonical(object), own.folder) AND NOT EXISTS (
       SELECT 1 FROM folders f
        WHERE f.table_id <> of_table AND starts_with(lakeproxy_canonical(object), f.folder)
          AND starts_with(f.folder, own.folder) AND f.folder <> own.folder))
$$;

CREATE OR REPLACE FUNCTION lakeproxy_guard_scheduled_file() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  object text := lakeproxy_scheduled_object(NEW.path, NEW.path_is_relative);
BEGIN
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
$$;

CREATE OR REPLACE FUNCTION lakeproxy_folder_is_shared(of_table bigint, of_folder text) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT 1 FROM lakeproxy_folders() f
                  WHERE f.table_id IS DISTINCT FROM of_table AND starts_with(lakeproxy_canonical(of_folder), f.folder))
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
      OR o IN (SELECT lakeproxy_canonical(file->>'statistics-path')
                 FROM lakeproxy_table p, jsonb_array_elements(p.statistics || p.partition_statistics) AS file
                WHERE p.table_id IS DISTINCT FROM but AND file->>'statistics-path' IS NOT NULL
                  AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = p.table_id))
$$;

CREATE OR REPLACE FUNCTION lakeproxy_scheduled(objects text[]) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT o FROM unnest(objects) AS o
   WHERE EXISTS (SELECT 1 FROM ducklake_files_scheduled_for_deletion s
                  WHERE lakeproxy_object_name(s.path) = lakeproxy_object_name(o)
                    AND lakeproxy_scheduled_object(s.path, s.path_is_relative) = lakeproxy_canonical(o))
$$;

CREATE OR REPLACE FUNCTION lakeproxy_needed_by_others(of_table bigint, of_folder text, objects text[]) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_named(objects, of_table)
  UNION
  SELECT o FROM unnest(objects) AS o
    JOIN (SELECT f.folder FROM lakeproxy_folders() f
           WHERE f.table_id IS DISTINCT FROM of_table
             AND starts_with(f.folder, lakeproxy_canonical(of_folder))) AS inner_folder
      ON starts_with(lakeproxy_canonical(o), inner_folder.folder)
$$;

CREATE OR REPLACE FUNCTION lakeproxy_removable(of_table bigint, seconds double precision, most bigint)
RETURNS TABLE (object text, path text, data_file_id bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT w.object, w.path, w.data_file_id
    FROM (SELECT s.path, s.data_file_id, s.schedule_start,
                 lakeproxy_scheduled_object(s.path, s.path_is_relative) AS object
            FROM ducklake_files_scheduled_for_deletion s
           WHERE s.schedule_start <= now() - make_interval(secs => seconds)) AS w
   WHERE EXISTS (SELECT 1 FROM lakeproxy_folders() f WHERE f.table_id = of_table AND starts_with(w.object, f.folder))
     AND NOT EXISTS (SELECT 1 FROM lakeproxy_named(ARRAY[w.object], NULL))
     AND NOT EXISTS (SELECT 1 FROM lakeproxy_superseded p
                      WHERE p.table_id = of_table AND p.recorded_at <= w.schedule_start
                        AND p.superseded_at > now() - make_interval(secs => seconds))
   ORDER BY w.schedule_start, w.data_file_id LIMIT most
$$;

CREATE OR REPLACE FUNCTION lakeproxy_live_files(of_table bigint, folder text, locations text[])
RETURNS TABLE (location text, data_file_id bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT p.location, f.data_file_id
    FROM unnest(locations) AS p(location)
    JOIN ducklake_data_file f ON lakeproxy_object_name(f.path) = lakeproxy_object_name(p.location)
   WHERE f.table_id = of_table AND f.end_snapshot IS NULL
     AND lakeproxy_canonical(CASE WHEN coalesce(f.path_is_relative, true) THEN folder || f.path ELSE f.path END)
         = lakeproxy_canonical(p.location)
$$;

-- Entries that DuckDB scheduled while objects were compared as text: of objects
-- that a kept row shows, or that a client recorded outside of its table's folder.
DELETE FROM ducklake_files_scheduled_for_deletion s
 WHERE EXISTS (SELECT 1 FROM ducklake_data_file f
                WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(s.path)
                  AND f.data_file_id IS DISTINCT FROM s.data_file_id
                  AND lakeproxy_object(f.table_id, f.path, f.path_is_relative)
                      = lakeproxy_scheduled_object(s.path, s.path_is_relative)
                  AND lakeproxy_is_kept(f.begin_snapshot, f.end_snapshot))
    OR EXISTS (SELECT 1 FROM ducklake_delete_file f
                WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(s.path)
                  AND f.delete_file_id IS DISTINCT FROM s.data_file_id
                  AND lakeproxy_object(f.table_id, f.path, f.path_is_relative)
                      = lakeproxy_scheduled_object(s.path, s.path_is_relative)
                  AND lakeproxy_is_kept(f.begin_snapshot, f.end_snapshot));
