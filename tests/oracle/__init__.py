"""Random histories of a lake, read through both access paths: DuckDB on DuckLake itself, and Iceberg clients
through the catalog. What the two show must be the same at every snapshot. docs/oracle.md tells more."""
