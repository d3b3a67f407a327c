"""The S3 gateway beside the store itself: one object of 64 MiB after another, got and put, in turn in the same run.

Client, gateway and store share the machine's cores, so what the gateway costs is taken from the store and the client too.
"""
import datetime
import os
import socket
import statistics
import time
import urllib.parse

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

import appends
import measure
import requests
from servers import beside
from stack import catalog, object_store, ports

BYTES = 64 << 20
ROUNDS = 12
SECRET = 'for benches alone: 32 bytes and more of it'


def gateway(stack):
    """A server beside the stack's with the gateway on."""
    return beside(stack, 'gateway', {
        'LAKEPROXY_STS_ENDPOINT': 'none', 'LAKEPROXY_S3_GATEWAY': '1', 'LAKEPROXY_S3_GATEWAY_PORT': str(ports.any_free()),
        'LAKEPROXY_S3_GATEWAY_SECRET': SECRET})


class Wire:
    """One connection, and as little of a client as there can be."""

    def __init__(self, endpoint, config):
        self.host = endpoint.removeprefix('http://')
        self.credentials = Credentials(config['key'], config['secret'], config.get('token'))
        name, port = self.host.split(':')
        self.socket = socket.create_connection((name, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray(1 << 20)

    def head(self, method, key, payload, length=None):
        target = f'/{object_store.BUCKET}/{urllib.parse.quote(key)}'
        request = AWSRequest(method, f'http://{self.host}{target}', headers={'X-Amz-Content-SHA256': payload})
        request.context['timestamp'] = datetime.datetime.now(datetime.timezone.utc).strftime('%Y%m%dT%H%M%SZ')
        request.headers['X-Amz-Date'] = request.context['timestamp']
        if self.credentials.token:
            request.headers['X-Amz-Security-Token'] = self.credentials.token
        auth = S3SigV4Auth(self.credentials, 's3', object_store.REGION)
        auth.payload = lambda _: payload
        canonical = auth.canonical_request(request)
        auth._inject_signature_to_request(request, auth.signature(auth.string_to_sign(request, canonical), request))
        fields = {'Host': self.host, **dict(request.headers.items())}
        if length is not None:
            fields['Content-Length'] = str(length)
        return (f'{method} {target} HTTP/1.1\r\n' + ''.join(f'{n}: {v}\r\n' for n, v in fields.items()) + '\r\n').encode()

    def answer(self):
        """Status and length of the body, and what has come of it."""
        text = b''
        while b'\r\n\r\n' not in text:
            part = self.socket.recv(65536)
            assert part, 'closed'
            text += part
        head, rest = text.split(b'\r\n\r\n', 1)
        fields = dict(line.lower().split(b': ', 1) for line in head.split(b'\r\n')[1:])
        return int(head[9:12]), int(fields.get(b'content-length', 0)), len(rest)

    def get(self, key):
        self.socket.sendall(self.head('GET', key, 'UNSIGNED-PAYLOAD'))
        status, length, have = self.answer()
        while have < length:
            have += self.socket.recv_into(self.buffer)
        assert status == 200 and have == length == BYTES, status

    def put(self, key, content):
        self.socket.sendall(self.head('PUT', key, 'UNSIGNED-PAYLOAD', len(content)))
        self.socket.sendall(content)
        status, length, have = self.answer()
        while have < length:
            have += self.socket.recv_into(self.buffer)
        assert status == 200, status


def timed(action, *arguments):
    began = time.perf_counter()
    action(*arguments)
    return BYTES / (time.perf_counter() - began) / 1e6


def streams(servers):
    """MB a second, the median of the rounds."""
    stack = servers.stack
    ours = servers.lakeproxy_catalog()
    client = ours.client()
    client.create_namespace_if_not_exists(measure.NAMESPACE)
    table = appends.Table(client, f'{measure.NAMESPACE}.gateway')
    measure.commit_all(ours, 'gateway', table, 1, 1)
    folder = client.load_table(f'{measure.NAMESPACE}.gateway').location().removeprefix(f's3://{object_store.BUCKET}/')
    content = os.urandom(1 << 20) * (BYTES >> 20)
    rates = {name: [] for name in ('store get', 'gateway get', 'store put', 'gateway put')}
    with gateway(stack) as server:
        told = requests.get(f'{server.uri()}/v1/{catalog.WAREHOUSE}/namespaces/{measure.NAMESPACE}/tables/gateway',
                            headers={'X-Iceberg-Access-Delegation': 'vended-credentials'}, timeout=30).json()['config']
        keys = {'key': told['s3.access-key-id'], 'secret': told['s3.secret-access-key'], 'token': told['s3.session-token']}
        ways = {'gateway': Wire(told['s3.endpoint'], keys),
                'store': Wire(stack.store.endpoint(), {'key': stack.store.access_key, 'secret': stack.store.secret_key})}
        ways['store'].put(f'{folder}/data/to-get', content)
        for round in range(ROUNDS):
            for name, wire in ways.items():
                rates[f'{name} get'].append(timed(wire.get, f'{folder}/data/to-get'))
                rates[f'{name} put'].append(timed(wire.put, f'{folder}/data/{name}-{round}', content))
                stack.store.client().remove_object(object_store.BUCKET, f'{folder}/data/{name}-{round}')
    return {name: statistics.median(found) for name, found in rates.items()}


def show(found):
    print('\nObjects of 64 MiB, one connection, client, gateway and store on the same cores:')
    for verb in ('get', 'put'):
        store, ours = found[f'store {verb}'], found[f'gateway {verb}']
        print(f'  {verb}: {store:.0f} MB/s of the store itself, {ours:.0f} MB/s through the gateway ({ours / store:.0%})')
