-- DuckDB gives each row of ducklake_column that it writes the column's id for its
-- number, and lays out the rows that it keeps in PostgreSQL as it holds the table:
-- a column that it changes stays in its place, one that it adds comes last. Once a
-- client has moved a column the two are no longer the same, and values would stand
-- under each other's names. What DuckDB writes is given the numbers that say what
-- it means.
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
