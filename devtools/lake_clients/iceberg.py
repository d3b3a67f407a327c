"""PyIceberg's settings."""
from pyiceberg.catalog import load_catalog


def properties(lake):
    return {
        'type': 'rest',
        'uri': lake.uri,
        'warehouse': lake.warehouse,
        's3.endpoint': lake.s3_endpoint,
        's3.region': lake.s3_region,
        's3.access-key-id': lake.s3_access_key,
        's3.secret-access-key': lake.s3_secret_key,
        **({'credential': lake.credential, 'oauth2-server-uri': lake.token_uri} if lake.credential else {}),
    }


def connect(lake):
    return load_catalog('lake', **properties(lake))
