-- DuckDB adds files as they are, with values that stand in their paths alone
-- ("name=value"). Iceberg's readers take such values from a partition spec, and its
-- number follows from when the first of these files came. DuckLake forgets that with
-- the file; it is kept here, for the numbers to stay what they are.
CREATE TABLE lakeproxy_path_columns (
  mapping_id bigint PRIMARY KEY,
  table_id bigint NOT NULL,
  begin_snapshot bigint NOT NULL,
  column_ids bigint[] NOT NULL
);
CREATE INDEX lakeproxy_path_columns_table ON lakeproxy_path_columns (table_id);

-- Nothing where no file has the mapping, or no value stands in a path.
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

-- At the end of the transaction, when its files are there.
CREATE FUNCTION lakeproxy_note_new_path_columns() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM lakeproxy_note_path_columns(NEW.mapping_id);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lakeproxy_note_path_columns AFTER INSERT ON ducklake_name_mapping
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.is_partition) EXECUTE FUNCTION lakeproxy_note_new_path_columns();

-- Those of now, but for files that clients added: they are of specs that are there, and
-- one more would move the numbers of later ones.
SELECT lakeproxy_note_path_columns(c.mapping_id) FROM ducklake_column_mapping c
 WHERE EXISTS (SELECT 1 FROM ducklake_data_file f
                WHERE f.table_id = c.table_id AND f.mapping_id = c.mapping_id
                  AND NOT EXISTS (SELECT 1 FROM lakeproxy_file l WHERE l.data_file_id = f.data_file_id));
