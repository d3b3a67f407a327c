-- Snapshots inside the span of a partial file are shown: a file that holds rows
-- or deletes of several snapshots changes what the table shows at each of them.

-- Files that hold rows or deletes of several snapshots, and the last one that it
-- can be, of those that concern (after, up_to]. A flush writes delete files
-- beside its data files and leaves their partial_max out: the maintenance
-- epoch is not before it.
CREATE FUNCTION lakeproxy_partial_files(of_table bigint, after bigint, up_to bigint)
RETURNS TABLE (data_file_id bigint, first bigint, last bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT f.data_file_id, f.begin_snapshot, f.partial_max FROM ducklake_data_file f
   WHERE f.table_id = of_table AND f.partial_max > after AND f.begin_snapshot <= up_to
  UNION ALL
  SELECT d.data_file_id, d.begin_snapshot, d.partial_max FROM ducklake_delete_file d
   WHERE d.table_id = of_table AND d.partial_max > after AND d.begin_snapshot <= up_to
  UNION ALL
  SELECT d.data_file_id, d.begin_snapshot, least(d.end_snapshot, e.snapshot_id)
    FROM lakeproxy_epoch e
    JOIN ducklake_data_file f ON f.table_id = of_table AND f.partial_max IS NOT NULL
    JOIN ducklake_delete_file d ON d.table_id = of_table AND d.data_file_id = f.data_file_id
     AND d.partial_max IS NULL
   WHERE e.table_id = of_table AND e.snapshot_id > after
     AND least(d.end_snapshot, e.snapshot_id) > after AND d.begin_snapshot <= up_to
$$;

-- The snapshots at which such files may change what the table shows. Which it
-- is stands in the files; the log of changes names all that it can be. Where
-- snapshots were removed, so were their entries: the kept one behind such a
-- gap stands for them.
CREATE FUNCTION lakeproxy_span_changes(of_table bigint, after bigint, up_to bigint)
RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH span AS (
    SELECT greatest(min(first), after) AS low, least(max(last), up_to) AS high
      FROM lakeproxy_partial_files(of_table, after, up_to) HAVING count(*) > 0
  )
  SELECT s.snapshot_id
    FROM span JOIN ducklake_snapshot s ON s.snapshot_id > span.low AND s.snapshot_id <= span.high
    LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
   WHERE c.changes_made ~ ('(^|,)(inserted_into_table|inlined_insert|deleted_from_table|inlined_delete):' || of_table || '(,|$)')
      OR NOT EXISTS (SELECT 1 FROM ducklake_snapshot p WHERE p.snapshot_id = s.snapshot_id - 1)
$$;

-- Snapshots in (after, up_to] whose rows of the table differ from those of the
-- snapshot before, and those that clients made. A snapshot that was removed is stood for by the next one
-- that is kept.
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
    SELECT * FROM lakeproxy_span_changes(of_table, after, up_to)
    UNION
    -- A client asked for it by an id of its own, whether it holds files or not.
    SELECT a.snapshot_id FROM lakeproxy_snapshot_alias a
      JOIN ducklake_snapshot s ON s.snapshot_id = a.snapshot_id
     WHERE a.table_id = of_table AND a.snapshot_id > after AND a.snapshot_id <= up_to
    UNION
    SELECT * FROM lakeproxy_inlined_changes(of_table, after, up_to)
  ), kept (at) AS (
    SELECT DISTINCT (SELECT min(s.snapshot_id) FROM ducklake_snapshot s
                      WHERE s.snapshot_id >= changes.at) FROM changes
  )
  SELECT at FROM kept WHERE at <= up_to ORDER BY at
$$;

-- Data files that begin or end in (after, up_to] or of which rows may, and those
-- that deletes in it refer to.
CREATE OR REPLACE FUNCTION lakeproxy_touched_files(of_table bigint, after bigint, up_to bigint)
RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT data_file_id FROM ducklake_data_file
   WHERE table_id = of_table AND begin_snapshot > after AND begin_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_data_file
   WHERE table_id = of_table AND end_snapshot > after AND end_snapshot <= up_to
  UNION
  SELECT data_file_id FROM lakeproxy_partial_files(of_table, after, up_to)
  UNION
  SELECT data_file_id FROM ducklake_delete_file
   WHERE table_id = of_table AND begin_snapshot > after AND begin_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_delete_file
   WHERE table_id = of_table AND end_snapshot > after AND end_snapshot <= up_to
  UNION
  SELECT file_id FROM lakeproxy_inlined_deletes(of_table, after, up_to)
$$;
