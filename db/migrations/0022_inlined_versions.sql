-- DuckDB gives a table that it keeps rows of in PostgreSQL a schema version of its
-- own, where the lake's table had none yet, and does not note it of the lake's
-- table. A later connection then takes the columns of the lake's first snapshot of
-- the table for those of the rows: what an Iceberg client added since reads as NULL,
-- and is lost when the rows are flushed. The version is noted here, at the end of
-- the transaction, when the snapshot is there.
CREATE FUNCTION lakeproxy_note_inlined_version() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO ducklake_schema_versions (begin_snapshot, schema_version, table_id)
  SELECT max(s.snapshot_id), NEW.schema_version, NEW.table_id FROM ducklake_snapshot s
   WHERE NOT EXISTS (SELECT 1 FROM ducklake_schema_versions v
                      WHERE v.table_id = NEW.table_id AND v.schema_version = NEW.schema_version)
  HAVING max(s.snapshot_id) IS NOT NULL;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lakeproxy_note_inlined_version AFTER INSERT ON ducklake_inlined_data_tables
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_note_inlined_version();

INSERT INTO ducklake_schema_versions (begin_snapshot, schema_version, table_id)
SELECT min(s.snapshot_id), i.schema_version, i.table_id
  FROM ducklake_inlined_data_tables i
  JOIN ducklake_snapshot s ON s.schema_version = i.schema_version
 WHERE NOT EXISTS (SELECT 1 FROM ducklake_schema_versions v
                    WHERE v.table_id = i.table_id AND v.schema_version = i.schema_version)
 GROUP BY i.table_id, i.schema_version;
