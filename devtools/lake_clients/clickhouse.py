"""chdb, which is ClickHouse in this process, as a client of the Iceberg catalog."""
import chdb.session


def attach(lake):
    return (f"CREATE DATABASE ice ENGINE = DataLakeCatalog('{lake.uri}/v1', '{lake.s3_access_key}', '{lake.s3_secret_key}') "
            f"SETTINGS catalog_type = 'rest', warehouse = '{lake.warehouse}', vended_credentials = 0, "
            f"storage_endpoint = '{lake.s3_endpoint}/{lake.s3_bucket}'")


def connect(lake):
    """A session with the lake as the database `ice`; its tables are called `schema.table`. A process has one at a time."""
    session = chdb.session.Session()
    for statement in ("SET session_timezone = 'UTC'", 'SET allow_database_iceberg = 1', 'SET output_format_arrow_string_as_string = 1',
                      attach(lake)):
        session.query(statement)
    return session
