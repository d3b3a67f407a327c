-- What clients see of a table and DuckLake has no place for: statistics files,
-- as they were given, and what is kept but not shown. No row of DuckLake's own
-- goes when a client removes a snapshot, a schema or a partition spec:
--   {"schemas": [id, ...], "specs": {"id": revision, ...}, "snapshots": [[first, last], ...]}
ALTER TABLE lakeproxy_table
  ADD COLUMN statistics jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN partition_statistics jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN out_of_sight jsonb NOT NULL DEFAULT '{}';

-- As before, and statistics files that a table is shown with, or may be again.
CREATE OR REPLACE FUNCTION lakeproxy_named(objects text[], but bigint) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT o FROM unnest(objects) AS o
   WHERE EXISTS (SELECT 1 FROM ducklake_data_file f
                  WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(o) AND f.table_id IS DISTINCT FROM but
                    AND coalesce(lakeproxy_object(f.table_id, f.path, f.path_is_relative) = o, true))
      OR EXISTS (SELECT 1 FROM ducklake_delete_file f
                  WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(o) AND f.table_id IS DISTINCT FROM but
                    AND coalesce(lakeproxy_object(f.table_id, f.path, f.path_is_relative) = o, true))
      OR EXISTS (SELECT 1 FROM lakeproxy_metadata_log l
                  WHERE l.metadata_file = o AND l.table_id IS DISTINCT FROM but
                    AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = l.table_id))
      OR EXISTS (SELECT 1 FROM lakeproxy_view v JOIN ducklake_view d ON d.view_id = v.view_id
                  WHERE v.metadata_location = o)
      OR o IN (SELECT file->>'statistics-path'
                 FROM lakeproxy_table p, jsonb_array_elements(p.statistics || p.partition_statistics) AS file
                WHERE p.table_id IS DISTINCT FROM but AND file->>'statistics-path' IS NOT NULL
                  AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = p.table_id))
$$;
