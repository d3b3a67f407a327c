-- What a file's NaN count is, once it is decided: NULL where it stays unknown, since a
-- manifest that was shown without a count stays as it is.
ALTER TABLE lakeproxy_nan_count ALTER COLUMN nan_count DROP NOT NULL;

-- DuckDB 1.5.5 writes contains_nan of a file's last row group, and "false" was shown as a
-- count of 0, by which readers passed over rows with NaN. The snapshots of tables with such
-- files are shown anew, with counts made in the files. A file of one row has one row group.
DELETE FROM lakeproxy_snapshot WHERE table_id IN (
  SELECT f.table_id FROM ducklake_file_column_stats s
    JOIN ducklake_data_file f ON f.data_file_id = s.data_file_id
   WHERE NOT s.contains_nan AND f.record_count > 1
     AND s.null_count IS DISTINCT FROM f.record_count
     AND NOT EXISTS (SELECT 1 FROM lakeproxy_file p WHERE p.data_file_id = f.data_file_id));
