-- Keys: which keys of the object store belong to which principal.

-- Keys that somebody made at the store, for clients of a store that makes none by itself. What
-- they open there is a bucket policy's to say: `lakeproxy bucket-policy --apply` writes it, and
-- notes here the scopes that it was written for. A key without a note is handed to nobody.
CREATE TABLE lakeproxy_static_key (
  access_key_id text PRIMARY KEY,
  principal text NOT NULL, -- the id of a client
  secret_access_key text, -- null where the client knows it
  note text NOT NULL DEFAULT '',
  confined boolean NOT NULL DEFAULT false, -- whether a bucket policy is to cut it to its principal's scopes
  applied_scope text, -- what the policy at the store lets it do; null: nobody has applied one
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS lakeproxy_static_key_principal ON lakeproxy_static_key (principal);
