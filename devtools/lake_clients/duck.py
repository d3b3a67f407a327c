"""DuckDB as a writer of the lake itself, and as a client of the Iceberg catalog."""
import duckdb

from stack import paths

LAKE_EXTENSIONS = ('httpfs', 'postgres_scanner', 'ducklake')
ICEBERG_EXTENSIONS = ('httpfs', 'avro', 'iceberg')
# Of each connection that is made here; None: as many as there are processors. Tests want one: while a second one waits for
# PostgreSQL the first asks it over and over whether it is done, which was a third of their processor time.
THREADS = None
CHECKED = set()  # those that DuckDB found signed by its makers, in this process


def secret(lake):
    host = lake.s3_endpoint.removeprefix('http://')
    return (f"CREATE OR REPLACE SECRET lake_s3 (TYPE s3, KEY_ID '{lake.s3_access_key}', "
            f"SECRET '{lake.s3_secret_key}', ENDPOINT '{host}', REGION '{lake.s3_region}', "
            f"URL_STYLE 'path', USE_SSL false)")


def attach_lake(lake):
    return (f"ATTACH 'ducklake:postgres:{lake.pg_dsn}' AS lake (DATA_PATH '{lake.data_path}', "
            f"METADATA_SCHEMA '{lake.pg_schema}')")


def catalog_secrets(lake):
    """What it shows to the catalog, or, where that asks nobody, the keys of the store."""
    if not lake.credential:
        return [secret(lake)]
    client, _, its_secret = lake.credential.partition(':')
    return [f"CREATE OR REPLACE SECRET lake_tokens (TYPE iceberg, CLIENT_ID '{client}', "
            f"CLIENT_SECRET '{its_secret}', OAUTH2_SERVER_URI '{lake.token_uri}')"]


def attach_catalog(lake):
    # With a credential it gets keys from the catalog, for each table.
    authorization = 'SECRET lake_tokens' if lake.credential else "AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none'"
    return f"ATTACH '{lake.warehouse}' AS ice (TYPE iceberg, ENDPOINT '{lake.uri}', {authorization})"


def load(extension):
    """By path: nothing is fetched at run time, and the version is ours."""
    return f"LOAD '{paths.ENGINE}/extensions/{extension}.duckdb_extension'"


def connect(extensions, *attach):
    # To check the signature of a file is to read and hash it, 0.6 s for the three of a lake: once in a process is enough.
    config = {'allow_unsigned_extensions': CHECKED.issuperset(extensions), **({'threads': THREADS} if THREADS else {})}
    connection = duckdb.connect(config=config)
    # Clients that answer in another zone's wall-clock time would disagree on nothing but form.
    for statement in ["SET TimeZone = 'UTC'", *map(load, extensions), *attach]:
        connection.execute(statement)
    CHECKED.update(extensions)
    return connection


def connect_lake(lake):
    """The lake as `lake`, read and written directly, without our catalog."""
    return connect(LAKE_EXTENSIONS, secret(lake), attach_lake(lake))


def connect_catalog(lake):
    """The lake as `ice`, through the Iceberg catalog."""
    connection = connect(ICEBERG_EXTENSIONS, *catalog_secrets(lake), attach_catalog(lake))
    # A deletion vector is read wrongly from this cache after another one of the same file (1.5.5).
    connection.execute('SET enable_external_file_cache = false')
    return connection


def connect_direct(answer, schema='main'):
    """The lake as `lake`, as ducklake-credentials answered: with the login, the keys and the masks of one principal. Names
    alone are those of `schema`, where no statement of the answer says otherwise."""
    keys = answer['s3']
    host = keys['endpoint'].removeprefix('http://')
    secret_of_answer = (f"CREATE SECRET (TYPE s3, KEY_ID '{keys['access-key-id']}', SECRET '{keys['secret-access-key']}', "
                        f"SESSION_TOKEN '{keys['session-token']}', ENDPOINT '{host}', REGION '{keys['region']}', "
                        f"URL_STYLE 'path', USE_SSL false, SCOPE '{answer['ducklake_data_path']}')")
    return connect(LAKE_EXTENSIONS, secret_of_answer, answer['ducklake_attach_sql'], f'USE lake."{schema}"', *answer['post_attach_sql'])
