-- Texts of rows that DuckDB keeps in PostgreSQL stand there as bytes. When it
-- flushes a table that is partitioned by a text (1.5.5), it looks for the deleted
-- ones of each partition by the text, finds none or others among the bytes, and
-- takes other rows of the file for deleted. It goes by the partitions that the table
-- had when the rows were inserted. Whether a flush of the table is safe: it never was
-- partitioned so, or none of the rows were deleted.
CREATE FUNCTION lakeproxy_may_flush(of_schema text, of_name text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  held record;
  deleted boolean;
BEGIN
  FOR held IN
    SELECT i.table_name
      FROM ducklake_table t
      JOIN ducklake_schema s ON s.schema_id = t.schema_id AND s.schema_name = of_schema AND s.end_snapshot IS NULL
      JOIN ducklake_inlined_data_tables i ON i.table_id = t.table_id
     WHERE t.table_name = of_name AND t.end_snapshot IS NULL
       AND EXISTS (SELECT 1 FROM ducklake_partition_info p
                     JOIN ducklake_partition_column k ON k.partition_id = p.partition_id
                     JOIN ducklake_column c ON c.table_id = t.table_id AND c.column_id = k.column_id
                    WHERE p.table_id = t.table_id
                      AND lower(c.column_type) IN ('varchar', 'json'))
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I WHERE end_snapshot IS NOT NULL)', held.table_name) INTO deleted;
    IF deleted THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END $$;
