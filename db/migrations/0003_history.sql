-- What a reader asks at every table it loads, answered by look-ups whose cost
-- does not follow the number of snapshots in the lake.

-- Merging, flushing and rewriting change the files of old snapshots. The last
-- snapshot that did so to a table is its epoch.
CREATE TABLE lakeproxy_epoch (
  table_id bigint PRIMARY KEY,
  snapshot_id bigint NOT NULL
);

-- Names stand in double quotes, doubled inside, and may look like entries:
-- they go first. An expression of a row already there has no effect twice.
CREATE FUNCTION lakeproxy_maintained_tables(changes_made text) RETURNS SETOF bigint
LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT DISTINCT m[1]::bigint
    FROM regexp_matches(
           regexp_replace(changes_made, '"[^"]*"', '', 'g'),
           '(?:^|,)(?:merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table):([0-9]{1,18})(?=,|$)',
           'g') AS m
$$;

CREATE FUNCTION lakeproxy_note_epoch() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO lakeproxy_epoch (table_id, snapshot_id)
  SELECT table_id, NEW.snapshot_id FROM lakeproxy_maintained_tables(NEW.changes_made) AS table_id
  ORDER BY table_id
  ON CONFLICT (table_id) DO UPDATE
    SET snapshot_id = greatest(lakeproxy_epoch.snapshot_id, excluded.snapshot_id);
  RETURN NULL;
END $$;

CREATE TRIGGER lakeproxy_note_epoch AFTER INSERT ON ducklake_snapshot_changes
  FOR EACH ROW
  WHEN (NEW.changes_made ~ 'merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table')
  EXECUTE FUNCTION lakeproxy_note_epoch();

INSERT INTO lakeproxy_epoch (table_id, snapshot_id)
SELECT table_id, max(snapshot_id)
  FROM ducklake_snapshot_changes, LATERAL lakeproxy_maintained_tables(changes_made) AS table_id
 WHERE changes_made ~ 'merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table'
 GROUP BY table_id;

-- Removing old snapshots makes no new one, and concerns every table: those
-- without a sidecar row too.
ALTER TABLE lakeproxy_state ADD COLUMN snapshots_removed_revision bigint NOT NULL DEFAULT 0;
CREATE OR REPLACE FUNCTION lakeproxy_snapshots_removed() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE lakeproxy_state
     SET revision = revision + 1, snapshots_removed_revision = revision + 1;
  RETURN NULL;
END $$;

CREATE INDEX lakeproxy_data_file_partial ON ducklake_data_file (table_id, partial_max)
  WHERE partial_max IS NOT NULL;
CREATE INDEX lakeproxy_delete_file_end ON ducklake_delete_file (table_id, end_snapshot)
  WHERE end_snapshot IS NOT NULL;
CREATE INDEX lakeproxy_delete_file_partial ON ducklake_delete_file (table_id, partial_max)
  WHERE partial_max IS NOT NULL;
CREATE INDEX lakeproxy_table_begin ON ducklake_table (begin_snapshot);
CREATE INDEX lakeproxy_table_end ON ducklake_table (end_snapshot) WHERE end_snapshot IS NOT NULL;
CREATE INDEX lakeproxy_column_tag ON ducklake_column_tag (table_id);
CREATE INDEX lakeproxy_partition_info ON ducklake_partition_info (table_id);
CREATE INDEX lakeproxy_partition_column ON ducklake_partition_column (table_id);
CREATE INDEX lakeproxy_sort_info ON ducklake_sort_info (table_id);
CREATE INDEX lakeproxy_tag ON ducklake_tag (object_id);
CREATE INDEX lakeproxy_inlined_tables ON ducklake_inlined_data_tables (table_id);

-- Rows that DuckDB keeps in PostgreSQL, of all schema versions of a table: all
-- that began together with one that begins or ends in (after, up_to], since
-- they are shown as one file and deleted by their positions in it.
-- The values are a JSON array in column order: null, the text of the value, or
-- {"bytes": hex} where DuckDB keeps text and blobs as bytea.
CREATE FUNCTION lakeproxy_inlined_rows(of_table bigint, after bigint, up_to bigint)
RETURNS TABLE (schema_version bigint, row_id bigint, begin_snapshot bigint, end_snapshot bigint, row_values json)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
  relation regclass;
  expressions text;
BEGIN
  FOR inlined IN
    SELECT i.table_name, i.schema_version FROM ducklake_inlined_data_tables i
     WHERE i.table_id = of_table ORDER BY i.schema_version
  LOOP
    relation := quote_ident(inlined.table_name)::regclass;
    SELECT string_agg(
             CASE WHEN a.atttypid = 'bytea'::regtype
                  THEN format('CASE WHEN %1$I IS NULL THEN NULL ELSE json_build_object(''bytes'', encode(%1$I, ''hex'')) END', a.attname)
                  ELSE format('to_json(%I::text)', a.attname) END, ', ' ORDER BY a.attnum)
      INTO expressions
      FROM pg_catalog.pg_attribute a
     WHERE a.attrelid = relation AND a.attnum > 3 AND NOT a.attisdropped;
    RETURN QUERY EXECUTE format(
      'SELECT %1$s::bigint, row_id, begin_snapshot, end_snapshot, json_build_array(%2$s) FROM %3$s '
      'WHERE begin_snapshot <= $2 AND begin_snapshot IN (SELECT begin_snapshot FROM %3$s '
      'WHERE (begin_snapshot > $1 AND begin_snapshot <= $2) OR (end_snapshot > $1 AND end_snapshot <= $2)) '
      'ORDER BY row_id, begin_snapshot',
      inlined.schema_version, coalesce(expressions, ''), relation)
    USING after, up_to;
  END LOOP;
END $$;

-- Deletes of rows in files that DuckDB keeps in PostgreSQL.
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

-- Snapshots in (after, up_to] at which rows of PostgreSQL begin or end.
CREATE FUNCTION lakeproxy_inlined_changes(of_table bigint, after bigint, up_to bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
  relation regclass;
BEGIN
  FOR inlined IN
    SELECT i.table_name FROM ducklake_inlined_data_tables i WHERE i.table_id = of_table
  LOOP
    relation := quote_ident(inlined.table_name)::regclass;
    RETURN QUERY EXECUTE format(
      'SELECT begin_snapshot FROM %1$s WHERE begin_snapshot > $1 AND begin_snapshot <= $2 '
      'UNION SELECT end_snapshot FROM %1$s WHERE end_snapshot > $1 AND end_snapshot <= $2', relation)
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

-- Snapshots in (after, up_to] whose rows of the table differ from those of the
-- snapshot before. A snapshot that was removed is stood for by the next one
-- that is kept.
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
    -- A delete file that was written again holds the deletes of the snapshots
    -- between, which only the log of changes still names.
    SELECT c.snapshot_id FROM ducklake_delete_file d
      JOIN ducklake_snapshot_changes c
        ON c.snapshot_id > d.begin_snapshot AND c.snapshot_id < d.partial_max
     WHERE d.table_id = of_table AND d.partial_max IS NOT NULL
       AND c.snapshot_id > after AND c.snapshot_id <= up_to
       AND c.changes_made ~ ('(^|,)deleted_from_table:' || of_table || '(,|$)')
    UNION
    SELECT * FROM lakeproxy_inlined_changes(of_table, after, up_to)
  ), kept (at) AS (
    SELECT DISTINCT (SELECT min(s.snapshot_id) FROM ducklake_snapshot s
                      WHERE s.snapshot_id >= changes.at) FROM changes
  )
  SELECT at FROM kept WHERE at <= up_to ORDER BY at
$$;

-- Data files that begin or end in (after, up_to], and those that deletes in it
-- refer to.
CREATE FUNCTION lakeproxy_touched_files(of_table bigint, after bigint, up_to bigint)
RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT data_file_id FROM ducklake_data_file
   WHERE table_id = of_table AND begin_snapshot > after AND begin_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_data_file
   WHERE table_id = of_table AND end_snapshot > after AND end_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_data_file
   WHERE table_id = of_table AND partial_max > after AND partial_max <= up_to
  UNION
  SELECT data_file_id FROM ducklake_delete_file
   WHERE table_id = of_table AND begin_snapshot > after AND begin_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_delete_file
   WHERE table_id = of_table AND end_snapshot > after AND end_snapshot <= up_to
  UNION
  SELECT data_file_id FROM ducklake_delete_file
   WHERE table_id = of_table AND partial_max > after AND begin_snapshot <= up_to
  UNION
  SELECT file_id FROM lakeproxy_inlined_deletes(of_table, after, up_to)
$$;
