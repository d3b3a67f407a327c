-- What commits of Iceberg clients look up and change besides adding files.

-- Rows of the live files of a table at the given locations, whose paths are
-- absolute or relative to `folder`.
CREATE FUNCTION lakeproxy_live_files(of_table bigint, folder text, locations text[])
RETURNS TABLE (location text, data_file_id bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT p.location, f.data_file_id
    FROM unnest(locations) AS p(location)
    JOIN ducklake_data_file f ON lakeproxy_object_name(f.path) = lakeproxy_object_name(p.location)
   WHERE f.table_id = of_table AND f.end_snapshot IS NULL
     AND CASE WHEN coalesce(f.path_is_relative, true) THEN folder || f.path ELSE f.path END = p.location
$$;

-- Rows that DuckDB keeps in PostgreSQL are shown to Iceberg clients as one file
-- for all that began together; a client that removes the file, or rows of it by
-- their positions, ends them. Positions (null: all) count the rows as they are
-- shown: by row_id, without those that began and ended at once.
CREATE FUNCTION lakeproxy_end_inlined_rows(of_table bigint, of_version bigint, begun bigint, positions bigint[], ended bigint)
RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  relation regclass;
  rows_ended bigint;
BEGIN
  SELECT quote_ident(i.table_name)::regclass INTO STRICT relation
    FROM ducklake_inlined_data_tables i
   WHERE i.table_id = of_table AND i.schema_version = of_version;
  EXECUTE format(
    'UPDATE %1$s SET end_snapshot = $3 WHERE begin_snapshot = $1 AND end_snapshot IS NULL '
    'AND row_id IN (SELECT shown.row_id FROM (SELECT r.row_id, row_number() OVER (ORDER BY r.row_id) - 1 AS place '
    'FROM %1$s r WHERE r.begin_snapshot = $1 AND r.end_snapshot IS DISTINCT FROM $1) AS shown '
    'WHERE $2 IS NULL OR shown.place = ANY ($2))', relation)
  USING begun, positions, ended;
  GET DIAGNOSTICS rows_ended = ROW_COUNT;
  RETURN rows_ended;
END $$;

-- New rows of the same objects, alive from `begun` on: copies[i] is the id of
-- the copy of originals[i]. Their delete files are not copied.
CREATE FUNCTION lakeproxy_copy_files(originals bigint[], copies bigint[], begun bigint)
RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, end_snapshot, file_order, path,
         path_is_relative, file_format, record_count, file_size_bytes, footer_size, row_id_start, partition_id,
         encryption_key, mapping_id, partial_max)
  SELECT c.copy, f.table_id, begun, NULL, f.file_order, f.path, f.path_is_relative, f.file_format, f.record_count,
         f.file_size_bytes, f.footer_size, f.row_id_start, f.partition_id, f.encryption_key, f.mapping_id, f.partial_max
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
