"""PyIceberg's settings."""
from pyiceberg.catalog import load_catalog


def properties(lake):
    return {
        'type': 'rest',
        'uri': lake.uri,
        'warehouse': lake.warehouse,
        **(with_credential(lake) if lake.credential else with_own_keys(lake)),
    }


def with_credential(lake):
    """It has no keys but those that the catalog gives it for each table."""
    return {'credential': lake.credential, 'oauth2-server-uri': lake.token_uri}


def with_own_keys(lake):
    """Those of the store's owner: tests reach for objects that no catalog opens to a client."""
    return {
        's3.endpoint': lake.s3_endpoint,
        's3.region': lake.s3_region,
        's3.access-key-id': lake.s3_access_key,
        's3.secret-access-key': lake.s3_secret_key,
        'header.X-Iceberg-Access-Delegation': '',
    }


def connect(lake):
    return load_catalog('lake', **properties(lake))
