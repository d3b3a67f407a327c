"""Where a lake is: the variables that ./dev up writes."""
import dataclasses
import os

VARIABLES = {
    'LAKE_URI': 'uri',
    'LAKE_WAREHOUSE': 'warehouse',
    'LAKE_PG_DSN': 'pg_dsn',
    'S3_ENDPOINT': 's3_endpoint',
    'S3_REGION': 's3_region',
    'S3_BUCKET': 's3_bucket',
    'S3_ACCESS_KEY': 's3_access_key',
    'S3_SECRET_KEY': 's3_secret_key',
}


@dataclasses.dataclass(frozen=True)
class Lake:
    uri: str
    warehouse: str
    pg_dsn: str
    s3_endpoint: str
    s3_region: str
    s3_bucket: str
    s3_access_key: str
    s3_secret_key: str
    pg_schema: str = 'public'
    prefix: str = 'data/'
    token_uri: str = ''  # of a lake with clients: where they ask for tokens
    credential: str = ''  # id:secret of one of them

    @staticmethod
    def of(variables):
        return Lake(**{field: variables[name] for name, field in VARIABLES.items()},
                    token_uri=variables.get('LAKE_TOKEN_URI', ''), credential=variables.get('LAKE_CREDENTIAL', ''))

    @staticmethod
    def from_environment():
        return Lake.of(os.environ)

    @property
    def data_path(self):
        return f's3://{self.s3_bucket}/{self.prefix}'
