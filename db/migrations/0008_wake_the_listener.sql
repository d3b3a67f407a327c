-- A commit to the lake wakes the process that prepares metadata for it. Our own
-- commits publish what they change before they are answered, and say so in a
-- setting of their transaction; then nobody needs to be woken.
CREATE FUNCTION lakeproxy_wake_listener() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('lakeproxy.publishes', true) IS DISTINCT FROM 'on' THEN
    PERFORM pg_notify('lakeproxy_commits', TG_TABLE_SCHEMA);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_wake_listener AFTER INSERT ON ducklake_snapshot
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_wake_listener();
