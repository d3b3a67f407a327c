-- Files: where a row's object lies, and the rows that commits of Iceberg clients look up,
-- end and copy.

-- The lake and its schemas ---------------------------------------------------------------

-- An option of the whole lake: its scope is null, or 'global'. A table of options that keeps
-- those of former times has an end_snapshot of each.
CREATE FUNCTION lakeproxy_lake_option(of_key text) RETURNS text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT m.value FROM ducklake_metadata m
   WHERE m.key = of_key AND coalesce(m.scope, 'global') = 'global' AND to_jsonb(m)->>'end_snapshot' IS NULL
   LIMIT 1
$$;

-- The schemas that are there, each with its parent. Before DuckLake 1.1 there are no parents,
-- and no such column: the name then finds the null beside the schema.
CREATE FUNCTION lakeproxy_schema_parents(OUT schema_id bigint, OUT schema_name text, OUT parent_id bigint)
RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT s.schema_id, s.schema_name, (SELECT parent_schema_id FROM (SELECT s.*) AS its)
    FROM ducklake_schema s CROSS JOIN (SELECT NULL::bigint AS parent_schema_id) AS absent
   WHERE s.end_snapshot IS NULL
$$;

-- The schemas under the names that Iceberg's namespaces have here: the levels, joined by
-- U+001F. A level is a schema of DuckLake 1.1 with its parent. Before, the whole is the name
-- of one schema, which stays after a migration: where both are there, the nested one counts.
CREATE FUNCTION lakeproxy_schemas(OUT schema_id bigint, OUT flat_name text) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH RECURSIVE live AS MATERIALIZED (SELECT * FROM lakeproxy_schema_parents()),
  named (schema_id, flat_name, depth) AS (
    SELECT l.schema_id, l.schema_name, 1 FROM live l WHERE l.parent_id IS NULL
    UNION ALL
    SELECT l.schema_id, n.flat_name || E'\x1f' || l.schema_name, n.depth + 1
      FROM named n JOIN live l ON l.parent_id = n.schema_id
  )
  SELECT DISTINCT ON (n.flat_name) n.schema_id, n.flat_name FROM named n ORDER BY n.flat_name, n.depth DESC
$$;

-- The schema of that name; null where there is none. It looks at the levels alone, where
-- lakeproxy_schemas() names all schemas.
CREATE FUNCTION lakeproxy_find_schema(of_name text) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH RECURSIVE live AS MATERIALIZED (
    SELECT * FROM lakeproxy_schema_parents() l WHERE strpos(of_name, l.schema_name) > 0
  ), walk (schema_id, rest, depth) AS (
    SELECT NULL::bigint, of_name || E'\x1f', 0
    UNION ALL
    SELECT l.schema_id, substr(w.rest, length(l.schema_name) + 2), w.depth + 1
      FROM walk w JOIN live l ON l.parent_id IS NOT DISTINCT FROM w.schema_id
                             AND starts_with(w.rest, l.schema_name || E'\x1f')
  )
  SELECT w.schema_id FROM walk w WHERE w.rest = '' AND w.depth > 0 ORDER BY w.depth DESC LIMIT 1
$$;

-- The schema as a line of the lake's log names it: the names from the top down, each in double
-- quotes, doubled inside.
CREATE FUNCTION lakeproxy_schema_word(of_schema bigint) RETURNS text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH RECURSIVE live AS MATERIALIZED (SELECT * FROM lakeproxy_schema_parents()),
  up (parent_id, word) AS (
    SELECT l.parent_id, '"' || replace(l.schema_name, '"', '""') || '"' FROM live l WHERE l.schema_id = of_schema
    UNION ALL
    SELECT l.parent_id, '"' || replace(l.schema_name, '"', '""') || '".' || u.word
      FROM up u JOIN live l ON l.schema_id = u.parent_id
     WHERE length(u.word) < 65536
  )
  SELECT u.word FROM up u ORDER BY length(u.word) DESC LIMIT 1
$$;

-- Locations ------------------------------------------------------------------------------

-- The object of a path that is relative to its table's folder, or absolute, in its canonical
-- spelling.
CREATE FUNCTION lakeproxy_object(of_table bigint, path text, is_relative boolean) RETURNS text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_canonical(CASE WHEN NOT is_relative THEN $2 ELSE (
    SELECT CASE WHEN NOT t.path_is_relative THEN ''
                WHEN NOT s.path_is_relative THEN s.path
                ELSE (SELECT lakeproxy_lake_option('data_path')) || s.path END || t.path || $2
      FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
     WHERE t.table_id = $1
     ORDER BY t.begin_snapshot DESC LIMIT 1) END)
$$;

-- The object of an entry of ducklake_files_scheduled_for_deletion.
CREATE FUNCTION lakeproxy_scheduled_object(path text, is_relative boolean) RETURNS text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT lakeproxy_canonical(CASE WHEN is_relative
    THEN (SELECT lakeproxy_lake_option('data_path')) || $1
    ELSE $1 END)
$$;

-- The folders of tables that some kept snapshot has, of views, and of unregistered tables.
CREATE FUNCTION lakeproxy_folders(OUT table_id bigint, OUT folder text) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT t.table_id, rtrim(lakeproxy_canonical(
           CASE WHEN NOT t.path_is_relative THEN ''
                WHEN NOT s.path_is_relative THEN s.path
                ELSE (SELECT lakeproxy_lake_option('data_path')) || s.path
           END || t.path), '/') || '/'
    FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
   WHERE lakeproxy_is_kept(t.begin_snapshot, t.end_snapshot)
   UNION ALL
  SELECT NULL, rtrim(lakeproxy_canonical(v.document->>'location'), '/') || '/'
    FROM lakeproxy_view v WHERE v.document->>'location' IS NOT NULL
   UNION ALL
  SELECT u.table_id, u.folder FROM lakeproxy_unregistered u
$$;

-- Whether a client may not give a table this folder: another table's or view's lies in it or
-- around it, or a namespace's lies in it, or its files are being removed. `but` is the table
-- that is replaced. The folder of a dropped table, as a whole, is free for a copy of it.
-- Folders end in '/'.
CREATE FUNCTION lakeproxy_folder_overlaps(of_folder text, but bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH wanted AS (SELECT regexp_replace(of_folder, '^s3[an]://', 's3://') AS folder),
  tables AS (
    SELECT f.table_id, regexp_replace(f.folder, '^s3[an]://', 's3://') AS folder,
           f.table_id IS NOT NULL AND NOT EXISTS (
             SELECT 1 FROM ducklake_table t WHERE t.table_id = f.table_id AND t.end_snapshot IS NULL) AS is_dropped
      FROM lakeproxy_folders() f
     UNION ALL
    SELECT p.table_id, regexp_replace(p.folder, '^s3[an]://', 's3://'), false FROM lakeproxy_purge p),
  namespaces AS (
    SELECT CASE WHEN s.path_is_relative
                THEN (SELECT lakeproxy_lake_option('data_path')) || s.path
                ELSE regexp_replace(s.path, '^s3[an]://', 's3://') END AS folder
      FROM ducklake_schema s WHERE s.end_snapshot IS NULL)
  SELECT EXISTS (SELECT 1 FROM tables o, wanted w
                  WHERE o.table_id IS DISTINCT FROM but AND NOT (o.is_dropped AND o.folder = w.folder)
                    AND (starts_with(w.folder, o.folder) OR starts_with(o.folder, w.folder)))
      OR EXISTS (SELECT 1 FROM namespaces n, wanted w WHERE starts_with(n.folder, w.folder))
$$;

-- Folders of other tables and views in a table's folder; the folder itself, too, where a view has
-- it, or a table that is or was in another namespace: keys that are cut to the folder would open
-- that one as well. Within a namespace DuckDB's tables share a folder after a rename or a drop,
-- and whoever may read the one may read the other. `of_table` is null for a table that is
-- staged. Folders end in '/'.
CREATE FUNCTION lakeproxy_other_folders(of_table bigint, of_folder text) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH own AS (SELECT rtrim(lakeproxy_canonical(of_folder), '/') || '/' AS folder)
  SELECT DISTINCT f.folder
    FROM lakeproxy_folders() f, own o
   WHERE (f.table_id IS NULL OR f.table_id IS DISTINCT FROM of_table) AND starts_with(f.folder, o.folder)
     AND NOT (f.folder = o.folder AND EXISTS (
       SELECT 1 FROM ducklake_table t
        WHERE t.table_id = f.table_id
       HAVING bool_and(t.schema_id IN (SELECT m.schema_id FROM ducklake_table m
                                       WHERE m.table_id = of_table AND m.end_snapshot IS NULL))))
$$;

-- Rows of the live files of a table at the given locations, or of which readable copies stand
-- there. Their own paths are absolute or relative to `folder`.
CREATE FUNCTION lakeproxy_live_files(of_table bigint, folder text, locations text[])
RETURNS TABLE (location text, data_file_id bigint)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT p.location, f.data_file_id
    FROM unnest(locations) AS p(location)
    JOIN ducklake_data_file f ON lakeproxy_object_name(f.path) = lakeproxy_object_name(p.location)
   WHERE f.table_id = of_table AND f.end_snapshot IS NULL
     AND lakeproxy_canonical(CASE WHEN coalesce(f.path_is_relative, true) THEN folder || f.path ELSE f.path END)
         = lakeproxy_canonical(p.location)
   UNION
  SELECT p.location, f.data_file_id
    FROM unnest(locations) AS p(location)
    JOIN lakeproxy_readable_copy c ON c.location = p.location AND c.table_id = of_table
    JOIN ducklake_data_file f ON f.data_file_id = c.data_file_id AND f.table_id = of_table
   WHERE f.end_snapshot IS NULL
$$;

-- Commits that delete, and deletes that are taken back -----------------------------------

-- Ends inlined rows. They are shown to Iceberg clients as one file for all that began
-- together; a client that removes the file, or rows of it by their positions, ends them.
-- Positions (null: all) count the rows as they are shown: by row_id, without those that began
-- and ended at once.
CREATE FUNCTION lakeproxy_end_inlined_rows(of_table bigint, of_version bigint, begun bigint, positions bigint[], ended bigint)
RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  relation regclass;
  col record; -- The names of its columns.
  rows_ended bigint;
BEGIN
  SELECT quote_ident(i.table_name)::regclass INTO STRICT relation
    FROM ducklake_inlined_data_tables i
   WHERE i.table_id = of_table AND i.schema_version = of_version;
  SELECT * INTO col FROM lakeproxy_inlined_columns(relation);
  EXECUTE format(
    'UPDATE %1$s SET %4$s = $3 WHERE %3$s = $1 AND %4$s IS NULL '
    'AND %2$s IN (SELECT shown.id FROM (SELECT r.%2$s AS id, row_number() OVER (ORDER BY r.%2$s) - 1 AS place '
    'FROM %1$s r WHERE r.%3$s = $1 AND r.%4$s IS DISTINCT FROM $1) AS shown '
    'WHERE $2 IS NULL OR shown.place = ANY ($2))', relation, col.row_id, col.begun, col.ended)
  USING begun, positions, ended;
  GET DIAGNOSTICS rows_ended = ROW_COUNT;
  RETURN rows_ended;
END $$;

-- Restores inlined rows that had ended: they begin again at `begun`, as rows of their own
-- with the ids that they had. Positions count as those of lakeproxy_end_inlined_rows. DuckDB
-- ends such rows by their ids: where a later version of the row lives, the older one is
-- another row from now on, with a new id.
CREATE FUNCTION lakeproxy_return_inlined_rows(of_table bigint, of_version bigint, first_begun bigint, positions bigint[], begun bigint)
RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  relation regclass;
  inlined record;
  col record; -- The names of its columns.
  live bigint[] := '{}';
  more bigint[];
  next_id bigint;
  new_ids bigint;
BEGIN
  FOR inlined IN SELECT i.table_name, i.schema_version FROM ducklake_inlined_data_tables i WHERE i.table_id = of_table LOOP
    IF inlined.schema_version = of_version THEN
      relation := quote_ident(inlined.table_name)::regclass;
    END IF;
    SELECT * INTO col FROM lakeproxy_inlined_columns(quote_ident(inlined.table_name)::regclass);
    EXECUTE format('SELECT array_agg(%s) FROM %I WHERE %s IS NULL', col.row_id, inlined.table_name, col.ended) INTO more;
    live := live || coalesce(more, '{}');
  END LOOP;
  SELECT * INTO STRICT col FROM lakeproxy_inlined_columns(relation);
  SELECT s.next_row_id INTO STRICT next_id FROM ducklake_table_stats s WHERE s.table_id = of_table;
  EXECUTE format(
    'WITH shown AS (SELECT r.ctid AS tuple, r.%3$s AS id, r.%5$s AS ended, '
    '    row_number() OVER (ORDER BY r.%3$s) - 1 AS place '
    '  FROM %1$s r WHERE r.%4$s = $1 AND r.%5$s IS DISTINCT FROM $1), '
    'back AS (SELECT s.*, s.id = ANY ($4) AS taken FROM shown s WHERE s.place = ANY ($2) AND s.ended IS NOT NULL), '
    'begun AS (INSERT INTO %1$s (%3$s, %4$s, %5$s, %2$s) '
    '  SELECT CASE WHEN b.taken THEN $5 - 1 + row_number() OVER (PARTITION BY b.taken ORDER BY b.place) ELSE b.id END, '
    '         $3, NULL, %6$s FROM back b JOIN %1$s r ON r.ctid = b.tuple) '
    'SELECT count(*) FILTER (WHERE taken) FROM back', relation, array_to_string(col.own, ', '), col.row_id, col.begun,
    col.ended, 'r.' || array_to_string(col.own, ', r.'))
  INTO new_ids USING first_begun, positions, begun, live, next_id;
  UPDATE ducklake_table_stats SET next_row_id = next_id + new_ids WHERE table_id = of_table AND new_ids > 0;
  RETURN new_ids;
END $$;

-- New rows of the same objects, alive from `begun` on: copies[i] is the id of the copy of
-- originals[i]. Their delete files are not copied. No snapshot that has a copy is older than
-- the youngest row in it: it has no partial_max.
CREATE FUNCTION lakeproxy_copy_files(originals bigint[], copies bigint[], begun bigint)
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
  -- What DuckLake 1.1 knows besides.
  IF EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a
              WHERE a.attrelid = 'ducklake_data_file'::regclass AND a.attname = 'row_group_count' AND NOT a.attisdropped) THEN
    UPDATE ducklake_data_file n SET row_group_count = f.row_group_count
      FROM unnest(originals, copies) AS c(original, copy) JOIN ducklake_data_file f ON f.data_file_id = c.original
     WHERE n.data_file_id = c.copy AND f.row_group_count IS NOT NULL;
    UPDATE ducklake_file_column_stats n SET min_is_exact = s.min_is_exact, max_is_exact = s.max_is_exact
      FROM unnest(originals, copies) AS c(original, copy) JOIN ducklake_file_column_stats s ON s.data_file_id = c.original
     WHERE n.data_file_id = c.copy AND n.column_id = s.column_id AND (s.min_is_exact OR s.max_is_exact);
  END IF;
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
  -- The same object has the same readable copies.
  INSERT INTO lakeproxy_readable_copy (data_file_id, signature, table_id, location, file_size_bytes, failure)
  SELECT c.copy, r.signature, r.table_id, r.location, r.file_size_bytes, r.failure
    FROM unnest(originals, copies) AS c(original, copy) JOIN lakeproxy_readable_copy r ON r.data_file_id = c.original;
END $$;

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

-- Rollback and replacement ---------------------------------------------------------------

-- How the files of an older snapshot become those of the next: which rows end, which are
-- restored, and the delete file that counted then. A file whose deleted rows differ ends and
-- is restored. `is_partial`: the file, or its delete file, holds rows of later snapshots,
-- too, so that it is restored with a delete file made for it.
CREATE FUNCTION lakeproxy_files_to_restore(of_table bigint, back_to bigint)
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

-- Restores inlined rows of the table, and inlined deletes of the files that are restored, as
-- they were at `back_to`.
CREATE FUNCTION lakeproxy_restore_inlined(of_table bigint, back_to bigint, originals bigint[], copies bigint[], begun bigint)
RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  inlined record;
  relation regclass := to_regclass('ducklake_inlined_delete_' || of_table);
  col record; -- The names of its columns.
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
    SELECT * INTO col FROM lakeproxy_inlined_columns(relation);
    EXECUTE format('UPDATE %1$s SET %3$s = $2 WHERE %3$s IS NULL AND %2$s > $1', relation, col.begun, col.ended)
    USING back_to, begun;
    EXECUTE format(
      'INSERT INTO %1$s (%3$s, %4$s, %5$s, %2$s) SELECT %3$s, $2, NULL, %2$s FROM %1$s '
      'WHERE %4$s <= $1 AND %5$s > $1', relation, array_to_string(col.own, ', '), col.row_id, col.begun, col.ended)
    USING back_to, begun;
  END LOOP;
END $$;

-- Ends all rows of a table. Delete files of ended data files stay open, as DuckDB leaves
-- them: a flush looks for the open one.
CREATE FUNCTION lakeproxy_end_content(of_table bigint, ended bigint)
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
    EXECUTE format('UPDATE %1$I SET %2$s = $1 WHERE %2$s IS NULL', inlined.table_name,
                   (SELECT c.ended FROM lakeproxy_inlined_columns(quote_ident(inlined.table_name)::regclass) c))
    USING ended;
  END LOOP;
END $$;
