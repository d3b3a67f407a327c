-- Which table a metadata file shows, for one that is registered by its location.
CREATE INDEX lakeproxy_metadata_log_file ON lakeproxy_metadata_log USING hash (metadata_file);
