"""Waiting for readable copies: what a load answers until they are there."""
import time

from rest import assert_error

SOON = 60  # seconds


def opened(rest, table, snapshot=None):
    """The table's metadata, once its copies are made. Nothing else than a 503 with the progress comes before."""
    schema, name = table.split('.')
    until = time.monotonic() + SOON
    while True:
        answer = rest.get(f'namespaces/{schema}/tables/{name}')
        if answer.status_code == 200:
            metadata = answer.json()['metadata']
            if snapshot is None or metadata.get('current-snapshot-id') == snapshot:
                return metadata
        else:
            assert_error(answer, 503)
            assert answer.headers['Retry-After']
            assert 'copied ' in answer.json()['error']['message'], answer.text
        assert time.monotonic() < until, answer.text[:500]
        time.sleep(0.1)


def newest(duck):
    """The lake's newest snapshot."""
    return duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0]
