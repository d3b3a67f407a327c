-- Changes of all that a table holds at once.

-- Ends all rows of a table.
CREATE FUNCTION lakeproxy_end_content(of_table bigint, ended bigint)
RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
BEGIN
  UPDATE ducklake_data_file SET end_snapshot = ended WHERE table_id = of_table AND end_snapshot IS NULL;
  UPDATE ducklake_delete_file SET end_snapshot = ended WHERE table_id = of_table AND end_snapshot IS NULL;
  -- A column may have another type from now on.
  UPDATE ducklake_table_column_stats SET contains_null = true, min_value = NULL, max_value = NULL,
         contains_nan = CASE WHEN contains_nan IS NULL THEN NULL ELSE true END WHERE table_id = of_table;
  FOR inlined IN SELECT i.table_name FROM ducklake_inlined_data_tables i WHERE i.table_id = of_table LOOP
    EXECUTE format('UPDATE %I SET end_snapshot = $1 WHERE end_snapshot IS NULL', inlined.table_name) USING ended;
  END LOOP;
END $$;

-- The lake snapshot that took the branch main away, with all rows: until a
-- later one adds rows the table has no current snapshot.
ALTER TABLE lakeproxy_table ADD COLUMN cleared_at bigint;

-- How the files of an older snapshot become those of the next: which rows end,
-- which come back, and the delete file that counted then. A file whose deleted
-- rows differ ends and comes back. `is_partial`: the file, or its delete file,
-- holds rows of later snapshots, too.
CREATE FUNCTION lakeproxy_files_to_restore(of_table bigint, back_to bigint)
RETURNS TABLE (data_file_id bigint, ends boolean, returns boolean, delete_file_id bigint, is_partial boolean)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH files AS (
    SELECT f.data_file_id, f.end_snapshot IS NULL AS now,
           f.begin_snapshot <= back_to AND (f.end_snapshot IS NULL OR f.end_snapshot > back_to) AS before, f.partial_max
      FROM ducklake_data_file f
     WHERE f.table_id = of_table AND (f.end_snapshot IS NULL OR f.end_snapshot > back_to)
  ), compared AS (
    SELECT f.*, was.delete_file_id, was.partial_max AS deletes_max,
           was.delete_file_id IS DISTINCT FROM present.delete_file_id
             OR f.data_file_id IN (SELECT d.file_id FROM lakeproxy_inlined_deletes(of_table, back_to, 9223372036854775807) d) AS differs
      FROM files f
      LEFT JOIN ducklake_delete_file was ON was.data_file_id = f.data_file_id AND was.begin_snapshot <= back_to
                AND (was.end_snapshot IS NULL OR was.end_snapshot > back_to)
      LEFT JOIN ducklake_delete_file present ON present.data_file_id = f.data_file_id AND present.end_snapshot IS NULL
  )
  SELECT c.data_file_id, c.now AND (NOT c.before OR c.differs), c.before AND (NOT c.now OR c.differs), c.delete_file_id,
         c.before AND (coalesce(c.partial_max, 0) > back_to OR coalesce(c.deletes_max, 0) > back_to)
    FROM compared c
   WHERE NOT (c.now AND c.before AND NOT c.differs) AND (c.now OR c.before)
   ORDER BY c.data_file_id
$$;

-- New rows of the same delete files, for other rows of their data files.
CREATE FUNCTION lakeproxy_copy_delete_files(originals bigint[], copies bigint[], data_files bigint[], begun bigint)
RETURNS void
LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO ducklake_delete_file (delete_file_id, table_id, begin_snapshot, end_snapshot, data_file_id, path,
         path_is_relative, format, delete_count, file_size_bytes, footer_size, encryption_key, partial_max)
  SELECT c.copy, d.table_id, begun, NULL, c.data_file, d.path, d.path_is_relative, d.format, d.delete_count,
         d.file_size_bytes, d.footer_size, d.encryption_key, d.partial_max
    FROM unnest(originals, copies, data_files) AS c(original, copy, data_file)
    JOIN ducklake_delete_file d ON d.delete_file_id = c.original
$$;

-- What PostgreSQL itself holds becomes what it was: deletes of the rows of files
-- that come back, and rows of the table.
CREATE FUNCTION lakeproxy_restore_inlined(of_table bigint, back_to bigint, originals bigint[], copies bigint[], begun bigint)
RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
  relation regclass := to_regclass('ducklake_inlined_delete_' || of_table);
  names text;
BEGIN
  IF relation IS NOT NULL THEN
    EXECUTE format(
      'INSERT INTO %1$s (file_id, row_id, begin_snapshot) SELECT c.copy, d.row_id, $4 '
      'FROM unnest($1, $2) AS c(original, copy) JOIN %1$s d ON d.file_id = c.original WHERE d.begin_snapshot <= $3',
      relation)
    USING originals, copies, back_to, begun;
  END IF;
  FOR inlined IN SELECT i.table_name FROM ducklake_inlined_data_tables i WHERE i.table_id = of_table LOOP
    relation := quote_ident(inlined.table_name)::regclass;
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) INTO names
      FROM pg_catalog.pg_attribute a WHERE a.attrelid = relation AND a.attnum > 3 AND NOT a.attisdropped;
    EXECUTE format('UPDATE %s SET end_snapshot = $2 WHERE end_snapshot IS NULL AND begin_snapshot > $1', relation)
    USING back_to, begun;
    EXECUTE format(
      'INSERT INTO %1$s (row_id, begin_snapshot, end_snapshot, %2$s) SELECT row_id, $2, NULL, %2$s FROM %1$s '
      'WHERE begin_snapshot <= $1 AND end_snapshot > $1', relation, names)
    USING back_to, begun;
  END LOOP;
END $$;

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
