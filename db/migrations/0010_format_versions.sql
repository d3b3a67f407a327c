-- What is published for one format version is of no use in another: manifests,
-- numbers and deletes differ.
ALTER TABLE lakeproxy_snapshot ADD COLUMN format_version integer NOT NULL DEFAULT 2;

-- The format version that a table is shown in: its own, which a client asked
-- for, or the one its newest snapshot was published in, or the server's
-- default. A version is never lowered, so a lower default finds the table as it
-- was.
CREATE FUNCTION lakeproxy_format_version(of_table bigint, by_default bigint) RETURNS integer
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT coalesce(
    (SELECT coalesce(t.format_version,
                     CASE t.properties->>'lakeproxy.format-version' WHEN '2' THEN 2 WHEN '3' THEN 3 END)
       FROM lakeproxy_table t WHERE t.table_id = of_table),
    greatest(by_default::integer,
             (SELECT s.format_version FROM lakeproxy_snapshot s
               WHERE s.table_id = of_table ORDER BY s.snapshot_id DESC LIMIT 1)))
$$;
