-- A published snapshot keeps its manifest list, manifests and data files until clients
-- do not see it any more. DuckDB replaces files behind old snapshots (merge, flush,
-- rewrite): what a visible snapshot may name stays in the store, known to DuckDB's
-- clean-up, and passed over by it.

-- The last snapshot that replaced files of a table and changed no row.
DROP TRIGGER lakeproxy_note_epoch ON ducklake_snapshot_changes;
DROP FUNCTION lakeproxy_note_epoch();
ALTER TABLE lakeproxy_epoch RENAME TO lakeproxy_maintained;

-- Snapshots that earlier releases had built before the last maintenance were not shown any more.
DELETE FROM lakeproxy_snapshot s
 WHERE s.epoch <> coalesce((SELECT m.snapshot_id FROM lakeproxy_maintained m WHERE m.table_id = s.table_id), 0);
-- Names of exported files held that number: the next snapshot names them anew.
UPDATE lakeproxy_maintained m
   SET snapshot_id = greatest(m.snapshot_id,
         (SELECT max(s.snapshot_id) + 1 FROM lakeproxy_snapshot s WHERE s.table_id = m.table_id));
ALTER TABLE lakeproxy_snapshot DROP COLUMN epoch;

-- With its owner's rights, as all triggers below: whoever may maintain the lake need not know these tables.
CREATE FUNCTION lakeproxy_note_maintenance() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO lakeproxy_maintained (table_id, snapshot_id)
  SELECT table_id, NEW.snapshot_id FROM lakeproxy_maintained_tables(NEW.changes_made) AS table_id
  ORDER BY table_id
  ON CONFLICT (table_id) DO UPDATE
    SET snapshot_id = greatest(lakeproxy_maintained.snapshot_id, excluded.snapshot_id);
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_note_maintenance AFTER INSERT ON ducklake_snapshot_changes
  FOR EACH ROW
  WHEN (NEW.changes_made ~ 'merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table')
  EXECUTE FUNCTION lakeproxy_note_maintenance();

-- Objects whose rows DuckDB has taken out of the lake while snapshots are kept that showed
-- them: published ones in [first_snapshot, until_snapshot) may name them.
CREATE TABLE lakeproxy_kept_file (
  data_file_id bigint PRIMARY KEY,
  table_id bigint NOT NULL,
  object text NOT NULL, -- in its canonical spelling
  first_snapshot bigint NOT NULL,
  until_snapshot bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS lakeproxy_kept_file_table ON lakeproxy_kept_file (table_id);
CREATE INDEX IF NOT EXISTS lakeproxy_kept_file_object ON lakeproxy_kept_file USING hash (object);

-- DuckDB inserts its snapshot before it deletes rows. Its transaction began before it wrote the
-- new files, so that it does not see what was published meanwhile: every such file is kept
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

-- From here on an entry is one of a kept file: DuckDB's clean-up of old files passes over it,
-- and its removal of orphans knows the file. A day later it is one of a file that a client
-- recorded outside of its table's folder, which is never scheduled otherwise.
CREATE FUNCTION lakeproxy_far_future() RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT '9999-01-01 00:00:00+00'::timestamptz $$;

-- Whether a row of another id, or of an unregistered table, makes the object needed.
CREATE FUNCTION lakeproxy_is_needed_by_another(asked text, but bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM ducklake_data_file f
     WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(asked)
       AND (f.data_file_id IS DISTINCT FROM but
            OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = f.table_id))
       AND lakeproxy_object(f.table_id, f.path, f.path_is_relative) = asked
       AND lakeproxy_is_needed(f.table_id, f.begin_snapshot, f.end_snapshot)
    UNION ALL
    SELECT 1 FROM ducklake_delete_file f
     WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(asked)
       AND (f.delete_file_id IS DISTINCT FROM but
            OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = f.table_id))
       AND lakeproxy_object(f.table_id, f.path, f.path_is_relative) = asked
       AND lakeproxy_is_needed(f.table_id, f.begin_snapshot, f.end_snapshot));
END $$;

CREATE OR REPLACE FUNCTION lakeproxy_guard_scheduled_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  named text := lakeproxy_scheduled_object(NEW.path, NEW.path_is_relative);
  is_elsewhere boolean := EXISTS (SELECT 1 FROM lakeproxy_file f
                                   WHERE f.data_file_id = NEW.data_file_id AND NOT lakeproxy_is_own(f.table_id, named));
BEGIN
  IF EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE starts_with(named, u.folder))
     OR lakeproxy_is_needed_by_another(named, NEW.data_file_id) THEN
    RETURN NULL;
  END IF;
  IF EXISTS (SELECT 1 FROM lakeproxy_kept_file k WHERE k.object = named) THEN
    NEW.schedule_start := lakeproxy_far_future();
    -- The removal of orphans looks at nothing else.
    IF is_elsewhere AND named LIKE '%.parquet' AND starts_with(named, lakeproxy_canonical(
         (SELECT m.value FROM ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL))) THEN
      NEW.schedule_start := lakeproxy_far_future() + interval '1 day';
      RETURN NEW;
    END IF;
  END IF;
  RETURN CASE WHEN NOT is_elsewhere THEN NEW END;
END $$;

-- Lets go of the kept files that no visible snapshot names any more; of all tables when `of_table`
-- is null. A file is kept, too, until a snapshot without it is published: one with it may be on its
-- way; and while its table is unregistered. One pass over the published snapshots, however many files there are.
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
  -- The guard's rules, also for what came back meanwhile.
  DELETE FROM ducklake_files_scheduled_for_deletion s USING unnest(freed) AS o
   WHERE lakeproxy_object_name(s.path) = lakeproxy_object_name(o) AND s.schedule_start >= lakeproxy_far_future()
     AND lakeproxy_scheduled_object(s.path, s.path_is_relative) = o
     AND (s.schedule_start > lakeproxy_far_future() OR lakeproxy_is_needed_by_another(o, s.data_file_id));
  UPDATE ducklake_files_scheduled_for_deletion s SET schedule_start = now() FROM unnest(freed) AS o
   WHERE lakeproxy_object_name(s.path) = lakeproxy_object_name(o) AND s.schedule_start = lakeproxy_far_future()
     AND lakeproxy_scheduled_object(s.path, s.path_is_relative) = o;
END $$;
REVOKE ALL ON FUNCTION lakeproxy_release_files(bigint) FROM PUBLIC;

-- Whoever forces the clean-up takes kept files all the same. The snapshots that named them
-- are hidden at once: they count as never published.
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

-- What ends the visibility of snapshots lets go of files: their expiry, and their removal by a client.
CREATE OR REPLACE FUNCTION lakeproxy_snapshots_removed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE lakeproxy_state
     SET revision = revision + 1, snapshots_removed_revision = revision + 1;
  PERFORM lakeproxy_release_files(NULL);
  RETURN NULL;
END $$;

CREATE FUNCTION lakeproxy_snapshots_hidden() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM lakeproxy_release_files(NEW.table_id);
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_snapshots_hidden AFTER UPDATE ON lakeproxy_table
  FOR EACH ROW WHEN (OLD.out_of_sight->'snapshots' IS DISTINCT FROM NEW.out_of_sight->'snapshots')
  EXECUTE FUNCTION lakeproxy_snapshots_hidden();

-- The first flush of the table's rows after a snapshot, by the log; the last maintenance where the
-- log has none any more. Names go first: they may look like entries.
CREATE FUNCTION lakeproxy_flushed_at(of_table bigint, after bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT coalesce(
    (SELECT c.snapshot_id FROM ducklake_snapshot_changes c
      WHERE c.snapshot_id > after AND c.changes_made ~ 'inline_flush|flushed_inlined'
        AND regexp_replace(c.changes_made, '"[^"]*"', '', 'g')
            ~ ('(^|,)(inline_flush|flushed_inlined):' || of_table || '(,|$)')
      ORDER BY c.snapshot_id LIMIT 1),
    (SELECT m.snapshot_id FROM lakeproxy_maintained m WHERE m.table_id = of_table))
$$;

-- Delete files that hold deletes of several snapshots, and the last one that it can be, of
-- those that concern (after, up_to]. DuckDB writes a delete file anew, in the place of the one
-- before, when more rows go. A flush writes delete files beside its data files and leaves their
-- partial_max out.
DROP FUNCTION lakeproxy_span_changes(bigint, bigint, bigint);
CREATE FUNCTION lakeproxy_partial_deletes(of_table bigint, after bigint, up_to bigint)
RETURNS TABLE (data_file_id bigint, first bigint, last bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT d.data_file_id, d.begin_snapshot, d.partial_max FROM ducklake_delete_file d
   WHERE d.table_id = of_table AND d.partial_max > after AND d.begin_snapshot <= up_to
  UNION ALL
  SELECT * FROM (
    SELECT d.data_file_id, d.begin_snapshot, least(d.end_snapshot, lakeproxy_flushed_at(of_table, f.partial_max)) AS last
      FROM lakeproxy_maintained m
      JOIN ducklake_data_file f ON f.table_id = of_table AND f.partial_max IS NOT NULL
      JOIN ducklake_delete_file d ON d.table_id = of_table AND d.data_file_id = f.data_file_id
       AND d.partial_max IS NULL AND d.begin_snapshot <= up_to AND (d.end_snapshot IS NULL OR d.end_snapshot > after)
     WHERE m.table_id = of_table AND m.snapshot_id > after) AS flushed
   WHERE last > greatest(after, flushed.begin_snapshot)
$$;

-- Beside them files of rows of several snapshots.
CREATE OR REPLACE FUNCTION lakeproxy_partial_files(of_table bigint, after bigint, up_to bigint)
RETURNS TABLE (data_file_id bigint, first bigint, last bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT f.data_file_id, f.begin_snapshot, f.partial_max FROM ducklake_data_file f
   WHERE f.table_id = of_table AND f.partial_max > after AND f.begin_snapshot <= up_to
  UNION ALL
  SELECT * FROM lakeproxy_partial_deletes(of_table, after, up_to)
$$;

-- Snapshots inside of those deletes, by the log: which of them deleted is written in the files alone.
CREATE FUNCTION lakeproxy_partial_delete_changes(of_table bigint, after bigint, up_to bigint)
RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH span AS (
    SELECT greatest(min(first), after) AS low, least(max(last), up_to) AS high
      FROM lakeproxy_partial_deletes(of_table, after, up_to) HAVING count(*) > 0
  )
  SELECT s.snapshot_id
    FROM span JOIN ducklake_snapshot s ON s.snapshot_id > span.low AND s.snapshot_id <= span.high
    LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
   WHERE c.changes_made ~ ('(^|,)(deleted_from_table|inlined_delete):' || of_table || '(,|$)')
      OR NOT EXISTS (SELECT 1 FROM ducklake_snapshot p WHERE p.snapshot_id = s.snapshot_id - 1)
$$;

-- Snapshots in (after, up_to] whose rows of the table differ from those of the
-- snapshot before, those that replaced its files, and those that clients made. A
-- snapshot that was removed is stood for by the next one that is kept and has the table.
CREATE OR REPLACE FUNCTION lakeproxy_row_changes(of_table bigint, after bigint, up_to bigint)
RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH changes (at) AS (
    SELECT begin_snapshot FROM ducklake_data_file
     WHERE table_id = of_table AND begin_snapshot > after AND begin_snapshot <= up_to
    UNION
    SELECT end_snapshot FROM ducklake_data_file
     WHERE table_id = of_table AND end_snapshot > after AND end_snapshot <= up_to
    UNION
    SELECT partial_max FROM ducklake_data_file
     WHERE table_id = of_table AND partial_max > after AND partial_max <= up_to
    UNION
    SELECT begin_snapshot FROM ducklake_delete_file
     WHERE table_id = of_table AND begin_snapshot > after AND begin_snapshot <= up_to
    UNION
    SELECT end_snapshot FROM ducklake_delete_file
     WHERE table_id = of_table AND end_snapshot > after AND end_snapshot <= up_to
    UNION
    SELECT partial_max FROM ducklake_delete_file
     WHERE table_id = of_table AND partial_max > after AND partial_max <= up_to
    UNION
    SELECT * FROM lakeproxy_partial_delete_changes(of_table, after, up_to)
    UNION
    SELECT m.snapshot_id FROM lakeproxy_maintained m
     WHERE m.table_id = of_table AND m.snapshot_id > after AND m.snapshot_id <= up_to
    UNION
    SELECT c.snapshot_id FROM ducklake_snapshot_changes c
     WHERE EXISTS (SELECT 1 FROM lakeproxy_maintained m WHERE m.table_id = of_table AND m.snapshot_id > after)
       AND c.snapshot_id > after AND c.snapshot_id <= up_to
       AND c.changes_made ~ 'merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table'
       AND of_table IN (SELECT lakeproxy_maintained_tables(c.changes_made))
    UNION
    -- A client asked for it by an id of its own, whether it holds files or not.
    SELECT a.snapshot_id FROM lakeproxy_snapshot_alias a
      JOIN ducklake_snapshot s ON s.snapshot_id = a.snapshot_id
     WHERE a.table_id = of_table AND a.snapshot_id > after AND a.snapshot_id <= up_to
    UNION
    SELECT * FROM lakeproxy_inlined_changes(of_table, after, up_to)
  ), kept (at) AS (
    SELECT DISTINCT (
      SELECT min(k.at)
        FROM (SELECT (SELECT min(s.snapshot_id) FROM ducklake_snapshot s
                       WHERE s.snapshot_id >= greatest(changes.at, t.begin_snapshot)) AS at, t.end_snapshot
                FROM ducklake_table t
               WHERE t.table_id = of_table AND (t.end_snapshot IS NULL OR t.end_snapshot > changes.at)) k
       WHERE k.end_snapshot IS NULL OR k.at < k.end_snapshot)
      FROM changes
  )
  SELECT at FROM kept WHERE at <= up_to ORDER BY at
$$;
-- Whether a snapshot may change rows of the table, by the log. Maintenance changes none. A
-- flush of deletes that PostgreSQL held names them as deletes. Names go first: they may look
-- like entries.
CREATE FUNCTION lakeproxy_may_change_rows(of_table bigint, changes_made text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT regexp_replace(
           regexp_replace(coalesce(changes_made, ''), '"[^"]*"', '', 'g'),
           '(^|,)(merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table|altered_table'
           || CASE WHEN changes_made ~ ('(^|,)inline_flush:' || of_table || '(,|$)') THEN '|deleted_from_table' ELSE '' END
           || '):' || of_table || '(?=,|$)', '', 'g') ~ (':' || of_table || '(,|$)')
$$;

-- The first snapshot in (after, up_to] at which rows of the table may differ from those at
-- `after`: by the log, or because snapshots before it were removed. NULL for none.
CREATE FUNCTION lakeproxy_first_row_change(of_table bigint, after bigint, up_to bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT min(s.snapshot_id)
    FROM ducklake_snapshot s LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
   WHERE s.snapshot_id > after AND s.snapshot_id <= up_to
     AND (lakeproxy_may_change_rows(of_table, c.changes_made)
          OR NOT EXISTS (SELECT 1 FROM ducklake_snapshot p WHERE p.snapshot_id = s.snapshot_id - 1))
$$;

-- Data files that begin or end in (after, up_to], and those that deletes in it
-- refer to. With `anew` all that some snapshot from `after` on shows: their rows
-- were replaced since.
DROP FUNCTION lakeproxy_touched_files(bigint, bigint, bigint);
CREATE FUNCTION lakeproxy_touched_files(of_table bigint, after bigint, up_to bigint, anew boolean)
RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT data_file_id FROM ducklake_data_file
   WHERE table_id = of_table AND begin_snapshot > after AND begin_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_data_file
   WHERE table_id = of_table AND end_snapshot > after AND end_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_delete_file
   WHERE table_id = of_table AND begin_snapshot > after AND begin_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_delete_file
   WHERE table_id = of_table AND end_snapshot > after AND end_snapshot <= up_to
  UNION
  SELECT data_file_id FROM lakeproxy_partial_deletes(of_table, after, up_to)
  UNION
  SELECT file_id FROM lakeproxy_inlined_deletes(of_table, after, up_to)
  UNION
  SELECT data_file_id FROM ducklake_data_file
   WHERE anew AND table_id = of_table AND begin_snapshot <= up_to AND (end_snapshot IS NULL OR end_snapshot > after)
$$;
