-- How often another writer wanted a snapshot id that a commit of ours had taken.
-- What other writers take from each other is between them. A sequence does not
-- roll back, so a try that failed stays counted, and what we take is seen before
-- our transaction ends.
DROP TRIGGER lakeproxy_count_try ON ducklake_snapshot;
DROP TRIGGER lakeproxy_count_arrival ON ducklake_snapshot;
DROP FUNCTION lakeproxy_count();
DROP SEQUENCE lakeproxy_tries;
DROP SEQUENCE lakeproxy_arrivals;

CREATE SEQUENCE lakeproxy_taken MINVALUE 0 START 0; -- The last snapshot id that we took.
CREATE SEQUENCE lakeproxy_losses MINVALUE 0 START 0;
-- Before its first use a sequence shows its first value as its last.
SELECT nextval('lakeproxy_taken'), nextval('lakeproxy_losses');

-- With its owner's rights: whoever may commit to the lake need not know these.
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
