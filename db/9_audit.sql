-- The audit trail: who was allowed or refused what. Lines are added and, once they are old,
-- removed from the front; none is changed. Each holds the hash of the one before it
-- (lakeproxy/audit/audit_chain.h), so a line that was changed or taken out is found by
-- `lakeproxy audit verify`.

CREATE TABLE lakeproxy_audit (
  id bigint PRIMARY KEY, -- counts up without a gap
  ts timestamptz NOT NULL, -- of the server that wrote it
  principal text NOT NULL, -- empty: nobody has proved a name
  issuer text NOT NULL, -- who vouches for the principal
  actor text NOT NULL, -- who acts for the principal; empty: itself
  operation text NOT NULL,
  object text NOT NULL,
  decision text NOT NULL,
  masked_cols jsonb NOT NULL, -- a list of names
  applied_policies jsonb NOT NULL, -- the same
  detail jsonb NOT NULL, -- an object
  request_id text NOT NULL, -- as in the log and in X-Request-Id
  previous_hash bytea NOT NULL,
  hash bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS lakeproxy_audit_principal ON lakeproxy_audit (principal, id);
CREATE INDEX IF NOT EXISTS lakeproxy_audit_object ON lakeproxy_audit (object, id);

-- One row: the newest line. Whoever adds lines locks it.
CREATE TABLE lakeproxy_audit_head (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  id bigint NOT NULL,
  hash bytea NOT NULL
);
INSERT INTO lakeproxy_audit_head (id, hash) VALUES (0, decode(repeat('00', 32), 'hex'));

-- One row: the newest line of those that were removed, which the oldest one follows.
CREATE TABLE lakeproxy_audit_anchor (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  id bigint NOT NULL,
  hash bytea NOT NULL
);
INSERT INTO lakeproxy_audit_anchor (id, hash) VALUES (0, decode(repeat('00', 32), 'hex'));
