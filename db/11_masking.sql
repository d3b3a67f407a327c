-- Masked copies: which of them are still needed.

-- Notes a state that principals of a signature are shown from now on, made of the copies of these
-- names. What is no longer needed goes: states of the signature beyond the newest `keep`, copies
-- that no newest state names, both after `grace`; and signatures that nobody has used for `idle`.
-- Their objects are nobody's then, and the removal of orphans takes them. A state that follows
-- others is no use of its signature: it may have been made behind a commit, for nobody yet.
CREATE FUNCTION lakeproxy_note_masked_state(of_table bigint, of_signature text, file text, its_objects text[], names text[],
                                            keep bigint, grace interval, idle interval) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO lakeproxy_masked_state (table_id, signature, metadata_file, objects, used_at)
  SELECT of_table, of_signature, file, its_objects, coalesce(max(s.used_at), clock_timestamp())
    FROM lakeproxy_masked_state s WHERE s.table_id = of_table AND s.signature = of_signature
  ON CONFLICT (table_id, signature, metadata_file) DO UPDATE SET replaced_at = NULL, made_at = clock_timestamp();
  UPDATE lakeproxy_masked_state s SET replaced_at = clock_timestamp()
   WHERE s.table_id = of_table AND s.signature = of_signature AND s.metadata_file <> file AND s.replaced_at IS NULL;
  UPDATE lakeproxy_masked_copy c SET unused_since = CASE WHEN c.name = ANY (names) THEN NULL ELSE clock_timestamp() END
   WHERE c.table_id = of_table AND c.signature = of_signature
     AND (c.name = ANY (names)) = (c.unused_since IS NOT NULL);
  DELETE FROM lakeproxy_masked_state s
   WHERE s.table_id = of_table AND s.signature = of_signature AND s.replaced_at < clock_timestamp() - grace
     AND s.metadata_file NOT IN (SELECT n.metadata_file FROM lakeproxy_masked_state n
                                  WHERE n.table_id = of_table AND n.signature = of_signature
                                  ORDER BY n.made_at DESC LIMIT keep);
  DELETE FROM lakeproxy_masked_copy c
   WHERE c.table_id = of_table AND c.signature = of_signature AND c.unused_since < clock_timestamp() - grace;
  WITH gone AS (
    DELETE FROM lakeproxy_masked_state s
     WHERE s.table_id = of_table AND s.signature <> of_signature
       AND NOT EXISTS (SELECT 1 FROM lakeproxy_masked_state n
                        WHERE n.table_id = s.table_id AND n.signature = s.signature
                          AND n.used_at >= clock_timestamp() - greatest(idle, grace))
    RETURNING s.signature
  )
  DELETE FROM lakeproxy_masked_copy c USING (SELECT DISTINCT g.signature FROM gone g) AS g
   WHERE c.table_id = of_table AND c.signature = g.signature;
END $$;

-- Tables, dropped ones too, of which a principal with these roles, and those that are granted to
-- it, gets masked copies instead of files: a mask of the file layer that none of the roles lifts
-- reaches it, or any policy does and the table's masks are all kept to files. It says so too
-- often where a column or tag is gone, not too seldom.
CREATE FUNCTION lakeproxy_file_masked(of_subject text, of_roles text[]) RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH its AS (
    SELECT of_roles || ARRAY(SELECT g.role FROM lakeproxy_role_grant g WHERE g.principal = of_subject) AS roles
  ), policies AS (
    SELECT 'masking' AS kind, p.name, p.unmasked_roles, p.file_layer_masking AS of_files FROM lakeproxy_masking_policy p
     UNION ALL
    SELECT 'row_access', p.name, p.unmasked_roles, false FROM lakeproxy_row_access_policy p
  ), attached AS (
    SELECT a.tag_namespace, a.tag_name, a.table_id, p.of_files
      FROM lakeproxy_policy_attachment a JOIN policies p ON (p.kind, p.name) = (a.policy_kind, a.policy_name), its i
     WHERE NOT p.unmasked_roles && i.roles
  ), reached AS (
    SELECT a.table_id, a.of_files FROM attached a WHERE a.table_id IS NOT NULL
     UNION ALL
    SELECT t.table_id, a.of_files
      FROM attached a
      JOIN lakeproxy_object_tag o ON o.tag_namespace = a.tag_namespace AND o.tag_name = a.tag_name
      JOIN ducklake_table t ON CASE o.object_kind WHEN 'schema' THEN t.schema_id = o.object_id
                                                  WHEN 'view' THEN false ELSE t.table_id = o.object_id END
  )
  SELECT DISTINCT r.table_id FROM reached r
   WHERE r.of_files
      OR EXISTS (SELECT 1 FROM lakeproxy_table p
                  WHERE p.table_id = r.table_id AND p.properties->>'lakeproxy.file-layer-masking' = 'true')
$$;
