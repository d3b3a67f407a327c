"""Requests to a store that no client library would send, signed by another program's hand (botocore's)."""
import base64
import datetime
import hashlib
import hmac
import http.client
import urllib.parse
import xml.etree.ElementTree as xml
import zlib

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = 'us-east-1'
EMPTY = hashlib.sha256(b'').hexdigest()


class Answer:
    def __init__(self, answer, body):
        self.status = answer.status
        self.headers = dict((name.lower(), value) for name, value in answer.getheaders())
        self.body = body

    @property
    def code(self):
        return xml.fromstring(self.body).findtext('Code') if self.status >= 300 and self.body else ''

    def __repr__(self):
        return f'{self.status} {self.body[:300]}'


class Raw:
    """Sends what it is told to `host`, which is found at `address` where that is another."""

    def __init__(self, host, bucket, key, secret, token, address=None):
        self.host = host
        self.address = address or host
        self.bucket = bucket
        self.credentials = Credentials(key, secret, token)

    def sign(self, method, target, headers=(), payload=EMPTY, date=None):
        url = f'http://{self.host}{target}'
        request = AWSRequest(method, url, headers={**dict(headers), 'X-Amz-Content-SHA256': payload})
        auth = S3SigV4Auth(self.credentials, 's3', REGION)
        auth.payload = lambda _: payload
        request.context['timestamp'] = (date or datetime.datetime.now(datetime.timezone.utc)).strftime('%Y%m%dT%H%M%SZ')
        request.headers['X-Amz-Date'] = request.context['timestamp']
        if self.credentials.token:
            request.headers['X-Amz-Security-Token'] = self.credentials.token
        canonical = auth.canonical_request(request)
        auth._inject_signature_to_request(request, auth.signature(auth.string_to_sign(request, canonical), request))
        return dict(request.headers.items())

    def send(self, method, target, headers=(), body=None, date=None, change=None, payload=None, length=None):
        """`change(headers)` comes after the signature."""
        content = body if isinstance(body, bytes) else b''
        signed = self.sign(method, target, headers, payload or hashlib.sha256(content).hexdigest(), date)
        signed['Host'] = self.host
        if change:
            change(signed)
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in signed.items():
                connection.putheader(name, value)
            if body is not None or method in ('PUT', 'POST'):
                connection.putheader('Content-Length', str(len(content) if length is None else length))
            connection.endheaders(content or None)
            answer = connection.getresponse()
            return Answer(answer, answer.read())
        finally:
            connection.close()

    def path(self, key):
        return f'/{self.bucket}/{urllib.parse.quote(key, safe="/~")}'

    def get(self, key, **options):
        return self.send('GET', self.path(key), **options)

    def head(self, key, **options):
        return self.send('HEAD', self.path(key), **options)

    def put(self, key, body=b'new', **options):
        return self.send('PUT', self.path(key), body=body, **options)

    def delete(self, key, **options):
        return self.send('DELETE', self.path(key), **options)

    def signed_chunks(self, key, pieces, spoil=None):
        """STREAMING-AWS4-HMAC-SHA256-PAYLOAD, as AWS SDK for Java sends it over plain HTTP."""
        now = datetime.datetime.now(datetime.timezone.utc)
        payload = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'
        target = self.path(key)
        headers = {'Content-Encoding': 'aws-chunked',
                   'X-Amz-Decoded-Content-Length': str(sum(map(len, pieces)))}
        signed = self.sign('PUT', target, headers, payload, now)
        previous = signed['Authorization'].rsplit('Signature=', 1)[1]
        stamp = now.strftime('%Y%m%dT%H%M%SZ')
        scope = f'{stamp[:8]}/{REGION}/s3/aws4_request'
        secret = ('AWS4' + self.credentials.secret_key).encode()
        for part in (stamp[:8], REGION, 's3', 'aws4_request'):
            secret = hmac.new(secret, part.encode(), 'sha256').digest()
        body = b''
        for piece in (*pieces, b''):
            text = '\n'.join(('AWS4-HMAC-SHA256-PAYLOAD', stamp, scope, previous, EMPTY, hashlib.sha256(piece).hexdigest()))
            previous = hmac.new(secret, text.encode(), 'sha256').hexdigest()
            body += f'{len(piece):x};chunk-signature={previous}\r\n'.encode() + piece + b'\r\n'
        if spoil:
            body = spoil(body)
        return self.send('PUT', target, headers, body, now, payload=payload)

    def trailing_checksum(self, key, content, checksum=None):
        """STREAMING-UNSIGNED-PAYLOAD-TRAILER, as PyArrow and other users of AWS SDK for C++ send it."""
        checksum = checksum or base64.b64encode(zlib.crc32(content).to_bytes(4)).decode()
        body = f'{len(content):x}\r\n'.encode() + content + f'\r\n0\r\nx-amz-checksum-crc32:{checksum}\r\n\r\n'.encode()
        headers = {'Content-Encoding': 'aws-chunked', 'X-Amz-Trailer': 'x-amz-checksum-crc32',
                   'X-Amz-Sdk-Checksum-Algorithm': 'CRC32', 'X-Amz-Decoded-Content-Length': str(len(content))}
        return self.send('PUT', self.path(key), headers, body, payload='STREAMING-UNSIGNED-PAYLOAD-TRAILER')
