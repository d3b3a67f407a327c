"""The servers a lake needs, started and stopped as one: PostgreSQL, an S3 store, the catalog."""
