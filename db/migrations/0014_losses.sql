-- How often writers other than us tried to take the next snapshot id, and how
-- often they got it. A sequence does not roll back, so a try that failed stays
-- counted: while the two drift apart, our commits leave gaps.
CREATE SEQUENCE lakeproxy_tries MINVALUE 0 START 0;
CREATE SEQUENCE lakeproxy_arrivals MINVALUE 0 START 0;
-- Before its first use a sequence shows its first value as its last.
SELECT nextval('lakeproxy_tries'), nextval('lakeproxy_arrivals');

-- With its owner's rights: whoever may commit to the lake need not know these.
CREATE FUNCTION lakeproxy_count() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF current_setting('lakeproxy.publishes', true) IS DISTINCT FROM 'on' THEN
    PERFORM nextval(TG_ARGV[0]::regclass);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER lakeproxy_count_try BEFORE INSERT ON ducklake_snapshot
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_count('lakeproxy_tries');
CREATE TRIGGER lakeproxy_count_arrival AFTER INSERT ON ducklake_snapshot
  FOR EACH STATEMENT EXECUTE FUNCTION lakeproxy_count('lakeproxy_arrivals');
