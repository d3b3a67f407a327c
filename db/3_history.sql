-- History: at which snapshots a table changed, and what it holds at one. The cost of a
-- look-up does not follow the number of snapshots in the lake.

-- Whether a snapshot that is kept has a row of this life span.
CREATE FUNCTION lakeproxy_is_kept(begun bigint, ended bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT ended IS NULL OR EXISTS (
    SELECT 1 FROM ducklake_snapshot WHERE snapshot_id >= begun AND snapshot_id < ended)
$$;

-- Expiry makes no lake snapshot, so readers learn of it by the revision. It also ends the
-- visibility of snapshots, and so releases kept files.
CREATE FUNCTION lakeproxy_snapshots_removed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE lakeproxy_state
     SET revision = revision + 1, snapshots_removed_revision = revision + 1;
  PERFORM lakeproxy_release_files(NULL);
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_snapshots_removed AFTER DELETE ON ducklake_snapshot
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_snapshots_removed();

-- A commit to the lake wakes the process that prepares metadata for it. Our own commits
-- publish what they change before they are answered, and say so in a setting of their
-- transaction; then nobody needs to be woken.
CREATE FUNCTION lakeproxy_wake_listener() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('lakeproxy.publishes', true) IS DISTINCT FROM 'on' THEN
    PERFORM pg_notify('lakeproxy_commits', TG_TABLE_SCHEMA);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_wake_listener AFTER INSERT ON ducklake_snapshot
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_wake_listener();

-- Maintenance ----------------------------------------------------------------------------

-- The tables that a line of the lake's log says were merged, flushed or rewritten. Names
-- stand in double quotes, doubled inside, and may look like entries: they are taken out
-- first.
CREATE FUNCTION lakeproxy_maintained_tables(changes_made text) RETURNS SETOF bigint
LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT DISTINCT m[1]::bigint
    FROM regexp_matches(
           regexp_replace(changes_made, '"[^"]*"', '', 'g'),
           '(?:^|,)(?:merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table):([0-9]{1,18})(?=,|$)',
           'g') AS m
$$;

-- Notes maintenance. With its owner's rights, as most functions of triggers that write our
-- tables: whoever may maintain the lake need not know those.
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

-- What was maintained before the lake had the trigger.
INSERT INTO lakeproxy_maintained (table_id, snapshot_id)
SELECT table_id, max(snapshot_id)
  FROM ducklake_snapshot_changes, LATERAL lakeproxy_maintained_tables(changes_made) AS table_id
 WHERE changes_made ~ 'merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table'
 GROUP BY table_id;

-- The first flush of the table's rows after a snapshot, by the log; the last maintenance where
-- the log does not have it any more.
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

-- Inlined rows and deletes ---------------------------------------------------------------

-- The columns of an inlined table, quoted: the row's id, the snapshots at which it begins and
-- ends, and the table's own in their order. What the first three mean is told by their places
-- alone: DuckLake 1.1 has other names for them, and then a column of the table may have one of
-- the names from before.
CREATE FUNCTION lakeproxy_inlined_columns(relation regclass, OUT row_id text, OUT begun text, OUT ended text,
                                          OUT own text[])
LANGUAGE sql STABLE AS $$
  SELECT max(quote_ident(a.attname)) FILTER (WHERE a.attnum = 1),
         max(quote_ident(a.attname)) FILTER (WHERE a.attnum = 2),
         max(quote_ident(a.attname)) FILTER (WHERE a.attnum = 3),
         array_agg(quote_ident(a.attname) ORDER BY a.attnum) FILTER (WHERE a.attnum > 3)
    FROM pg_catalog.pg_attribute a
   WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
$$;

-- Inlined rows, of all schema versions of a table: all that began together with one that
-- begins or ends in (after, up_to], since they are shown as one file and deleted by their
-- positions in it. The values are a JSON array in column order: null, the text of the value,
-- or {"bytes": hex} where DuckDB keeps text and blobs as bytea.
CREATE FUNCTION lakeproxy_inlined_rows(of_table bigint, after bigint, up_to bigint)
RETURNS TABLE (schema_version bigint, row_id bigint, begin_snapshot bigint, end_snapshot bigint, row_values json)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
  relation regclass;
  col record; -- The names of its columns.
  expressions text;
BEGIN
  FOR inlined IN
    SELECT i.table_name, i.schema_version FROM ducklake_inlined_data_tables i
     WHERE i.table_id = of_table ORDER BY i.schema_version
  LOOP
    relation := quote_ident(inlined.table_name)::regclass;
    SELECT * INTO col FROM lakeproxy_inlined_columns(relation);
    SELECT string_agg(
             CASE WHEN a.atttypid = 'bytea'::regtype
                  THEN format('CASE WHEN %1$I IS NULL THEN NULL ELSE json_build_object(''bytes'', encode(%1$I, ''hex'')) END', a.attname)
                  ELSE format('to_json(%I::text)', a.attname) END, ', ' ORDER BY a.attnum)
      INTO expressions
      FROM pg_catalog.pg_attribute a
     WHERE a.attrelid = relation AND a.attnum > 3 AND NOT a.attisdropped;
    RETURN QUERY EXECUTE format(
      'SELECT %1$s::bigint, %4$s, %5$s, %6$s, json_build_array(%2$s) FROM %3$s '
      'WHERE %5$s <= $2 AND %5$s IN (SELECT %5$s FROM %3$s '
      'WHERE (%5$s > $1 AND %5$s <= $2) OR (%6$s > $1 AND %6$s <= $2)) ORDER BY 2, 3',
      inlined.schema_version, coalesce(expressions, ''), relation, col.row_id, col.begun, col.ended)
    USING after, up_to;
  END LOOP;
END $$;

-- Columns of DuckDB's that older files lack or hold in another type, each with the snapshot at
-- which it came or changed: a default, and a change of type that is none of Iceberg's
-- promotions, or that DuckDB reads out of paths anew. Readable copies take the place of the files then, as after a merge.
-- Of all tables when `of_tables` is null.
CREATE FUNCTION lakeproxy_changed_columns(of_tables bigint[]) RETURNS TABLE (table_id bigint, changed_at bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT c.table_id, c.begin_snapshot
    FROM ducklake_column c
    LEFT JOIN LATERAL (SELECT w.column_type FROM ducklake_column w
                        WHERE w.table_id = c.table_id AND w.column_id = c.column_id AND w.begin_snapshot < c.begin_snapshot
                        ORDER BY w.begin_snapshot DESC LIMIT 1) AS w ON true
   WHERE (of_tables IS NULL OR c.table_id = ANY (of_tables))
     AND CASE WHEN w.column_type IS NULL THEN c.parent_column IS NULL AND c.initial_default <> 'NULL'
              ELSE w.column_type <> c.column_type
                   AND NOT (w.column_type IN ('int8', 'int16', 'int32', 'uint8', 'uint16')
                            AND c.column_type IN ('int16', 'int32', 'int64', 'uint16', 'uint32'))
                   AND NOT (w.column_type = 'uint32' AND c.column_type = 'int64')
                   AND NOT (w.column_type = 'float32' AND c.column_type = 'float64' AND NOT EXISTS (
                            SELECT 1 FROM ducklake_column_mapping m JOIN ducklake_name_mapping n ON n.mapping_id = m.mapping_id
                             WHERE m.table_id = c.table_id AND n.target_field_id = c.column_id AND n.is_partition))
                   AND NOT (starts_with(w.column_type, 'decimal') AND starts_with(c.column_type, 'decimal')
                            AND split_part(w.column_type, ',', 2) = split_part(c.column_type, ',', 2)) END
$$;

-- Notes such changes, of tables that have files or inlined rows from before, as maintenance.
CREATE FUNCTION lakeproxy_note_changes_of_columns(of_tables bigint[]) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO lakeproxy_maintained (table_id, snapshot_id)
  SELECT c.table_id, max(c.changed_at) FROM lakeproxy_changed_columns(of_tables) c
   WHERE EXISTS (SELECT 1 FROM ducklake_data_file f
                  WHERE f.table_id = c.table_id AND f.begin_snapshot < c.changed_at
                    AND (f.end_snapshot IS NULL OR f.end_snapshot > c.changed_at))
      OR EXISTS (SELECT 1 FROM lakeproxy_inlined_rows(c.table_id, -1, c.changed_at - 1) r
                  WHERE r.end_snapshot IS NULL OR r.end_snapshot > c.changed_at)
   GROUP BY c.table_id ORDER BY c.table_id
  ON CONFLICT (table_id) DO UPDATE
    SET snapshot_id = greatest(lakeproxy_maintained.snapshot_id, excluded.snapshot_id)
$$;

CREATE FUNCTION lakeproxy_note_changed_columns() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM lakeproxy_note_changes_of_columns((SELECT array_agg(DISTINCT a.table_id) FROM added a));
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_note_changed_columns AFTER INSERT ON ducklake_column
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_note_changed_columns();

-- Those from before the lake had the trigger.
SELECT lakeproxy_note_changes_of_columns(NULL);

-- Inlined deletes: of rows in data files.
CREATE FUNCTION lakeproxy_inlined_deletes(of_table bigint, after bigint, up_to bigint)
RETURNS TABLE (file_id bigint, row_id bigint, begin_snapshot bigint)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  relation regclass := to_regclass('ducklake_inlined_delete_' || of_table);
BEGIN
  IF relation IS NOT NULL THEN
    RETURN QUERY EXECUTE format(
      'SELECT file_id, row_id, begin_snapshot FROM %s '
      'WHERE begin_snapshot > $1 AND begin_snapshot <= $2 ORDER BY file_id, row_id', relation)
    USING after, up_to;
  END IF;
END $$;

-- Snapshots in (after, up_to] at which inlined rows begin or end, or inlined deletes begin.
CREATE FUNCTION lakeproxy_inlined_changes(of_table bigint, after bigint, up_to bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
  relation regclass;
  col record; -- The names of its columns.
BEGIN
  FOR inlined IN
    SELECT i.table_name FROM ducklake_inlined_data_tables i WHERE i.table_id = of_table
  LOOP
    relation := quote_ident(inlined.table_name)::regclass;
    SELECT * INTO col FROM lakeproxy_inlined_columns(relation);
    RETURN QUERY EXECUTE format(
      'SELECT %2$s FROM %1$s WHERE %2$s > $1 AND %2$s <= $2 '
      'UNION SELECT %3$s FROM %1$s WHERE %3$s > $1 AND %3$s <= $2', relation, col.begun, col.ended)
    USING after, up_to;
  END LOOP;
  relation := to_regclass('ducklake_inlined_delete_' || of_table);
  IF relation IS NOT NULL THEN
    RETURN QUERY EXECUTE format(
      'SELECT DISTINCT begin_snapshot FROM %s WHERE begin_snapshot > $1 AND begin_snapshot <= $2',
      relation)
    USING after, up_to;
  END IF;
END $$;

-- Changes of rows ------------------------------------------------------------------------

-- Delete files that hold deletes of several snapshots, and the last one that it can be, of
-- those that concern (after, up_to]. When more rows are deleted, DuckDB writes a new delete
-- file in the place of the one before. A flush writes delete files beside its data files and
-- leaves their partial_max out.
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

-- Files that hold rows or deletes of several snapshots, in the same way.
CREATE FUNCTION lakeproxy_partial_files(of_table bigint, after bigint, up_to bigint)
RETURNS TABLE (data_file_id bigint, first bigint, last bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT f.data_file_id, f.begin_snapshot, f.partial_max FROM ducklake_data_file f
   WHERE f.table_id = of_table AND f.partial_max > after AND f.begin_snapshot <= up_to
  UNION ALL
  SELECT * FROM lakeproxy_partial_deletes(of_table, after, up_to)
$$;

-- Snapshots that may have deletes in those delete files, by the log: which of them deleted is
-- written in the files alone. Where snapshots were expired, the next one that is kept stands
-- for them.
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

-- Snapshots in (after, up_to] whose rows of the table differ from those of the snapshot
-- before, those that replaced its files, and those that clients made. An expired snapshot is
-- stood for by the next one that is kept and has the table: one between a drop and a
-- registration does not.
CREATE FUNCTION lakeproxy_row_changes(of_table bigint, after bigint, up_to bigint)
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

-- Whether a line of the lake's log may change rows of the table. Maintenance changes none; a
-- flush of inlined deletes names them as deletes. Quoted names are taken out first, since
-- they may look like entries.
CREATE FUNCTION lakeproxy_may_change_rows(of_table bigint, changes_made text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT regexp_replace(
           regexp_replace(coalesce(changes_made, ''), '"[^"]*"', '', 'g'),
           '(^|,)(merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table|altered_table'
           || CASE WHEN changes_made ~ ('(^|,)inline_flush:' || of_table || '(,|$)') THEN '|deleted_from_table' ELSE '' END
           || '):' || of_table || '(?=,|$)', '', 'g') ~ (':' || of_table || '(,|$)')
$$;

-- The first snapshot in (after, up_to] at which rows of the table may differ from those at
-- `after`: by the log, or because snapshots before it were expired. Null for none.
CREATE FUNCTION lakeproxy_first_row_change(of_table bigint, after bigint, up_to bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT min(s.snapshot_id)
    FROM ducklake_snapshot s LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
   WHERE s.snapshot_id > after AND s.snapshot_id <= up_to
     AND (lakeproxy_may_change_rows(of_table, c.changes_made)
          OR NOT EXISTS (SELECT 1 FROM ducklake_snapshot p WHERE p.snapshot_id = s.snapshot_id - 1))
$$;

-- Data files that begin or end in (after, up_to], and those that deletes in it refer to. With
-- `anew` all that some snapshot from `after` on has: their rows were replaced since.
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

-- Columns whose older values would read otherwise under the present definition.
CREATE FUNCTION lakeproxy_columns_since(of_table bigint, back_to bigint)
RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT c.column_name
    FROM ducklake_column c
    LEFT JOIN ducklake_column was ON was.table_id = c.table_id AND was.column_id = c.column_id
          AND was.begin_snapshot <= back_to AND (was.end_snapshot IS NULL OR was.end_snapshot > back_to)
   WHERE c.table_id = of_table AND c.end_snapshot IS NULL AND c.begin_snapshot > back_to
     AND CASE WHEN was.column_id IS NULL
              THEN c.initial_default IS NOT NULL AND c.initial_default <> 'NULL' OR NOT coalesce(c.nulls_allowed, true)
              ELSE was.column_type <> c.column_type OR coalesce(was.nulls_allowed, true) AND NOT coalesce(c.nulls_allowed, true) END
   ORDER BY c.column_order
$$;

-- Definitions ----------------------------------------------------------------------------

-- The format version that a table is shown in: its own, which a client asked for, or the one
-- its newest snapshot was published in, or the server's default; and never less than a type of
-- one of its schemas needs, which DuckDB may have added since. A version is never lowered, so a
-- lower default finds the table as it was, and so does the end of the column.
CREATE FUNCTION lakeproxy_format_version(of_table bigint, by_default bigint) RETURNS integer
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT greatest((SELECT max(d.format_version) FROM lakeproxy_definition d
                    WHERE d.table_id = of_table AND d.kind = 'schema'), coalesce(
    (SELECT coalesce(t.format_version,
                     CASE t.properties->>'lakeproxy.format-version' WHEN '2' THEN 2 WHEN '3' THEN 3 END)
       FROM lakeproxy_table t WHERE t.table_id = of_table),
    greatest(by_default::integer,
             (SELECT s.format_version FROM lakeproxy_snapshot s
               WHERE s.table_id = of_table ORDER BY s.snapshot_id DESC LIMIT 1))))
$$;

-- Notes the columns of a mapping whose values stand in paths. Nothing where no file has the
-- mapping, or no value stands in a path.
CREATE FUNCTION lakeproxy_note_path_columns(of_mapping bigint) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO lakeproxy_path_columns (mapping_id, table_id, begin_snapshot, column_ids)
  SELECT c.mapping_id, c.table_id, first.begin_snapshot, named.column_ids
    FROM ducklake_column_mapping c,
         LATERAL (SELECT min(f.begin_snapshot) AS begin_snapshot FROM ducklake_data_file f
                   WHERE f.table_id = c.table_id AND f.mapping_id = c.mapping_id) first,
         LATERAL (SELECT array_agg(n.target_field_id ORDER BY n.target_field_id) AS column_ids
                    FROM ducklake_name_mapping n
                   WHERE n.mapping_id = c.mapping_id AND n.is_partition) named
   WHERE c.mapping_id = of_mapping
     AND first.begin_snapshot IS NOT NULL AND named.column_ids IS NOT NULL
  ON CONFLICT DO NOTHING
$$;

-- Calls it at the end of the transaction, when the files are there.
CREATE FUNCTION lakeproxy_note_new_path_columns() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM lakeproxy_note_path_columns(NEW.mapping_id);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lakeproxy_note_path_columns AFTER INSERT ON ducklake_name_mapping
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.is_partition) EXECUTE FUNCTION lakeproxy_note_new_path_columns();

-- Of files that were added before the lake had the trigger.
SELECT lakeproxy_note_path_columns(mapping_id) FROM ducklake_column_mapping;
