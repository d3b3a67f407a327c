"""Spark's settings. A session takes seconds to start: share one."""
from stack import paths

CATALOG = 'spark.sql.catalog.lake'
EXTENSIONS = 'org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions'
LOG_LEVELS = paths.ROOT / 'devtools/lake_clients/log4j2.properties'
# The start is most of a short life: half the processor time of a session went into compiling it well.
JVM = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'


def catalog_settings(lake, catalog=CATALOG):
    return {
        'spark.sql.extensions': EXTENSIONS,
        catalog: 'org.apache.iceberg.spark.SparkCatalog',
        f'{catalog}.type': 'rest',
        f'{catalog}.uri': lake.uri,
        f'{catalog}.warehouse': lake.warehouse,
        f'{catalog}.io-impl': 'org.apache.iceberg.aws.s3.S3FileIO',
        f'{catalog}.client.region': lake.s3_region,
        # Other clients write too: look at the catalog each time.
        f'{catalog}.cache-enabled': 'false',
        **{f'{catalog}.{name}': value for name, value in (with_credential(lake) if lake.credential else with_own_keys(lake)).items()},
    }


def with_credential(lake):
    """It has no keys but those that the catalog gives it for each table."""
    return {'credential': lake.credential, 'oauth2-server-uri': lake.token_uri,
            'header.X-Iceberg-Access-Delegation': 'vended-credentials'}


def with_own_keys(lake):
    return {'s3.endpoint': lake.s3_endpoint, 's3.path-style-access': 'true',
            's3.access-key-id': lake.s3_access_key, 's3.secret-access-key': lake.s3_secret_key}


def session_settings():
    jars = sorted(str(jar) for jar in paths.JARS.glob('*.jar'))
    return {
        'spark.jars': ','.join(jars),
        'spark.driver.host': '127.0.0.1',
        'spark.driver.bindAddress': '127.0.0.1',
        'spark.driver.memory': '2g',
        'spark.driver.extraJavaOptions': f'{JVM} -Dlog4j2.configurationFile={LOG_LEVELS}',
        'spark.sql.session.timeZone': 'UTC',
        'spark.sql.shuffle.partitions': '1',
        'spark.sql.warehouse.dir': str(paths.DEV / 'spark-warehouse'),
        'spark.ui.enabled': 'false',
        'spark.ui.showConsoleProgress': 'false',
    }


def connect(lake):
    from pyspark.sql import SparkSession  # slow to load: only for those who connect
    builder = SparkSession.builder.master('local[1]').appName('lake')
    for key, value in {**session_settings(), **catalog_settings(lake)}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def add_catalog(session, lake, name):
    """The lake as the catalog `name` of a session that is there: as another principal, or of another server."""
    # A session keeps a catalog by its name, also when its settings change.
    name = f'{name}_{lake.uri.rpartition(":")[2]}'
    prefix = f'spark.sql.catalog.{name}'
    for key, value in catalog_settings(lake, prefix).items():
        if key.startswith(prefix):
            session.conf.set(key, value)
    return name
