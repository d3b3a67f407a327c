-- What the compaction of a table counts, and what it may remove.

-- A file was let go of at some time; only lists that were recorded before may name it.
ALTER TABLE lakeproxy_superseded ADD COLUMN recorded_at timestamptz NOT NULL DEFAULT '-infinity';
CREATE INDEX lakeproxy_superseded_table ON lakeproxy_superseded (table_id, superseded_at);

CREATE OR REPLACE FUNCTION lakeproxy_note_superseded() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  recorded timestamptz := OLD.recorded_at;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF OLD.snapshot_json->>'manifest-list' IS NOT DISTINCT FROM NEW.snapshot_json->>'manifest-list' THEN
      RETURN NEW;
    END IF;
    NEW.recorded_at := clock_timestamp();
  END IF;
  IF OLD.snapshot_json->>'manifest-list' IS NOT NULL THEN
    INSERT INTO lakeproxy_superseded (table_id, manifest_list, recorded_at)
    VALUES (OLD.table_id, OLD.snapshot_json->>'manifest-list', recorded);
  END IF;
  IF TG_OP = 'UPDATE' THEN
    RETURN NEW;
  END IF;
  RETURN OLD;
END $$;

-- The table as it is now. `inlined`: rows and deletes that PostgreSQL holds.
CREATE FUNCTION lakeproxy_table_totals(of_table bigint, OUT files bigint, OUT bytes bigint, OUT delete_files bigint,
                                       OUT row_count bigint, OUT inlined bigint)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  held record;
  counted bigint;
  relation regclass := to_regclass('ducklake_inlined_delete_' || of_table);
BEGIN
  SELECT count(*), coalesce(sum(f.file_size_bytes), 0), coalesce(sum(f.record_count), 0)
    INTO files, bytes, row_count
    FROM ducklake_data_file f WHERE f.table_id = of_table AND f.end_snapshot IS NULL;
  SELECT count(*), bytes + coalesce(sum(d.file_size_bytes), 0), row_count - coalesce(sum(d.delete_count), 0)
    INTO delete_files, bytes, row_count
    FROM ducklake_delete_file d JOIN ducklake_data_file f ON f.data_file_id = d.data_file_id AND f.end_snapshot IS NULL
   WHERE d.table_id = of_table AND d.end_snapshot IS NULL;
  inlined := 0;
  FOR held IN SELECT i.table_name FROM ducklake_inlined_data_tables i WHERE i.table_id = of_table LOOP
    EXECUTE format('SELECT count(*) FROM %I WHERE end_snapshot IS NULL', held.table_name) INTO counted;
    inlined := inlined + counted;
    row_count := row_count + counted;
  END LOOP;
  IF relation IS NOT NULL THEN
    EXECUTE format('SELECT count(*) FROM %s d JOIN ducklake_data_file f ON f.data_file_id = d.file_id '
                   'AND f.end_snapshot IS NULL', relation) INTO counted;
    inlined := inlined + counted;
    row_count := row_count - counted;
  END IF;
END $$;

-- Snapshots that the lake's own setting lets go: not the newest, and none that
-- a tag or branch of a table names.
CREATE FUNCTION lakeproxy_expirable(most bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT s.snapshot_id FROM ducklake_snapshot s
   WHERE s.snapshot_time < now() - (SELECT m.value::interval FROM ducklake_metadata m
                                     WHERE m.key = 'expire_older_than' AND m.scope IS NULL)
     AND s.snapshot_id < (SELECT max(n.snapshot_id) FROM ducklake_snapshot n)
     AND NOT EXISTS (SELECT 1 FROM lakeproxy_table t, jsonb_each(t.refs) r
                      WHERE (r.value->>'snapshot-id')::bigint = s.snapshot_id)
   ORDER BY s.snapshot_id LIMIT most
$$;

-- Objects in the table's folder that wait for their removal, were let go of
-- before `seconds` ago, and that no client can know of any more.
CREATE FUNCTION lakeproxy_removable(of_table bigint, seconds double precision, most bigint)
RETURNS TABLE (object text, path text, data_file_id bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT w.object, w.path, w.data_file_id
    FROM (SELECT s.path, s.data_file_id, s.schedule_start,
                 CASE WHEN s.path_is_relative
                      THEN (SELECT m.value FROM ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL) || s.path
                      ELSE s.path END AS object
            FROM ducklake_files_scheduled_for_deletion s
           WHERE s.schedule_start <= now() - make_interval(secs => seconds)) AS w
   WHERE EXISTS (SELECT 1 FROM lakeproxy_folders() f WHERE f.table_id = of_table AND starts_with(w.object, f.folder))
     AND NOT EXISTS (SELECT 1 FROM lakeproxy_named(ARRAY[w.object], NULL))
     AND NOT EXISTS (SELECT 1 FROM lakeproxy_superseded p
                      WHERE p.table_id = of_table AND p.recorded_at <= w.schedule_start
                        AND p.superseded_at > now() - make_interval(secs => seconds))
   ORDER BY w.schedule_start, w.data_file_id LIMIT most
$$;
