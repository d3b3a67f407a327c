-- A table that was dropped and registered again is in no snapshot between. Where
-- its snapshots before were removed, such a one must not stand for them.

-- Snapshots in (after, up_to] whose rows of the table differ from those of the
-- snapshot before, and those that clients made. A snapshot that was removed is
-- stood for by the next one that is kept and has the table.
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
