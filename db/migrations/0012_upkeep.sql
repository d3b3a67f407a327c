-- What must be known before an object is removed.

-- Tables that were dropped together with their files, until the files are gone.
CREATE TABLE lakeproxy_purge (
  table_id bigint PRIMARY KEY,
  schema_name text NOT NULL,
  table_name text NOT NULL,
  folder text NOT NULL, -- ends in '/'
  dropped_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Manifest lists that no snapshot has any more. Clients that loaded the table
-- before may still read them.
CREATE TABLE lakeproxy_superseded (
  table_id bigint NOT NULL,
  manifest_list text NOT NULL,
  superseded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX lakeproxy_superseded_at ON lakeproxy_superseded (superseded_at);

ALTER TABLE lakeproxy_snapshot ADD COLUMN recorded_at timestamptz NOT NULL DEFAULT clock_timestamp();
CREATE INDEX lakeproxy_snapshot_recorded ON lakeproxy_snapshot (recorded_at);

CREATE FUNCTION lakeproxy_note_superseded() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF OLD.snapshot_json->>'manifest-list' IS NOT DISTINCT FROM NEW.snapshot_json->>'manifest-list' THEN
      RETURN NEW;
    END IF;
    NEW.recorded_at := clock_timestamp();
  END IF;
  IF OLD.snapshot_json->>'manifest-list' IS NOT NULL THEN
    INSERT INTO lakeproxy_superseded (table_id, manifest_list)
    VALUES (OLD.table_id, OLD.snapshot_json->>'manifest-list');
  END IF;
  IF TG_OP = 'UPDATE' THEN
    RETURN NEW;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER lakeproxy_note_superseded BEFORE UPDATE OR DELETE ON lakeproxy_snapshot
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_note_superseded();

CREATE INDEX lakeproxy_scheduled_name ON ducklake_files_scheduled_for_deletion (lakeproxy_object_name(path));

-- The folders of tables that some kept snapshot shows, and of views.
CREATE FUNCTION lakeproxy_folders(OUT table_id bigint, OUT folder text) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT t.table_id, rtrim(
           CASE WHEN NOT t.path_is_relative THEN ''
                WHEN NOT s.path_is_relative THEN s.path
                ELSE (SELECT m.value FROM ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL) || s.path
           END || t.path, '/') || '/'
    FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
   WHERE lakeproxy_is_kept(t.begin_snapshot, t.end_snapshot)
   UNION ALL
  SELECT NULL, rtrim(v.document->>'location', '/') || '/' FROM lakeproxy_view v WHERE v.document->>'location' IS NOT NULL
$$;

-- Whether another table or view stands in this folder, or around it.
CREATE FUNCTION lakeproxy_folder_is_shared(of_table bigint, of_folder text) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT 1 FROM lakeproxy_folders() f
                  WHERE f.table_id IS DISTINCT FROM of_table AND starts_with(of_folder, f.folder))
$$;

-- Those of the objects that rows of files name, in any snapshot, or the newest
-- records of metadata. `but` is a table whose rows do not count. A row whose
-- folder cannot be told counts as naming the object.
CREATE FUNCTION lakeproxy_named(objects text[], but bigint) RETURNS SETOF text
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
$$;

-- Those of the objects that wait for DuckLake's clean-up.
CREATE FUNCTION lakeproxy_scheduled(objects text[]) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT o FROM unnest(objects) AS o
   WHERE EXISTS (SELECT 1 FROM ducklake_files_scheduled_for_deletion s
                  WHERE lakeproxy_object_name(s.path) = lakeproxy_object_name(o)
                    AND o = CASE WHEN s.path_is_relative
                                 THEN (SELECT m.value FROM ducklake_metadata m
                                        WHERE m.key = 'data_path' AND m.scope IS NULL) || s.path
                                 ELSE s.path END)
$$;

-- Of the objects in the folder of a dropped table, those that others need.
CREATE FUNCTION lakeproxy_needed_by_others(of_table bigint, of_folder text, objects text[]) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_named(objects, of_table)
  UNION
  SELECT o FROM unnest(objects) AS o
    JOIN (SELECT f.folder FROM lakeproxy_folders() f
           WHERE f.table_id IS DISTINCT FROM of_table AND starts_with(f.folder, of_folder)) AS inner_folder
      ON starts_with(o, inner_folder.folder)
$$;
