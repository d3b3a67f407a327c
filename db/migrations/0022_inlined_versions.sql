-- DuckDB gives a table that it keeps rows of in PostgreSQL a schema version of its
-- own, where the lake's table had none yet, and does not note it of the lake's
-- table. A later connection then takes the columns of the lake's first snapshot of
-- the table for those of the rows: what an Iceberg client added since reads as NULL,
-- and is lost when the rows are flushed. The version is noted here, at the end of
-- the transaction, when DuckDB's own notes are there. It begins with the version of
-- the table's columns, which it does not change: DuckDB merges files of one range
-- of snapshots alone.
CREATE FUNCTION lakeproxy_note_inlined_version() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO ducklake_schema_versions (begin_snapshot, schema_version, table_id)
  SELECT max(v.begin_snapshot), NEW.schema_version, NEW.table_id FROM ducklake_schema_versions v
   WHERE v.table_id = NEW.table_id AND v.schema_version <= NEW.schema_version
  HAVING max(v.schema_version) < NEW.schema_version;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lakeproxy_note_inlined_version AFTER INSERT ON ducklake_inlined_data_tables
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_note_inlined_version();

INSERT INTO ducklake_schema_versions (begin_snapshot, schema_version, table_id)
SELECT max(v.begin_snapshot), i.schema_version, i.table_id
  FROM ducklake_inlined_data_tables i
  JOIN ducklake_schema_versions v ON v.table_id = i.table_id AND v.schema_version <= i.schema_version
 GROUP BY i.table_id, i.schema_version
HAVING max(v.schema_version) < i.schema_version;
