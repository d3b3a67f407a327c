-- Where a table may lie that a client gives a place: in a folder of its own.

-- Whether another table's or view's folder lies in this one or around it, or a
-- namespace's lies in it, or its files are being removed. `but` is the table that
-- it replaces. A table that was dropped leaves its folder, whole, to whoever brings
-- a copy of it back. Folders end in '/'; s3a and s3n mean the same place as s3.
CREATE FUNCTION lakeproxy_folder_overlaps(of_folder text, but bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH wanted AS (SELECT regexp_replace(of_folder, '^s3[an]://', 's3://') AS folder),
  tables AS (
    SELECT f.table_id, regexp_replace(f.folder, '^s3[an]://', 's3://') AS folder,
           f.table_id IS NOT NULL AND NOT EXISTS (
             SELECT 1 FROM ducklake_table t WHERE t.table_id = f.table_id AND t.end_snapshot IS NULL) AS is_dropped
      FROM lakeproxy_folders() f
     UNION ALL
    SELECT p.table_id, regexp_replace(p.folder, '^s3[an]://', 's3://'), false FROM lakeproxy_purge p),
  namespaces AS (
    SELECT CASE WHEN s.path_is_relative
                THEN (SELECT m.value FROM ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL) || s.path
                ELSE regexp_replace(s.path, '^s3[an]://', 's3://') END AS folder
      FROM ducklake_schema s WHERE s.end_snapshot IS NULL)
  SELECT EXISTS (SELECT 1 FROM tables o, wanted w
                  WHERE o.table_id IS DISTINCT FROM but AND NOT (o.is_dropped AND o.folder = w.folder)
                    AND (starts_with(w.folder, o.folder) OR starts_with(o.folder, w.folder)))
      OR EXISTS (SELECT 1 FROM namespaces n, wanted w WHERE starts_with(n.folder, w.folder))
$$;
