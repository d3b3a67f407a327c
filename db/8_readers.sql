-- Readers: logins of PostgreSQL that the server makes for one principal each, for DuckDB to
-- read the lake itself. They are members of one role without a login, the group, which holds
-- all rights; what they see of DuckLake's tables is decided here, row by row.
--
-- Rules of rows (policies) are made for the group alone, when the first login is: to
-- everybody else a lake is as it was. The owner of the tables, this server's role, is not asked.

-- What a login reads ---------------------------------------------------------------------

-- The ids of the schemas, tables, views and macros that a login may know; they number from one
-- sequence. Nothing for logins that were not made here, and for those whose time is over.
-- A table or view is where its newest row says, dropped or not. A table is not known of which the
-- principal gets masked copies: its rows here tell files, bounds and inlined values.
CREATE FUNCTION lakeproxy_readable_by(of_login text) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE ROWS 1000 SET search_path FROM CURRENT AS $$
DECLARE
  reader lakeproxy_reader;
  opened bigint[]; -- The schemas that its token reads.
  is_listed boolean; -- It reads only what is granted to one of its roles.
  its_roles text[];
  masked bigint[];
BEGIN
  SELECT * INTO reader FROM lakeproxy_reader r
   WHERE r.role_name = of_login AND r.valid_until > clock_timestamp();
  IF NOT FOUND THEN RETURN; END IF;

  -- "main" is in every lake, and DuckDB's USE looks for it.
  RETURN QUERY SELECT s.schema_id FROM ducklake_schema s WHERE s.schema_name = 'main';
  IF reader.namespaces IS NULL THEN
    opened := ARRAY(SELECT DISTINCT s.schema_id FROM ducklake_schema s);
    RETURN QUERY SELECT unnest(opened);
  ELSE
    opened := ARRAY(SELECT s.schema_id FROM lakeproxy_schemas() s WHERE s.flat_name = ANY (reader.namespaces));
    RETURN QUERY SELECT unnest(opened);
    -- DuckDB finds a nested schema by those around it: of these the names are shown.
    RETURN QUERY SELECT s.schema_id FROM lakeproxy_schemas() s
                  WHERE s.schema_id <> ALL (opened)
                    AND EXISTS (SELECT 1 FROM unnest(reader.namespaces) n WHERE starts_with(n, s.flat_name || E'\x1f'));
  END IF;

  is_listed := NOT reader.is_administrator AND EXISTS (SELECT 1 FROM lakeproxy_object_grant g WHERE g.privilege = 'select');
  IF is_listed THEN
    its_roles := reader.roles || ARRAY(SELECT g.role FROM lakeproxy_role_grant g WHERE g.principal = reader.subject);
  END IF;
  masked := ARRAY(SELECT lakeproxy_file_masked(reader.subject, reader.roles));
  RETURN QUERY
    WITH granted AS MATERIALIZED (
      SELECT g.object_kind, g.object_id FROM lakeproxy_object_grant g
       WHERE is_listed AND g.privilege = 'select' AND g.role = ANY (its_roles)
    ), newest AS (
      SELECT 'table' AS kind, t.table_id AS id, t.schema_id FROM ducklake_table t
       WHERE NOT EXISTS (SELECT 1 FROM ducklake_table n WHERE n.table_id = t.table_id AND n.begin_snapshot > t.begin_snapshot)
       UNION ALL
      SELECT 'view', v.view_id, v.schema_id FROM ducklake_view v
       WHERE NOT EXISTS (SELECT 1 FROM ducklake_view n WHERE n.view_id = v.view_id AND n.begin_snapshot > v.begin_snapshot)
       UNION ALL
      SELECT 'macro', m.macro_id, m.schema_id FROM ducklake_macro m
    )
    SELECT o.id FROM newest o
     WHERE o.schema_id = ANY (opened)
       AND NOT (o.kind = 'table' AND o.id = ANY (masked))
       AND (NOT is_listed
            OR (o.kind, o.id) IN (SELECT g.object_kind, g.object_id FROM granted g)
            OR o.schema_id IN (SELECT g.object_id FROM granted g WHERE g.object_kind = 'schema'));
END $$;

-- The same of the session's login. A policy asks in a subquery that depends on no row, so once
-- for each scan. With its owner's rights, so that no login reads the rows that this is decided by.
CREATE FUNCTION lakeproxy_readable() RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1000 SET search_path FROM CURRENT AS $$
BEGIN
  RETURN QUERY SELECT lakeproxy_readable_by(session_user);
END $$;

-- Folders that keys to the store are cut by, of a namespace and what a login reads there: of
-- each table ('table', where there are 32 at most), of the namespace ('namespace', where no table
-- is named), and of what else lies in that ('closed'). A folder that lies in another table's, or holds one, is none.
CREATE FUNCTION lakeproxy_reader_folders(of_login text, of_namespace text, of_table text, OUT kind text, OUT folder text)
RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  WITH wanted AS MATERIALIZED (
    SELECT t.table_id FROM ducklake_table t
     WHERE t.end_snapshot IS NULL AND t.schema_id = lakeproxy_find_schema(of_namespace)
       AND (of_table IS NULL OR t.table_name = of_table)
       AND t.table_id IN (SELECT lakeproxy_readable_by(of_login))
  ), folders AS MATERIALIZED (
    SELECT f.folder, bool_and(f.table_id IS NOT NULL AND f.table_id IN (SELECT w.table_id FROM wanted w)) AS is_open
      FROM lakeproxy_folders() f GROUP BY f.folder
  ), around AS MATERIALIZED (
    SELECT rtrim(lakeproxy_canonical(CASE WHEN s.path_is_relative THEN (SELECT lakeproxy_lake_option('data_path')) ELSE '' END
                                     || s.path), '/') || '/' AS folder
      FROM ducklake_schema s WHERE s.schema_id = lakeproxy_find_schema(of_namespace) AND s.end_snapshot IS NULL
  )
  SELECT 'table', o.folder FROM folders o
   WHERE o.is_open AND (SELECT count(*) FROM wanted) <= 32
     AND NOT EXISTS (SELECT 1 FROM folders c WHERE NOT c.is_open AND (starts_with(c.folder, o.folder) OR starts_with(o.folder, c.folder)))
   UNION ALL
  SELECT 'namespace', a.folder FROM around a WHERE of_table IS NULL AND EXISTS (SELECT 1 FROM wanted)
   UNION ALL
  SELECT 'closed', c.folder FROM folders c, around a WHERE NOT c.is_open AND starts_with(c.folder, a.folder)
$$;

-- Whether the session's login is one of those, and its time not over.
CREATE FUNCTION lakeproxy_is_reader() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT 1 FROM lakeproxy_reader r WHERE r.role_name = session_user AND r.valid_until > clock_timestamp())
$$;

-- Whether the session's login may read the rows of a table that PostgreSQL holds. The owner of
-- the lake may, also where another login's DuckDB has made the inlined table.
CREATE FUNCTION lakeproxy_may_read(of_table bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT session_user = (SELECT pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class c WHERE c.oid = 'ducklake_snapshot'::regclass)
      OR of_table IN (SELECT lakeproxy_readable())
$$;

-- The group; null while no login was made. With its owner's rights: DuckDB's logins ask, in triggers.
CREATE FUNCTION lakeproxy_reader_group() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$ SELECT s.reader_group FROM lakeproxy_state s $$;

-- Rights of the group --------------------------------------------------------------------

-- Lets the group read those rows of a relation that `rule` is true of. What is there already
-- is left alone, so that a busy table is not locked again. The rule comes before the right.
CREATE FUNCTION lakeproxy_open_relation(relation regclass, rule text, group_role text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_policy p
                  WHERE p.polrelid = relation AND p.polname = group_role AND NOT p.polpermissive
                    AND p.polroles = ARRAY[to_regrole(quote_ident(group_role))::oid]) THEN
    EXECUTE format('CREATE POLICY %I ON %s AS RESTRICTIVE TO %I USING (%s)', group_role, relation, group_role, rule);
  END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_policy p WHERE p.polrelid = relation AND p.polname = 'lakeproxy_everybody') THEN
    EXECUTE format('CREATE POLICY lakeproxy_everybody ON %s USING (true) WITH CHECK (true)', relation);
  END IF;
  IF NOT (SELECT c.relrowsecurity FROM pg_catalog.pg_class c WHERE c.oid = relation) THEN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
  END IF;
  IF NOT has_table_privilege(group_role, relation, 'SELECT') THEN
    EXECUTE format('GRANT SELECT ON %s TO %I', relation, group_role);
  END IF;
END $$;

-- The same for an inlined table, of rows or of deletes: whoever reads the table reads all of
-- it. Only the owner can say so, the login whose DuckDB has made it. The lake's owner gets all
-- rights, without which no Iceberg client is shown these rows.
CREATE FUNCTION lakeproxy_open_inlined(relation regclass, of_table bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  group_role text := lakeproxy_reader_group();
  owner oid := (SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = relation);
  lake_owner oid := (SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = 'ducklake_snapshot'::regclass);
BEGIN
  IF owner IS NULL OR NOT pg_has_role(current_user, owner, 'USAGE') THEN RETURN; END IF;
  IF NOT has_table_privilege(lake_owner, relation, 'SELECT') THEN
    EXECUTE format('GRANT ALL ON %s TO %I', relation, pg_get_userbyid(lake_owner));
  END IF;
  IF to_regrole(quote_ident(group_role)) IS NOT NULL THEN
    PERFORM lakeproxy_open_relation(relation, format('(SELECT lakeproxy_may_read(%s))', of_table), group_role);
  END IF;
END $$;

-- Opens a new inlined table of rows. DuckDB registers it before it makes it: at commit both
-- are there. With the rights of the login that commits, which owns it.
CREATE FUNCTION lakeproxy_open_inlined_rows() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.table_name ~ '^ducklake_inlined_data_[0-9]+_[0-9]+$' THEN
    PERFORM lakeproxy_open_inlined(to_regclass(NEW.table_name), NEW.table_id);
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lakeproxy_open_inlined_rows AFTER INSERT ON ducklake_inlined_data_tables
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION lakeproxy_open_inlined_rows();

-- The same for inlined deletes, which are registered nowhere: the lake's log tells of them.
CREATE FUNCTION lakeproxy_open_inlined_deletes() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM lakeproxy_open_inlined(to_regclass('ducklake_inlined_delete_' || m[1]), m[1]::bigint)
     FROM regexp_matches(NEW.changes_made, '(?:^|,)inlined_delete:([0-9]{1,18})(?=,|$)', 'g') AS m;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lakeproxy_open_inlined_deletes AFTER INSERT ON ducklake_snapshot_changes
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.changes_made LIKE '%inlined_delete:%')
  EXECUTE FUNCTION lakeproxy_open_inlined_deletes();

-- What each relation that DuckDB reads shows to the group. Rows of ducklake_metadata are
-- options; DuckDB writes it with COPY, which PostgreSQL refuses where rows have rules. The
-- lake's log names tables of all schemas: it is there, and empty.
CREATE FUNCTION lakeproxy_reader_rules(OUT relation regclass, OUT rule text) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT to_regclass(r.name), r.rule
    FROM (SELECT 'ducklake_' || t.name AS name, 'table_id IN (SELECT lakeproxy_readable())' AS rule
            FROM unnest(ARRAY['column', 'column_mapping', 'column_tag', 'data_file', 'delete_file', 'file_column_stats',
                              'file_partition_value', 'file_variant_stats', 'inlined_data_tables', 'partition_column',
                              'partition_info', 'schema_versions', 'sort_expression', 'sort_info',
                              'table_column_stats', 'table_stats']) AS t(name)
           UNION ALL
          VALUES ('ducklake_schema', 'schema_id IN (SELECT lakeproxy_readable())'),
                 ('ducklake_table', 'table_id IN (SELECT lakeproxy_readable()) AND schema_id IN (SELECT lakeproxy_readable())'),
                 ('ducklake_view', 'view_id IN (SELECT lakeproxy_readable()) AND schema_id IN (SELECT lakeproxy_readable())'),
                 ('ducklake_view_column_tag', 'view_id IN (SELECT lakeproxy_readable())'),
                 ('ducklake_tag', 'object_id IN (SELECT lakeproxy_readable())'),
                 ('ducklake_macro', 'macro_id IN (SELECT lakeproxy_readable())'),
                 ('ducklake_macro_impl', 'macro_id IN (SELECT lakeproxy_readable())'),
                 ('ducklake_macro_parameters', 'macro_id IN (SELECT lakeproxy_readable())'),
                 ('ducklake_name_mapping', 'mapping_id IN (SELECT m.mapping_id FROM ducklake_column_mapping m)'),
                 ('ducklake_snapshot', '(SELECT lakeproxy_is_reader())'),
                 ('ducklake_snapshot_changes', 'false')) AS r
   WHERE to_regclass(r.name) IS NOT NULL
$$;

-- Gives the group its rights in this lake, as far as it has them not. Answers null, or what is
-- in the way. Waits for writers of the lake for five seconds at most, then fails.
CREATE FUNCTION lakeproxy_open_to_readers(group_role text) RETURNS text
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  too_much text;
BEGIN
  IF NOT (SELECT r.rolsuper OR r.rolcreaterole FROM pg_catalog.pg_roles r WHERE r.rolname = current_user) THEN
    RETURN format('the role %I has not the attribute CREATEROLE', current_user);
  END IF;
  PERFORM set_config('lock_timeout', '5s', true);
  LOCK TABLE lakeproxy_reader IN SHARE ROW EXCLUSIVE MODE; -- one at a time; GRANT fails beside another GRANT
  IF to_regrole(quote_ident(group_role)) IS NULL THEN
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', group_role);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- a server of another lake was first
    END;
  END IF;
  IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r
              WHERE r.rolname = group_role
                AND (r.rolcanlogin OR r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolbypassrls OR r.rolreplication
                     OR EXISTS (SELECT 1 FROM pg_catalog.pg_auth_members m WHERE m.member = r.oid))) THEN
    RETURN format('the role %I may log in, has attributes, or is a member of another role', group_role);
  END IF;
  UPDATE lakeproxy_state SET reader_group = group_role WHERE reader_group IS DISTINCT FROM group_role;
  PERFORM lakeproxy_open_relation(r.relation, r.rule, group_role) FROM lakeproxy_reader_rules() r;
  PERFORM lakeproxy_open_inlined(i.relation, i.of_table)
     FROM (SELECT to_regclass(quote_ident(d.table_name)) AS relation, d.table_id AS of_table FROM ducklake_inlined_data_tables d
            WHERE d.table_name ~ '^ducklake_inlined_data_[0-9]+_[0-9]+$'
            UNION ALL
           SELECT to_regclass('ducklake_inlined_delete_' || t.table_id), t.table_id
             FROM (SELECT DISTINCT table_id FROM ducklake_table) t) i
    WHERE i.relation IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_policy p WHERE p.polrelid = i.relation AND p.polname = group_role);
  IF NOT has_schema_privilege(group_role, current_schema(), 'USAGE') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), group_role);
  END IF;
  IF NOT has_table_privilege(group_role, 'ducklake_metadata', 'SELECT') THEN
    EXECUTE format('GRANT SELECT ON ducklake_metadata TO %I', group_role);
  END IF;
  -- What somebody has granted besides, to the group or to everybody, would be the readers' too.
  SELECT c.relname INTO too_much FROM pg_catalog.pg_class c
   WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
     AND c.relname ~ '^(ducklake|lakeproxy)_'
     AND (has_table_privilege(group_role, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
          OR (has_any_column_privilege(group_role, c.oid, 'SELECT') AND NOT c.relrowsecurity AND c.relname <> 'ducklake_metadata'))
   LIMIT 1;
  IF too_much IS NOT NULL THEN
    RETURN format('the role %I, or everybody, has rights to %I that readers must not have', group_role, too_much);
  END IF;
  IF has_schema_privilege(group_role, current_schema(), 'CREATE') THEN
    RETURN format('the role %I, or everybody, may make objects in the schema %I', group_role, current_schema());
  END IF;
  RETURN NULL;
END $$;

-- Logins ---------------------------------------------------------------------------------

-- Makes a login that ends at the time that is answered; null, and nothing is made, where the
-- principal has `most` that live. `verifier` is what PostgreSQL stores of a password, never
-- the password itself. `reads`: namespaces; null for all.
CREATE FUNCTION lakeproxy_make_reader(group_role text, new_role text, verifier text, life interval, most bigint, of_subject text,
                                      of_issuer text, administers boolean, reads text[], its_roles text[])
RETURNS timestamptz
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  ends timestamptz := date_trunc('second', clock_timestamp() + life);
BEGIN
  IF verifier !~ '^SCRAM-SHA-256\$' THEN
    RAISE EXCEPTION 'not what is stored of a password';
  END IF;
  DELETE FROM lakeproxy_reader r WHERE r.valid_until <= clock_timestamp()
     AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles a WHERE a.rolname = r.role_name);
  IF (SELECT count(*) FROM lakeproxy_reader r
       WHERE r.subject = of_subject AND r.issuer = of_issuer AND r.valid_until > clock_timestamp()) >= most THEN
    RETURN NULL;
  END IF;
  EXECUTE format('CREATE ROLE %I LOGIN CONNECTION LIMIT 16 PASSWORD %L VALID UNTIL %L IN ROLE %I', new_role, verifier, ends, group_role);
  EXECUTE format('ALTER ROLE %I SET default_transaction_read_only = on', new_role);
  EXECUTE format('ALTER ROLE %I SET statement_timeout = %L', new_role, '5min');
  INSERT INTO lakeproxy_reader (role_name, subject, issuer, is_administrator, namespaces, roles, valid_until)
  VALUES (new_role, of_subject, of_issuer, administers, reads, its_roles, ends);
  RETURN ends;
END $$;

-- Ends a login when the keys to the store end that are told with it. Never later than it would.
CREATE FUNCTION lakeproxy_end_reader(of_login text, ends timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE lakeproxy_reader r SET valid_until = ends WHERE r.role_name = of_login AND r.valid_until > ends;
  IF FOUND THEN
    EXECUTE format('ALTER ROLE %I VALID UNTIL %L', of_login, ends);
  END IF;
END $$;

-- Ends the sessions of logins whose time is over, and drops these logins: of every group whose
-- name begins so, in this database or in another. Answers how many are left. Without a login
-- such a session would go on: PostgreSQL asks for the time at the password alone.
CREATE FUNCTION lakeproxy_collect_readers(group_roles text) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  expired record;
  left_over bigint := 0;
BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  FOR expired IN
    SELECT a.oid, a.rolname FROM pg_catalog.pg_roles a
     WHERE a.rolname LIKE 'lakeproxy\_p\_%' AND a.rolvaliduntil <= clock_timestamp()
       AND EXISTS (SELECT 1 FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON g.oid = m.roleid
                    WHERE m.member = a.oid AND starts_with(g.rolname, group_roles))
  LOOP
    BEGIN
      -- Whose sessions it may end, and whose objects drop, is asked by membership.
      EXECUTE format('GRANT %I TO CURRENT_USER', expired.rolname);
      PERFORM pg_terminate_backend(s.pid) FROM pg_catalog.pg_stat_activity s WHERE s.usesysid = expired.oid;
      EXECUTE format('DROP OWNED BY %I', expired.rolname);
      EXECUTE format('DROP ROLE %I', expired.rolname);
    EXCEPTION
      WHEN undefined_object THEN NULL; -- another server was first
      WHEN OTHERS THEN
        RAISE WARNING 'the role % stays: %', expired.rolname, SQLERRM;
        left_over := left_over + 1;
    END;
  END LOOP;
  RETURN left_over;
END $$;

-- A trigger's function can be called by whoever makes a trigger on a table of his own, such as a
-- temporary one; with its owner's rights it would write our tables for him. Firing asks for no right.
DO $$
DECLARE
  called regprocedure;
BEGIN
  FOR called IN SELECT p.oid::regprocedure FROM pg_catalog.pg_proc p
                 WHERE p.pronamespace = current_schema()::regnamespace AND p.proname LIKE 'lakeproxy\_%'
                   AND (p.prorettype = 'trigger'::regtype OR p.proname IN ('lakeproxy_release_files', 'lakeproxy_readable_by'))
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', called);
  END LOOP;
END $$;
