-- Names of objects, by which rows of different tables are compared. Indexes use both
-- functions, and those of large tables are built before the rest of the schema: this
-- file is committed first then, and runs again with the others.

-- One spelling of a location. Hadoop's file systems write "s3a://" and "s3n://" for
-- "s3://", and a table that such a client made can be registered here. Whatever asks
-- whether something names an object compares this spelling; otherwise an object that is
-- needed would look like nobody's.
CREATE OR REPLACE FUNCTION lakeproxy_canonical(location text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT regexp_replace(location, '^s3[an]://', 's3://') $$;

-- The last part of a path or location: the object's name without its folders.
CREATE OR REPLACE FUNCTION lakeproxy_object_name(path text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT substring(path FROM '[^/]*$') $$;
