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
        # Its own keys, as said above: tests reach for objects that no catalog opens to a client. Those in
        # tests/interop/keys have none but what the catalog gives them.
        'header.X-Iceberg-Access-Delegation': '',
    }


def connect(lake):
    return load_catalog('lake', **properties(lake))
