-- Maintenance: which objects may be removed, and what compaction counts.

-- A published snapshot keeps its manifest list, manifests and data files until it is hidden
-- or expired. DuckDB replaces files behind old snapshots (merge, flush, rewrite): what a
-- visible snapshot may name stays in the store, known to DuckDB's clean-up, and passed over
-- by it.

-- Kept files -----------------------------------------------------------------------------

-- DuckDB inserts its snapshot before it deletes rows. Its transaction began before it wrote
-- the new files, so it does not see what was published meanwhile: every such file is kept
-- until the snapshot of the maintenance is published.
CREATE FUNCTION lakeproxy_keep_replaced_files() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO lakeproxy_kept_file (data_file_id, table_id, object, first_snapshot, until_snapshot)
  SELECT g.data_file_id, g.table_id, lakeproxy_object(g.table_id, g.path, g.path_is_relative), g.begin_snapshot,
         coalesce(g.end_snapshot, (SELECT max(s.snapshot_id) FROM ducklake_snapshot s))
    FROM gone g
   WHERE lakeproxy_is_kept(g.begin_snapshot, g.end_snapshot)
     AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = g.table_id)
  ON CONFLICT (data_file_id) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_keep_replaced_files AFTER DELETE ON ducklake_data_file
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_keep_replaced_files();

-- The time from which on a scheduled entry is one of a kept file: DuckDB's clean-up of old
-- files passes over it, and its removal of orphans knows the file. A day later it is one of a
-- file that a client recorded outside of its table's folder, which is never scheduled
-- otherwise.
CREATE FUNCTION lakeproxy_far_future() RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT '9999-01-01 00:00:00+00'::timestamptz $$;

-- Releases the kept files that no visible snapshot names any more; of all tables when
-- `of_table` is null. A file is kept, too, until a snapshot without it is published, since one
-- with it may be about to be; and while its table is unregistered. One pass over the
-- published snapshots, however many files there are.
CREATE FUNCTION lakeproxy_release_files(of_table bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  freed text[];
BEGIN
  IF NOT EXISTS (SELECT 1 FROM lakeproxy_kept_file k WHERE of_table IS NULL OR k.table_id = of_table) THEN
    RETURN;
  END IF;
  WITH kept AS MATERIALIZED (
    SELECT * FROM lakeproxy_kept_file k WHERE of_table IS NULL OR k.table_id = of_table
  ), tables AS MATERIALIZED (
    SELECT d.table_id,
           (SELECT max(p.format_version) FROM lakeproxy_snapshot p WHERE p.table_id = d.table_id) AS format_version,
           EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = d.table_id AND t.end_snapshot IS NULL) AS is_there
      FROM (SELECT DISTINCT table_id FROM kept) AS d
  ), hidden AS MATERIALIZED (
    SELECT t.table_id, (h->>0)::bigint AS first, (h->>1)::bigint AS last
      FROM lakeproxy_table t, jsonb_array_elements(coalesce(t.out_of_sight->'snapshots', '[]')) AS h
     WHERE t.table_id IN (SELECT table_id FROM tables)
  ), shown AS MATERIALIZED (
    SELECT p.table_id, p.snapshot_id
      FROM tables t
      JOIN lakeproxy_snapshot p ON p.table_id = t.table_id AND p.format_version = t.format_version
      JOIN ducklake_snapshot s ON s.snapshot_id = p.snapshot_id
     WHERE NOT EXISTS (SELECT 1 FROM hidden h
                        WHERE h.table_id = p.table_id AND p.snapshot_id BETWEEN h.first AND h.last)
  ), newest AS (
    SELECT table_id, max(snapshot_id) AS snapshot_id FROM shown GROUP BY table_id
  ), points AS ( -- The first visible snapshot at or after the beginning of each file's range.
    SELECT table_id, data_file_id, first_snapshot AS at, NULL::bigint AS shown FROM kept
    UNION ALL
    SELECT table_id, NULL, snapshot_id, snapshot_id FROM shown
  ), named AS (
    SELECT data_file_id, min(shown) OVER (PARTITION BY table_id ORDER BY at DESC) AS first_shown FROM points
  ), free AS (
    DELETE FROM lakeproxy_kept_file k
     USING named n, tables t LEFT JOIN newest ON newest.table_id = t.table_id
     WHERE k.data_file_id = n.data_file_id AND t.table_id = k.table_id
       AND NOT EXISTS (SELECT 1 FROM lakeproxy_unregistered u
                        WHERE u.table_id = k.table_id OR starts_with(k.object, u.folder))
       AND (n.first_shown IS NULL OR n.first_shown >= k.until_snapshot)
       AND (newest.snapshot_id >= k.until_snapshot OR NOT t.is_there
            OR NOT EXISTS (SELECT 1 FROM ducklake_snapshot s
                            WHERE s.snapshot_id >= k.first_snapshot AND s.snapshot_id < k.until_snapshot))
    RETURNING k.object
  )
  SELECT array_agg(DISTINCT f.object) INTO freed FROM free f;
  SELECT array_agg(o) INTO freed FROM unnest(freed) AS o
   WHERE NOT EXISTS (SELECT 1 FROM lakeproxy_kept_file k WHERE k.object = o);
  -- The guard's rules, also for files that were restored meanwhile.
  DELETE FROM ducklake_files_scheduled_for_deletion s USING unnest(freed) AS o
   WHERE lakeproxy_object_name(s.path) = lakeproxy_object_name(o) AND s.schedule_start >= lakeproxy_far_future()
     AND lakeproxy_scheduled_object(s.path, s.path_is_relative) = o
     AND (s.schedule_start > lakeproxy_far_future() OR lakeproxy_is_needed_by_another(o, s.data_file_id));
  UPDATE ducklake_files_scheduled_for_deletion s SET schedule_start = now() FROM unnest(freed) AS o
   WHERE lakeproxy_object_name(s.path) = lakeproxy_object_name(o) AND s.schedule_start = lakeproxy_far_future()
     AND lakeproxy_scheduled_object(s.path, s.path_is_relative) = o;
END $$;
REVOKE ALL ON FUNCTION lakeproxy_release_files(bigint) FROM PUBLIC;

-- A clean-up by force takes kept files all the same. The snapshots that named them are hidden
-- at once: they count as never published.
CREATE FUNCTION lakeproxy_lose_kept_files() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  WITH lost AS (
    DELETE FROM lakeproxy_kept_file k USING gone g
     WHERE g.schedule_start >= lakeproxy_far_future()
       AND k.object = lakeproxy_scheduled_object(g.path, g.path_is_relative)
    RETURNING k.table_id, k.first_snapshot, k.until_snapshot
  ), ranges AS (
    SELECT l.table_id, range_agg(int8range(l.first_snapshot, l.until_snapshot)) AS named FROM lost l GROUP BY l.table_id
  ), hidden AS (
    DELETE FROM lakeproxy_snapshot p USING ranges r
     WHERE p.table_id = r.table_id AND p.snapshot_id <@ r.named
    RETURNING 1
  )
  UPDATE lakeproxy_state SET revision = revision + 1, snapshots_removed_revision = revision + 1
   WHERE EXISTS (SELECT 1 FROM hidden);
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_lose_kept_files AFTER DELETE ON ducklake_files_scheduled_for_deletion
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_lose_kept_files();

-- Releases the files of snapshots that a client removed.
CREATE FUNCTION lakeproxy_snapshots_hidden() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM lakeproxy_release_files(NEW.table_id);
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_snapshots_hidden AFTER UPDATE ON lakeproxy_table
  FOR EACH ROW WHEN (OLD.out_of_sight->'snapshots' IS DISTINCT FROM NEW.out_of_sight->'snapshots')
  EXECUTE FUNCTION lakeproxy_snapshots_hidden();

-- Notes a manifest list that another one takes the place of.
CREATE FUNCTION lakeproxy_note_superseded() RETURNS trigger
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
CREATE TRIGGER lakeproxy_note_superseded BEFORE UPDATE OR DELETE ON lakeproxy_snapshot
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_note_superseded();

-- Who still needs an object --------------------------------------------------------------

-- Readable copies that a snapshot may need: their data file is there, and no later one of it
-- was made for other types.
CREATE FUNCTION lakeproxy_used_copies() RETURNS SETOF lakeproxy_readable_copy
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT c.* FROM lakeproxy_readable_copy c
   WHERE EXISTS (SELECT 1 FROM ducklake_data_file f WHERE f.data_file_id = c.data_file_id)
     AND NOT EXISTS (SELECT 1 FROM lakeproxy_readable_copy n
                      WHERE n.data_file_id = c.data_file_id AND n.made_at > c.made_at)
$$;

-- Those of the objects that are named: by rows of files, in any snapshot, by the newest
-- records of metadata, or by statistics files of a table; and those in the folder of an
-- unregistered table. `but` is a table whose rows do not count. A row whose folder cannot be
-- told counts as naming the object.
CREATE FUNCTION lakeproxy_named(objects text[], but bigint) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT a.asked FROM (SELECT u AS asked, lakeproxy_canonical(u) AS o FROM unnest(objects) AS u) AS a
   WHERE EXISTS (SELECT 1 FROM ducklake_data_file f
                  WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(o) AND f.table_id IS DISTINCT FROM but
                    AND coalesce(lakeproxy_object(f.table_id, f.path, f.path_is_relative) = o, true))
      OR EXISTS (SELECT 1 FROM ducklake_delete_file f
                  WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(o) AND f.table_id IS DISTINCT FROM but
                    AND coalesce(lakeproxy_object(f.table_id, f.path, f.path_is_relative) = o, true))
      OR EXISTS (SELECT 1 FROM lakeproxy_readable_copy r
                  WHERE r.location = a.asked AND r.table_id IS DISTINCT FROM but
                    AND EXISTS (SELECT 1 FROM lakeproxy_used_copies() u
                                 WHERE u.data_file_id = r.data_file_id AND u.signature = r.signature))
      OR EXISTS (SELECT 1 FROM lakeproxy_masked_copy m
                  WHERE m.locations @> ARRAY[a.asked] AND m.table_id IS DISTINCT FROM but
                    AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = m.table_id))
      OR EXISTS (SELECT 1 FROM lakeproxy_masked_state m
                  WHERE m.objects @> ARRAY[a.asked] AND m.table_id IS DISTINCT FROM but
                    AND EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = m.table_id))
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

-- Those of the objects that wait for DuckLake's clean-up.
CREATE FUNCTION lakeproxy_scheduled(objects text[]) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT o FROM unnest(objects) AS o
   WHERE EXISTS (SELECT 1 FROM ducklake_files_scheduled_for_deletion s
                  WHERE lakeproxy_object_name(s.path) = lakeproxy_object_name(o)
                    AND lakeproxy_scheduled_object(s.path, s.path_is_relative) = lakeproxy_canonical(o))
$$;

-- Those of the objects that a client may neither replace nor remove: named ones, kept files of
-- published snapshots, and what waits for DuckLake's clean-up, which would take a new object of
-- that name. Manifests and their lists are not asked for: they lie in the server's own folders.
CREATE FUNCTION lakeproxy_is_recorded(objects text[]) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_named(objects, NULL)
  UNION
  SELECT lakeproxy_scheduled(objects)
  UNION
  SELECT o FROM unnest(objects) AS o
   WHERE EXISTS (SELECT 1 FROM lakeproxy_kept_file k WHERE k.object = lakeproxy_canonical(o))
$$;

-- The live table in whose folder the object lies, of several the innermost; none where that is
-- the folder of something else. A folder that two live tables have gives both.
CREATE FUNCTION lakeproxy_table_of_object(object text, OUT flat_name text, OUT table_name text, OUT folder text)
RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH around AS (
    SELECT f.table_id, f.folder, max(length(f.folder)) OVER () AS longest
      FROM lakeproxy_folders() f WHERE starts_with(lakeproxy_canonical(object), f.folder)
  )
  SELECT DISTINCT s.flat_name, t.table_name::text, a.folder
    FROM around a
    JOIN ducklake_table t ON t.table_id = a.table_id AND t.end_snapshot IS NULL
    JOIN lakeproxy_schemas() s ON s.schema_id = t.schema_id
   WHERE length(a.folder) = a.longest
$$;

-- Whether another table or view stands in this folder, or around it.
CREATE FUNCTION lakeproxy_folder_is_shared(of_table bigint, of_folder text) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT 1 FROM lakeproxy_folders() f
                  WHERE f.table_id IS DISTINCT FROM of_table AND starts_with(lakeproxy_canonical(of_folder), f.folder))
$$;

-- Of the objects in the folder of a dropped table, those that others need.
CREATE FUNCTION lakeproxy_needed_by_others(of_table bigint, of_folder text, objects text[]) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_named(objects, of_table)
  UNION
  SELECT o FROM unnest(objects) AS o
    JOIN (SELECT f.folder FROM lakeproxy_folders() f
           WHERE f.table_id IS DISTINCT FROM of_table
             AND starts_with(f.folder, lakeproxy_canonical(of_folder))) AS inner_folder
      ON starts_with(lakeproxy_canonical(o), inner_folder.folder)
$$;

-- Compaction -----------------------------------------------------------------------------

-- The table as it is now. `inlined`: the number of inlined rows and deletes.
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
    EXECUTE format('SELECT count(*) FROM %I WHERE %s IS NULL', held.table_name,
                   (SELECT c.ended FROM lakeproxy_inlined_columns(quote_ident(held.table_name)::regclass) c)) INTO counted;
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

-- Whether a flush of the table keeps all rows: it never was partitioned by a text, or none of
-- its inlined rows were deleted. The texts of inlined rows stand in PostgreSQL as bytes. When
-- DuckDB 1.5.5 flushes a table that is partitioned by a text, it looks for the deleted rows
-- of each partition by the text, finds none or others among the bytes, and takes other rows
-- of the file for deleted. It goes by the partitions that the table had when the rows were
-- inserted.
CREATE FUNCTION lakeproxy_may_flush(of_schema text, of_name text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  held record;
  deleted boolean;
BEGIN
  FOR held IN
    SELECT i.table_name
      FROM ducklake_table t
      JOIN ducklake_inlined_data_tables i ON i.table_id = t.table_id
     WHERE t.schema_id = (SELECT lakeproxy_find_schema(of_schema)) AND t.table_name = of_name AND t.end_snapshot IS NULL
       AND EXISTS (SELECT 1 FROM ducklake_partition_info p
                     JOIN ducklake_partition_column k ON k.partition_id = p.partition_id
                     JOIN ducklake_column c ON c.table_id = t.table_id AND c.column_id = k.column_id
                    WHERE p.table_id = t.table_id
                      AND lower(c.column_type) IN ('varchar', 'json'))
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I WHERE %s IS NOT NULL)', held.table_name,
                   (SELECT c.ended FROM lakeproxy_inlined_columns(quote_ident(held.table_name)::regclass) c)) INTO deleted;
    IF deleted THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END $$;

-- Snapshots that the lake's option expire_older_than lets expire: not the newest, and none
-- that a tag or branch of a table names.
CREATE FUNCTION lakeproxy_expirable(most bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT s.snapshot_id FROM ducklake_snapshot s
   WHERE s.snapshot_time < now() - (SELECT lakeproxy_lake_option('expire_older_than')::interval)
     AND s.snapshot_id < (SELECT max(n.snapshot_id) FROM ducklake_snapshot n)
     AND NOT EXISTS (SELECT 1 FROM lakeproxy_table t, jsonb_each(t.refs) r
                      WHERE (r.value->>'snapshot-id')::bigint = s.snapshot_id)
   ORDER BY s.snapshot_id LIMIT most
$$;

-- Objects in the table's folder that are scheduled for removal since at least `seconds`, and
-- that no client can know of any more.
CREATE FUNCTION lakeproxy_removable(of_table bigint, seconds double precision, most bigint)
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

-- Which database removes objects ---------------------------------------------------------

-- A copy of this database (a clone, a restored backup) knows the same prefix in the store,
-- and to it everything that was written since the copy is nobody's. So an object in the
-- prefix says which database removes objects there, and this function says who this one is.
-- CREATE DATABASE ... TEMPLATE and a restored dump change the number of the database,
-- another server has another system identifier, and a promoted standby or a recovery to a
-- point in time begins a new timeline.
CREATE FUNCTION lakeproxy_identity(OUT lake_id uuid, OUT system_identifier text, OUT timeline bigint,
                                   OUT database_number bigint, OUT owner_written boolean)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT s.lake_id, (SELECT c.system_identifier::text FROM pg_control_system() c),
         ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint,
         (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()), s.owner_written
    FROM lakeproxy_state s
$$;

-- The newest change of the lake that this database knows.
CREATE FUNCTION lakeproxy_newest_change() RETURNS timestamptz
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT greatest((SELECT max(s.snapshot_time) FROM ducklake_snapshot s),
                  (SELECT to_timestamp(max(l.timestamp_ms) / 1000.0) FROM lakeproxy_metadata_log l),
                  (SELECT to_timestamp(max(t.updated_ms) / 1000.0) FROM lakeproxy_table t),
                  (SELECT s.owner_since FROM lakeproxy_state s))
$$;
