-- From DuckLake 1.0 to 1.1, as DuckDB 2.0 does it; the search path is the lake's schema. DuckDB
-- inserts by position: the order of the new columns counts.
-- Source: DuckLake, "Upgrading to DuckLake 1.1".

-- The three columns that each inlined table begins with. A table's own column that has one of
-- the new names is in the way: it is renamed by hand, and the table flushed.
DO $$
DECLARE
  inlined regclass;
  names text[];
  old_name text;
BEGIN
  FOR inlined IN SELECT quote_ident(table_name)::regclass FROM ducklake_inlined_data_tables LOOP
    SELECT array_agg(attname::text ORDER BY attnum) INTO names
      FROM pg_catalog.pg_attribute WHERE attrelid = inlined AND attnum BETWEEN 1 AND 3 AND NOT attisdropped;
    CONTINUE WHEN names = '{_ducklake_row_id,_ducklake_begin_snapshot,_ducklake_end_snapshot}';
    IF names IS DISTINCT FROM '{row_id,begin_snapshot,end_snapshot}' THEN
      RAISE EXCEPTION 'the inlined table % does not begin with the columns of DuckLake 1.0', inlined;
    END IF;
    FOREACH old_name IN ARRAY names LOOP
      EXECUTE format('ALTER TABLE %s RENAME COLUMN %I TO %I', inlined, old_name, '_ducklake_' || old_name);
    END LOOP;
  END LOOP;
END $$;

ALTER TABLE ducklake_data_file ADD row_group_count BIGINT;
ALTER TABLE ducklake_delete_file ADD row_group_count BIGINT;
ALTER TABLE ducklake_file_column_stats ADD min_is_exact BOOLEAN, ADD max_is_exact BOOLEAN;
ALTER TABLE ducklake_table_column_stats ADD min_is_exact BOOLEAN, ADD max_is_exact BOOLEAN;
ALTER TABLE ducklake_schema ADD parent_schema_id BIGINT;
CREATE TABLE ducklake_view_column_tag (view_id BIGINT, column_name VARCHAR, begin_snapshot BIGINT, end_snapshot BIGINT,
                                       "key" VARCHAR, "value" VARCHAR);

-- Schema versions that 1.0 gave a table's first inlined table, and did not note.
INSERT INTO ducklake_schema_versions (begin_snapshot, schema_version, table_id)
SELECT max(v.begin_snapshot), i.schema_version, i.table_id
  FROM ducklake_inlined_data_tables i
  JOIN ducklake_schema_versions v ON v.table_id = i.table_id AND v.schema_version <= i.schema_version
 GROUP BY i.schema_version, i.table_id
HAVING max(v.schema_version) < i.schema_version;

-- Defaults that 1.0 lost when it renamed a field of a struct.
UPDATE ducklake_column c
   SET initial_default = coalesce(c.initial_default, o.initial_default),
       default_value = CASE WHEN coalesce(c.default_value, 'NULL') = 'NULL' THEN o.default_value ELSE c.default_value END
  FROM ducklake_column o
 WHERE c.parent_column IS NOT NULL AND o.table_id = c.table_id AND o.column_id = c.column_id
   AND o.end_snapshot = c.begin_snapshot AND o.column_name <> c.column_name;

-- Bounds in the text of a type that the column had before. Those of integers and decimals read
-- the same in the wider type.
UPDATE ducklake_file_column_stats s SET min_value = NULL, max_value = NULL
  FROM ducklake_data_file f, ducklake_column o, ducklake_column c
 WHERE f.data_file_id = s.data_file_id AND o.table_id = f.table_id AND o.column_id = s.column_id
   AND o.begin_snapshot <= f.begin_snapshot AND (o.end_snapshot IS NULL OR o.end_snapshot > f.begin_snapshot)
   AND c.table_id = o.table_id AND c.column_id = o.column_id AND c.end_snapshot IS NULL AND c.column_type <> o.column_type
   AND NOT (c.column_type LIKE '%int%' AND o.column_type LIKE '%int%')
   AND NOT (c.column_type LIKE 'decimal%' AND o.column_type LIKE 'decimal%');

UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version';
