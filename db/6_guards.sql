-- Guards: triggers that keep writers of the lake, DuckDB's clients among them, from harming
-- each other.

-- Objects that DuckDB would remove -------------------------------------------------------

-- Whether a row of this table and life span makes its object needed.
CREATE FUNCTION lakeproxy_is_needed(of_table bigint, begun bigint, ended bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_is_kept(begun, ended)
      OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = of_table)
$$;

-- Whether a row of another id than `but`, or of an unregistered table, makes the object
-- needed. Data files and delete files number from one sequence, so one id names the row in
-- either table.
CREATE FUNCTION lakeproxy_is_needed_by_another(asked text, but bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM ducklake_data_file f
     WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(asked)
       AND (f.data_file_id IS DISTINCT FROM but
            OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = f.table_id))
       AND lakeproxy_object(f.table_id, f.path, f.path_is_relative) = asked
       AND lakeproxy_is_needed(f.table_id, f.begin_snapshot, f.end_snapshot)
    UNION ALL
    SELECT 1 FROM ducklake_delete_file f
     WHERE lakeproxy_object_name(f.path) = lakeproxy_object_name(asked)
       AND (f.delete_file_id IS DISTINCT FROM but
            OR EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = f.table_id))
       AND lakeproxy_object(f.table_id, f.path, f.path_is_relative) = asked
       AND lakeproxy_is_needed(f.table_id, f.begin_snapshot, f.end_snapshot));
END $$;

-- Whether an object lies in the folder of the table, and not in the folder of another table
-- inside of it.
CREATE FUNCTION lakeproxy_is_own(of_table bigint, object text) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH folders AS (
    SELECT t.table_id, rtrim(lakeproxy_object(t.table_id, '', true), '/') || '/' AS folder
      FROM ducklake_table t
     WHERE t.table_id = of_table
        OR strpos(lakeproxy_canonical(object), rtrim(lakeproxy_canonical(t.path), '/') || '/') > 0
  )
  SELECT EXISTS (
    SELECT 1 FROM folders own
     WHERE own.table_id = of_table AND starts_with(lakeproxy_canonical(object), own.folder) AND NOT EXISTS (
       SELECT 1 FROM folders f
        WHERE f.table_id <> of_table AND starts_with(lakeproxy_canonical(object), f.folder)
          AND starts_with(f.folder, own.folder) AND f.folder <> own.folder))
$$;

-- Leaves out an entry of the clean-up that must not be there. DuckLake schedules the object
-- of a dead row without looking whether another row needs it. One object can have many rows
-- here (a rollback, a file that is appended again, a registered table), so a live file would
-- be lost; it is scheduled again when that other row dies. And an Iceberg client may record
-- a data file at any path: a local file, another bucket, another table's file. DuckDB would
-- remove it with the rights of whoever calls its clean-up. So a file that a client recorded
-- outside of its own table's folder is never scheduled. The entry of a kept file is put off.
CREATE FUNCTION lakeproxy_guard_scheduled_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  named text := lakeproxy_scheduled_object(NEW.path, NEW.path_is_relative);
  is_elsewhere boolean := EXISTS (SELECT 1 FROM lakeproxy_file f
                                   WHERE f.data_file_id = NEW.data_file_id AND NOT lakeproxy_is_own(f.table_id, named));
BEGIN
  IF EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE starts_with(named, u.folder))
     OR lakeproxy_is_needed_by_another(named, NEW.data_file_id) THEN
    RETURN NULL;
  END IF;
  IF EXISTS (SELECT 1 FROM lakeproxy_kept_file k WHERE k.object = named) THEN
    NEW.schedule_start := lakeproxy_far_future();
    -- The removal of orphans looks at nothing else.
    IF is_elsewhere AND named LIKE '%.parquet' AND starts_with(named, lakeproxy_canonical(
         lakeproxy_lake_option('data_path'))) THEN
      NEW.schedule_start := lakeproxy_far_future() + interval '1 day';
      RETURN NEW;
    END IF;
  END IF;
  RETURN CASE WHEN NOT is_elsewhere THEN NEW END;
END $$;
CREATE TRIGGER lakeproxy_guard_scheduled_file BEFORE INSERT ON ducklake_files_scheduled_for_deletion
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_guard_scheduled_file();

-- Entries from before the lake had the trigger, of objects that another row needs.
DELETE FROM ducklake_files_scheduled_for_deletion s
 WHERE lakeproxy_is_needed_by_another(lakeproxy_scheduled_object(s.path, s.path_is_relative), s.data_file_id);

-- Unregistered tables --------------------------------------------------------------------

-- ducklake_delete_orphaned_files removes each *.parquet under the data path that no row
-- names. So the rows of these files outlive the snapshots that had them, and with them those
-- of their table and schema, by which DuckDB resolves their paths.
CREATE FUNCTION lakeproxy_keep_unregistered() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM lakeproxy_unregistered u WHERE u.table_id = OLD.table_id) THEN
    RETURN NULL;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER lakeproxy_keep_unregistered BEFORE DELETE ON ducklake_data_file
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_keep_unregistered();
CREATE TRIGGER lakeproxy_keep_unregistered BEFORE DELETE ON ducklake_delete_file
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_keep_unregistered();
CREATE TRIGGER lakeproxy_keep_unregistered BEFORE DELETE ON ducklake_table
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_keep_unregistered();

-- The same for the row of their schema.
CREATE FUNCTION lakeproxy_keep_schema_of_unregistered() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM ducklake_table t JOIN lakeproxy_unregistered u ON u.table_id = t.table_id
              WHERE t.schema_id = OLD.schema_id) THEN
    RETURN NULL;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER lakeproxy_keep_schema_of_unregistered BEFORE DELETE ON ducklake_schema
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_keep_schema_of_unregistered();

-- Columns and inlined rows of DuckDB -----------------------------------------------------

-- Gives what DuckDB writes the column numbers that say what it means. DuckDB gives each row
-- of ducklake_column the column's id for its number, and lays out inlined rows as it holds
-- the table: a column that it changes stays in its place, one that it adds comes last. Once a
-- client has moved a column the two are no longer the same, and values would stand under each
-- other's names.
CREATE FUNCTION lakeproxy_place_columns() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  -- Our own commits say which place they mean.
  IF current_setting('lakeproxy.publishes', true) = 'on' THEN
    RETURN NULL;
  END IF;
  WITH changed AS (
    SELECT DISTINCT ON (c.table_id, c.column_id) c.table_id, c.column_id, c.column_order
      FROM added a
      JOIN ducklake_column c ON c.table_id = a.table_id AND c.column_id = a.column_id
                            AND c.begin_snapshot < a.begin_snapshot
     ORDER BY c.table_id, c.column_id, c.begin_snapshot DESC
  ), live AS (
    SELECT c.table_id, c.column_id, c.parent_column, c.column_order,
           a.column_id IS NOT NULL AND h.column_id IS NULL AS is_new,
           coalesce(h.column_order, c.column_order) AS held
      FROM ducklake_column c
      LEFT JOIN added a ON a.table_id = c.table_id AND a.column_id = c.column_id
      LEFT JOIN changed h ON h.table_id = c.table_id AND h.column_id = c.column_id
     WHERE c.table_id IN (SELECT table_id FROM added) AND c.end_snapshot IS NULL
  ), placed AS (
    SELECT l.table_id, l.column_id, l.column_order,
           CASE WHEN l.is_new
                THEN greatest(l.column_order,
                              coalesce(max(l.held) FILTER (WHERE NOT l.is_new) OVER siblings, 0)
                              + count(*) FILTER (WHERE l.is_new) OVER (siblings ORDER BY l.column_order))
                ELSE l.held END AS place
      FROM live l
    WINDOW siblings AS (PARTITION BY l.table_id, l.parent_column)
  )
  UPDATE ducklake_column c SET column_order = p.place
    FROM placed p
   WHERE c.table_id = p.table_id AND c.column_id = p.column_id AND c.end_snapshot IS NULL
     AND p.place <> p.column_order;
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_place_columns AFTER INSERT ON ducklake_column
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_place_columns();

-- Notes the schema version of a table for inlined rows. DuckDB gives a table that it inlines
-- rows of a schema version of its own, where the lake's table had none yet, and does not note
-- it of the lake's table. A later connection then takes the columns of the lake's first
-- snapshot of the table for those of the rows: what an Iceberg client added since reads as
-- NULL, and is lost when the rows are flushed. The version is noted at the end of the
-- transaction, when DuckDB's own notes are there. It begins with the version of the table's
-- columns, which it does not change: DuckDB merges files of one range of snapshots alone.
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

-- Those of inlined tables from before the lake had the trigger.
INSERT INTO ducklake_schema_versions (begin_snapshot, schema_version, table_id)
SELECT max(v.begin_snapshot), i.schema_version, i.table_id
  FROM ducklake_inlined_data_tables i
  JOIN ducklake_schema_versions v ON v.table_id = i.table_id AND v.schema_version <= i.schema_version
 GROUP BY i.table_id, i.schema_version
HAVING max(v.schema_version) < i.schema_version;

-- Gives inlined tables the column names of DuckLake 1.1 that a migration of DuckDB passed over: it
-- reads their list first, and a commit of ours may make one before the migration gets its
-- locks. With its owner's rights: those tables are ours.
CREATE FUNCTION lakeproxy_finish_migration() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
  col record; -- The names of its columns.
BEGIN
  FOR inlined IN SELECT i.table_name FROM ducklake_inlined_data_tables i LOOP
    SELECT * INTO col FROM lakeproxy_inlined_columns(to_regclass(quote_ident(inlined.table_name)));
    IF (col.row_id, col.begun, col.ended) = ('row_id', 'begin_snapshot', 'end_snapshot') THEN
      EXECUTE format('ALTER TABLE %I RENAME COLUMN row_id TO _ducklake_row_id', inlined.table_name);
      EXECUTE format('ALTER TABLE %I RENAME COLUMN begin_snapshot TO _ducklake_begin_snapshot', inlined.table_name);
      EXECUTE format('ALTER TABLE %I RENAME COLUMN end_snapshot TO _ducklake_end_snapshot', inlined.table_name);
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_finish_migration AFTER UPDATE ON ducklake_metadata
  FOR EACH ROW WHEN (NEW.key = 'version' AND NEW.value = '1.1' AND OLD.value <> NEW.value)
  EXECUTE FUNCTION lakeproxy_finish_migration();

-- Snapshot ids ---------------------------------------------------------------------------

-- Counts a snapshot id that another writer wants and we took, in lakeproxy_losses. With its
-- owner's rights: whoever may commit to the lake need not know the sequences.
CREATE FUNCTION lakeproxy_count_loss() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF current_setting('lakeproxy.publishes', true) = 'on' THEN
    PERFORM setval('lakeproxy_taken', NEW.snapshot_id);
  ELSIF NEW.snapshot_id <= (SELECT last_value FROM lakeproxy_taken) THEN
    PERFORM nextval('lakeproxy_losses');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER lakeproxy_count_loss BEFORE INSERT ON ducklake_snapshot
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_count_loss();
