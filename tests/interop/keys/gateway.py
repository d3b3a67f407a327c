"""The S3 gateway of a server of its own."""
import contextlib
import dataclasses
import types

from by_hand import Watched
from raw_s3 import Raw
from stack import catalog, object_store, ports
from vended import SETTINGS, Keys


@contextlib.contextmanager
def gateway_beside(stack, **settings):
    """A server whose store makes no keys, with the gateway on."""
    port = ports.any_free()
    with Watched.beside(stack, **{**SETTINGS, 'LAKEPROXY_STS_ENDPOINT': 'none', 'LAKEPROXY_S3_GATEWAY': '1',
                                  'LAKEPROXY_S3_GATEWAY_PORT': str(port), 'LAKEPROXY_SIGNER_CACHE_TTL': '1',
                                  **getattr(stack, 'settings', {}), **settings}) as made:
        made.gateway = f'127.0.0.1:{port}'
        yield made


@contextlib.contextmanager
def on_plain_store(stack, lake, folder, database):
    """A lake of its own on a VersityGW: (what stands in the stack's place, the lake)."""
    store = object_store.PlainStore(folder, ports.any_free(), 'rootkey', 'rootsecret')
    settings = {'LAKEPROXY_PG_DATABASE': database}
    stack.postgres.query('postgres', f'DROP DATABASE IF EXISTS {database}')
    stack.postgres.query('postgres', f'CREATE DATABASE {database}')
    open_server = catalog.Lakeproxy(folder, ports.any_free(), stack.postgres, store, stack.state['binary'],
                                    {'LAKEPROXY_STS_ENDPOINT': 'none', **settings})
    with contextlib.ExitStack() as running:
        running.callback(stack.postgres.query, 'postgres', f'DROP DATABASE {database} WITH (FORCE)')
        for part in (store, open_server):
            running.callback(part.stop, part.start())
        yield (types.SimpleNamespace(folder=folder, postgres=stack.postgres, store=store, state=stack.state, settings=settings),
               dataclasses.replace(lake, uri=open_server.uri(), s3_endpoint=store.endpoint(),
                                   s3_access_key=store.access_key, s3_secret_key=store.secret_key))


class GatewayStore:
    """Where Keys finds the bucket: at the gateway."""

    def __init__(self, server, lake):
        self.host = server.gateway
        self.bucket = lake.s3_bucket


class GatewayKeys(Keys):
    """Keys whose refusals have their codes."""

    def raw(self, **changes):
        config = {**self.config, **changes}
        return Raw(config['s3.endpoint'].removeprefix('http://'), self.bucket, config['s3.access-key-id'],
                   config['s3.secret-access-key'], config['s3.session-token'])
