-- Older content comes back also where DuckDB has merged its files with later
-- ones, flushed it, or written its delete files again.

-- How the files of an older snapshot become those of the next: which rows end,
-- which come back, and the delete file that counted then. A file whose deleted
-- rows differ ends and comes back. `is_partial`: the file, or its delete file,
-- holds rows of later snapshots, too, so that it comes back with a delete file
-- made for it.
CREATE OR REPLACE FUNCTION lakeproxy_files_to_restore(of_table bigint, back_to bigint)
RETURNS TABLE (data_file_id bigint, ends boolean, returns boolean, delete_file_id bigint, is_partial boolean)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH files AS (
    SELECT f.data_file_id, f.end_snapshot IS NULL AS now,
           f.begin_snapshot <= back_to AND (f.end_snapshot IS NULL OR f.end_snapshot > back_to) AS before,
           f.data_file_id IN (SELECT p.data_file_id FROM lakeproxy_partial_files(of_table, back_to, back_to) p) AS is_partial
      FROM ducklake_data_file f
     WHERE f.table_id = of_table AND (f.end_snapshot IS NULL OR f.end_snapshot > back_to)
  ), compared AS (
    SELECT f.*, was.delete_file_id,
           f.is_partial OR was.delete_file_id IS DISTINCT FROM present.delete_file_id
             OR f.data_file_id IN (SELECT d.file_id FROM lakeproxy_inlined_deletes(of_table, back_to, 9223372036854775807) d) AS differs
      FROM files f
      LEFT JOIN ducklake_delete_file was ON was.data_file_id = f.data_file_id AND was.begin_snapshot <= back_to
                AND (was.end_snapshot IS NULL OR was.end_snapshot > back_to)
      LEFT JOIN ducklake_delete_file present ON present.data_file_id = f.data_file_id AND present.end_snapshot IS NULL
  )
  SELECT c.data_file_id, c.now AND (NOT c.before OR c.differs), c.before AND (NOT c.now OR c.differs), c.delete_file_id,
         c.before AND c.is_partial
    FROM compared c
   WHERE NOT (c.now AND c.before AND NOT c.differs) AND (c.now OR c.before)
   ORDER BY c.data_file_id
$$;

-- Ends all rows of a table. Delete files of ended data files stay open, as DuckDB
-- leaves them: a flush looks for the open one.
CREATE OR REPLACE FUNCTION lakeproxy_end_content(of_table bigint, ended bigint)
RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
BEGIN
  UPDATE ducklake_data_file SET end_snapshot = ended WHERE table_id = of_table AND end_snapshot IS NULL;
  -- A column may have another type from now on.
  UPDATE ducklake_table_column_stats SET contains_null = true, min_value = NULL, max_value = NULL,
         contains_nan = CASE WHEN contains_nan IS NULL THEN NULL ELSE true END WHERE table_id = of_table;
  FOR inlined IN SELECT i.table_name FROM ducklake_inlined_data_tables i WHERE i.table_id = of_table LOOP
    EXECUTE format('UPDATE %I SET end_snapshot = $1 WHERE end_snapshot IS NULL', inlined.table_name) USING ended;
  END LOOP;
END $$;

-- New rows of the same objects, alive from `begun` on: copies[i] is the id of
-- the copy of originals[i]. Their delete files are not copied. No snapshot that
-- sees a copy is older than the youngest row in it: it has no partial_max.
CREATE OR REPLACE FUNCTION lakeproxy_copy_files(originals bigint[], copies bigint[], begun bigint)
RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, end_snapshot, file_order, path,
         path_is_relative, file_format, record_count, file_size_bytes, footer_size, row_id_start, partition_id,
         encryption_key, mapping_id, partial_max)
  SELECT c.copy, f.table_id, begun, NULL, f.file_order, f.path, f.path_is_relative, f.file_format, f.record_count,
         f.file_size_bytes, f.footer_size, f.row_id_start, f.partition_id, f.encryption_key, f.mapping_id, NULL
    FROM unnest(originals, copies) AS c(original, copy) JOIN ducklake_data_file f ON f.data_file_id = c.original;
  INSERT INTO ducklake_file_column_stats (data_file_id, table_id, column_id, column_size_bytes, value_count,
         null_count, min_value, max_value, contains_nan, extra_stats)
  SELECT c.copy, s.table_id, s.column_id, s.column_size_bytes, s.value_count, s.null_count, s.min_value,
         s.max_value, s.contains_nan, s.extra_stats
    FROM unnest(originals, copies) AS c(original, copy) JOIN ducklake_file_column_stats s ON s.data_file_id = c.original;
  INSERT INTO ducklake_file_variant_stats (data_file_id, table_id, column_id, variant_path, shredded_type,
         column_size_bytes, value_count, null_count, min_value, max_value, contains_nan, extra_stats)
  SELECT c.copy, s.table_id, s.column_id, s.variant_path, s.shredded_type, s.column_size_bytes, s.value_count,
         s.null_count, s.min_value, s.max_value, s.contains_nan, s.extra_stats
    FROM unnest(originals, copies) AS c(original, copy) JOIN ducklake_file_variant_stats s ON s.data_file_id = c.original;
  INSERT INTO ducklake_file_partition_value (data_file_id, table_id, partition_key_index, partition_value)
  SELECT c.copy, v.table_id, v.partition_key_index, v.partition_value
    FROM unnest(originals, copies) AS c(original, copy) JOIN ducklake_file_partition_value v ON v.data_file_id = c.original;
  INSERT INTO lakeproxy_nan_count (data_file_id, column_id, nan_count)
  SELECT c.copy, n.column_id, n.nan_count
    FROM unnest(originals, copies) AS c(original, copy) JOIN lakeproxy_nan_count n ON n.data_file_id = c.original;
  INSERT INTO lakeproxy_file (data_file_id, table_id, spec_id, partition, split_offsets, sort_order_id, key_metadata)
  SELECT c.copy, f.table_id, f.spec_id, f.partition, f.split_offsets, f.sort_order_id, f.key_metadata
    FROM unnest(originals, copies) AS c(original, copy) JOIN lakeproxy_file f ON f.data_file_id = c.original;
END $$;

-- Rows that DuckDB keeps in PostgreSQL and that had ended begin again at `begun`,
-- as rows of their own with the ids that they had. Positions count as those of
-- lakeproxy_end_inlined_rows. DuckDB ends such rows by their ids: where a later
-- version of the row lives, the older one is another row from now on, with a new id.
CREATE FUNCTION lakeproxy_return_inlined_rows(of_table bigint, of_version bigint, first_begun bigint, positions bigint[], begun bigint)
RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  relation regclass;
  inlined record;
  names text;
  live bigint[] := '{}';
  more bigint[];
  next_id bigint;
  new_ids bigint;
BEGIN
  FOR inlined IN SELECT i.table_name, i.schema_version FROM ducklake_inlined_data_tables i WHERE i.table_id = of_table LOOP
    IF inlined.schema_version = of_version THEN
      relation := quote_ident(inlined.table_name)::regclass;
    END IF;
    EXECUTE format('SELECT array_agg(row_id) FROM %I WHERE end_snapshot IS NULL', inlined.table_name) INTO more;
    live := live || coalesce(more, '{}');
  END LOOP;
  SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) INTO STRICT names
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = relation AND a.attnum > 3 AND NOT a.attisdropped;
  SELECT s.next_row_id INTO STRICT next_id FROM ducklake_table_stats s WHERE s.table_id = of_table;
  EXECUTE format(
    'WITH shown AS (SELECT r.*, row_number() OVER (ORDER BY r.row_id) - 1 AS place FROM %1$s r '
    '  WHERE r.begin_snapshot = $1 AND r.end_snapshot IS DISTINCT FROM $1), '
    'back AS (SELECT s.*, s.row_id = ANY ($4) AS taken FROM shown s WHERE s.place = ANY ($2) AND s.end_snapshot IS NOT NULL), '
    'begun AS (INSERT INTO %1$s (row_id, begin_snapshot, end_snapshot, %2$s) '
    '  SELECT CASE WHEN taken THEN $5 - 1 + row_number() OVER (PARTITION BY taken ORDER BY place) ELSE row_id END, '
    '         $3, NULL, %2$s FROM back) '
    'SELECT count(*) FILTER (WHERE taken) FROM back', relation, names)
  INTO new_ids USING first_begun, positions, begun, live, next_id;
  UPDATE ducklake_table_stats SET next_row_id = next_id + new_ids WHERE table_id = of_table AND new_ids > 0;
  RETURN new_ids;
END $$;
