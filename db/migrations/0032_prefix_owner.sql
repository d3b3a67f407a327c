-- A copy of this database (a clone, a restored backup) knows the same prefix in the
-- store, and to it everything that was written since the copy is nobody's. So an
-- object in the prefix says which database removes objects there, and this side says
-- who this database is.

-- `owner_written`: this lake has put that object once; it is never made anew unasked.
-- `owner_since`: when an administrator let this database take the prefix over.
ALTER TABLE lakeproxy_state
  ADD COLUMN lake_id uuid NOT NULL DEFAULT gen_random_uuid(),
  ADD COLUMN owner_written boolean NOT NULL DEFAULT false,
  ADD COLUMN owner_since timestamptz;

-- What tells this database from its copies: CREATE DATABASE ... TEMPLATE and a dump
-- that is restored change the number of the database, another server has another
-- system identifier, and a promoted standby or a recovery to a point in time begins
-- a new timeline.
CREATE FUNCTION lakeproxy_identity(OUT lake_id uuid, OUT system_identifier text, OUT timeline bigint,
                                   OUT database_number bigint, OUT owner_written boolean)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT s.lake_id, (SELECT c.system_identifier::text FROM pg_control_system() c),
         ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint,
         (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()), s.owner_written
    FROM lakeproxy_state s
$$;

-- The newest change of the lake that this database knows.
CREATE FUNCTION lakeproxy_newest_change() RETURNS timestamptz
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT greatest((SELECT max(s.snapshot_time) FROM ducklake_snapshot s),
                  (SELECT to_timestamp(max(l.timestamp_ms) / 1000.0) FROM lakeproxy_metadata_log l),
                  (SELECT to_timestamp(max(t.updated_ms) / 1000.0) FROM lakeproxy_table t),
                  (SELECT s.owner_since FROM lakeproxy_state s))
$$;
