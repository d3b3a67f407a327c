"""The client: connect, list_capabilities, invoke_tool, disconnect."""

import asyncio
import os
import secrets
import ssl
import time

import websockets

from . import keys
from .canonical import canonical, parse

ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
MODES_WITH_RECORDS = {'encrypted'}


class Refused(Exception):
    """An err of the server, or a server that this client does not trust."""

    def __init__(self, code, message, data=None):
        super().__init__(f'{code}: {message}')
        self.code, self.message, self.data = code, message, data


def make_ulid():
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return ''.join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


class Client:
    """`secret_key`, `kdf_salt`, `api_key` are texts; `token` is a client or access token; `ca` a PEM file."""

    def __init__(self, url, mode, *, secret_key='', kdf_salt='', api_key='', token='', ca=None,
                 suites=('X25519_A256GCM_S256',), certificate=None):
        self.url, self.mode, self.api_key, self.token = url, mode, api_key, token
        self.suites = list(suites) if mode in MODES_WITH_RECORDS else ['NONE']
        shared = secret_key or (api_key if mode == 'simple' else '')
        self.psk = keys.make_psk(shared.encode(), kdf_salt.encode())
        self.has_secret = bool(shared)
        self.tls = ssl.create_default_context(cafile=ca) if url.startswith('wss:') else None
        if self.tls:
            self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
            if certificate:
                self.tls.load_cert_chain(*certificate)
        self.waiting = {}
        self.sender = None

    async def connect(self):
        self.socket = await websockets.connect(self.url, subprotocols=['scp.v3.json'], ssl=self.tls,
                                               compression=None, max_size=8 << 20, proxy=None)
        try:
            await self._handshake()
        except BaseException:
            await self.socket.close()
            raise
        self.reader = asyncio.create_task(self._read())
        return self.session

    async def list_capabilities(self):
        """All of them, page after page."""
        found, cursor = [], {}
        while True:
            page = await self.call('cap.list', cursor)
            found += page['capabilities']
            if 'next' not in page:
                return found
            cursor = {'cursor': page['next']}

    async def invoke_tool(self, tool, progress=None, deadline_ms=None, **args):
        meta = {'deadline_ms': deadline_ms} if deadline_ms else None
        return await self.call('tool.invoke', {'tool': tool, 'args': args}, meta=meta, events=progress)

    async def call(self, op, payload, meta=None, events=None):
        """Sends a request and waits for its answer. Errors: Refused."""
        message = self._envelope('req', op, payload, self.node, meta)
        answer = asyncio.get_running_loop().create_future()
        self.waiting[message['id']] = (answer, events)
        try:
            await self.socket.send(self._encode(message, self.th2))
            return await answer
        except asyncio.CancelledError:
            await self.socket.send(self._encode({**self._envelope('cancel', 'tool.cancel', {}, self.node),
                                                 'id': message['id']}, self.th2))
            raise
        finally:
            self.waiting.pop(message['id'], None)

    async def rekey(self):
        """Section 7.1. No other call may be started until it returns."""
        private, share = keys.make_share(keys.SUITES[self.suite][0])
        self.rekeying = private, share
        await self.call('session.rekey', {'eph': keys.b64(share)})

    def _rekey(self, answer):
        private, share = self.rekeying
        peer = keys.unb64(answer['eph'])
        epoch = self.sender.epoch + 1
        transcript = keys.th_r(self.th2, epoch, share, peer)
        dh = keys.agree(keys.SUITES[self.suite][0], private, peer)
        self.keys = keys.schedule(transcript, dh, self.keys['export'])
        self.sender = keys.Records(self.suite, self.keys, 'c2s', transcript, epoch)
        self.receiver = keys.Records(self.suite, self.keys, 's2c', transcript, epoch)

    async def disconnect(self):
        await self.call('session.close', {})
        await self.socket.wait_closed()
        await self.reader

    async def _handshake(self):
        groups = {keys.SUITES[suite][0] for suite in self.suites} - {None}
        private, shares = {}, {}
        for group in groups:
            private[group], share = keys.make_share(group)
            shares[group] = keys.b64(share)
        hello = canonical(self._envelope('req', 'session.hello', {
            'versions': ['3.0'], 'suites': self.suites, 'nonce_c': keys.b64(os.urandom(32)), 'eph_c': shares,
            'channels': ['tls-server-end-point' if self.tls else 'none'],
            'client': {'name': 'scp-python', 'version': '3.0'}, 'want_mode': self.mode}, '*'))
        await self.socket.send(hello.decode())
        welcome = self._answer(parse(await self._receive()))
        p = welcome['p']
        self.suite, self.node, self.cluster = p['suite'], p['node_id'], p['cluster']
        if p['version'] != '3.0' or self.suite not in self.suites or p['mode'] != self.mode:
            raise Refused('E_VERSION', 'the server chose what was not offered')
        binding = self._channel_binding(p['channel'])
        welcome0 = canonical({**welcome, 'p': {name: p[name] for name in p if name != 'proof'}})
        th1 = keys.th1(hello, welcome0, binding)
        self._check_proof(p['proof'], th1)
        group = keys.SUITES[self.suite][0]
        dh = keys.agree(group, private[group], keys.unb64(p['eph_s'])) if group else b''
        self.keys = keys.schedule(th1, dh, self.psk)
        if group:
            self.sender = keys.Records(self.suite, self.keys, 'c2s', th1)
            self.receiver = keys.Records(self.suite, self.keys, 's2c', th1)
        await self._authenticate(th1, p['auth'])

    async def _authenticate(self, th1, methods):
        if self.token:
            method = 'oauth2' if self.mode == 'enterprise' else 'jwt'
            credential = self.token
        elif self.api_key:
            method, credential = 'api_key', keys.api_key_credential(self.api_key, th1)
        else:
            method, credential = 'mtls', ''
        if method not in methods:
            raise Refused('E_AUTH', f'the server does not take {method}')
        auth = self._envelope('req', 'session.auth', {'method': method, 'credential': credential}, self.node)
        th_auth = keys.th_auth(th1, canonical(auth))
        auth['p']['confirm'] = keys.b64(keys.hmac(self.keys['confirm c'], th_auth))
        await self.socket.send(self._encode(auth, th1))
        ready = self._answer(self._decode(await self._receive(), th1))
        p = ready['p']
        bare = {name: ready[name] for name in ready if name != 'sig'}
        bare['p'] = {name: p[name] for name in p if name != 'confirm'}
        self.th2 = keys.th2(th_auth, canonical(bare))
        if keys.b64(keys.hmac(self.keys['confirm s'], self.th2)) != p['confirm']:
            raise Refused('E_SIG', 'the server does not confirm the handshake')
        self.session = p

    def _channel_binding(self, channel):
        """Python's TLS has no exporter, so the certificate it is."""
        if channel != ('tls-server-end-point' if self.tls else 'none'):
            raise Refused('E_SIG', 'the server sees another transport than we do')
        if not self.tls:
            return b''
        connection = self.socket.transport.get_extra_info('ssl_object')
        return keys.sha256(connection.getpeercert(binary_form=True))

    def _check_proof(self, proof, th1):
        if proof['kind'] == 'hmac' and self.has_secret:
            if proof['v'] == keys.b64(keys.proof(self.psk, th1)):
                return
        elif proof['kind'] == 'none' and self.mode == 'enterprise' and self.tls and not self.has_secret:
            return
        raise Refused('E_SIG', 'the server does not prove that it knows the secret')

    def _envelope(self, kind, op, payload, audience, meta=None):
        message = {'v': '3.0', 't': kind, 'id': make_ulid(), 'op': op, 'ts': time.time_ns() // 1_000_000,
                   'n': keys.b64(os.urandom(16)), 'aud': audience, 'p': payload}
        return {**message, 'meta': meta} if meta else message

    def _encode(self, message, transcript):
        if self.sender:
            return self.sender.seal(canonical(message))
        value = keys.signature(self.keys['c2s sig'], transcript, canonical(message))
        return canonical({**message, 'sig': {'alg': 'HS256', 'kid': 'c', 'v': keys.b64(value)}}).decode()

    def _decode(self, data, transcript):
        if self.sender:
            return parse(self.receiver.open(data))
        message = parse(data)
        sig = message.pop('sig', {})
        value = keys.signature(self.keys['s2c sig'], transcript, canonical(message))
        if sig != {'alg': 'HS256', 'kid': 's', 'v': keys.b64(value)}:
            raise Refused('E_SIG', 'a message without the session\'s signature')
        return message

    def _answer(self, message):
        if message['t'] == 'err':
            p = message['p']
            raise Refused(p['code'], p['msg'], p.get('data'))
        return message

    async def _receive(self):
        return await asyncio.wait_for(self.socket.recv(), 15)

    async def _read(self):
        try:
            async for data in self.socket:
                self._deliver(self._decode(data, self.th2))
            failure = Refused('E_STATE', f'the server closed: {self.socket.close_code}')
        except Exception as error:  # whatever ended the reading ends every call that waits
            failure = error
        for answer, _ in self.waiting.values():
            if not answer.done():
                answer.set_exception(failure)

    def _deliver(self, message):
        if message['op'] == 'session.rekey' and message['t'] == 'res':
            self._rekey(message['p'])
        answer, events = self.waiting.get(message['id'], (None, None))
        if message['t'] == 'evt':
            if events:
                events(message['p'])
        elif answer and not answer.done():
            try:
                answer.set_result(self._answer(message)['p'])
            except Refused as refusal:
                answer.set_exception(refusal)
