"""The client: connect, list_capabilities, invoke_tool, disconnect."""

import asyncio
import contextlib
import inspect
import os
import secrets
import ssl
import time

import websockets
from cryptography.exceptions import InvalidTag

from . import address, holder, keys, node_key, tokens
from .canonical import canonical, parse, to_wire
from .strength import check_secrets

ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
MODES_WITH_RECORDS = {'encrypted'}
MESSAGE_BYTES = 16 << 20
WINDOW_MS = 60_000
MAX_PAGES = 1000
PAUSE, MOST_PAUSE = 0.1, 2.0  # seconds between two attempts to find a lost connection's call again
NO_ID = '0' * 26  # of an err about a message whose id could not be read


class Refused(Exception):
    """An err of the server, or a server that this client does not trust."""

    def __init__(self, code, message, data=None, retry_ms=None):
        super().__init__(f'{code}: {message}')
        self.code, self.message, self.data, self.retry_ms = code, message, data, retry_ms


class Closed(Refused):
    """The connection has ended."""


LOST = (Closed, OSError, websockets.ConnectionClosed, websockets.InvalidHandshake)


class Waiting:
    """A request that has no answer yet."""

    def __init__(self, op, answer, events):
        self.op, self.answer, self.events, self.next_seq = op, answer, events, 0


def make_ulid():
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return ''.join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


class Client:
    """`url` is wss://, or ws:// to this machine: another one is a ValueError.
    `server_key` is what the server must prove itself by: the thumbprint of its node key, a PEM file with it, or several of
    these while it is changed. Without one it is known by `secret_key`, which every member of the group has.
    `secret_key`, `kdf_salt`, `api_key` are texts; a weak one is a ValueError. A server that
    still has `secret_key_previous` is taken too. `token` is a client or access token, or
    a function, plain or async, that returns a fresh one: it is called for each connection and each refresh, and a
    session lasts no longer than a token that is a text. `ca` is a PEM file, `certificate` a pair of them, `token_key` a
    PEM file with the RSA key that the server's session tokens must be signed with, `holder_key` one with the Ed25519
    private key that `token` is bound to: each connection and refresh proves it."""

    def __init__(self, url, mode, *, secret_key='', secret_key_previous='', kdf_salt='', api_key='', token='', ca=None,
                 suites=('X25519_A256GCM_S256',), certificate=None, token_key=None, holder_key=None,
                 server_key=None):
        check_secrets(secret_key=secret_key, secret_key_previous=secret_key_previous, kdf_salt=kdf_salt, api_key=api_key)
        self.url = address.checked(url)
        self.mode, self.api_key = mode, api_key
        self.fresh_token, self.token = (token, '') if callable(token) else (None, token)
        self.token_key = tokens.load_key(token_key) if token_key else None
        self.holder_key = holder.load_key(holder_key) if holder_key else None
        self.session_key = holder.make_key()  # of this client alone, and nowhere but here
        self.former = ''  # the session token that is shown in place of a credential
        self.suites = list(suites) if mode in MODES_WITH_RECORDS else ['NONE']
        shared = secret_key or (api_key if mode == 'simple' else '')
        self.psks = [keys.make_psk(one.encode(), kdf_salt.encode()) for one in [shared, shared and secret_key_previous] if one]
        self.pins = node_key.pins(server_key)
        if not node_key.offered(self.pins, self.psks, mode):
            raise ValueError('server_key: or secret_key is needed to know the server by')
        self.tls = ssl.create_default_context(cafile=ca) if self.url.startswith('wss:') else None
        if self.tls:
            self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
            if certificate:
                self.tls.load_cert_chain(*certificate)
        self.waiting = {}
        self.sender = self.refresher = None
        self.spent = False  # the only token there is was refused
        self.renewal = asyncio.Lock()
        self.leaving = False

    async def connect(self):
        await self._open()
        return self.session

    async def reconnect(self):
        """A new connection in place of one that was lost, by the token of its session where the server takes it and else by
        the credential. Errors: as connect()."""
        await self._stop_refreshing()
        if 'session' in self.methods and self.session['expires_at'] / 1000 > time.time():
            try:
                await self._open(self.session['session_token'])
                return self.session
            except Refused as refusal:
                if refusal.code not in ('E_AUTH', 'E_EXPIRED'):
                    raise
        return await self.connect()

    async def _open(self, former=''):
        self.waiting, self.sender, self.former = {}, None, former
        if not former:
            await self._take_token()
        await self.dial()
        try:
            await self._handshake()
        except BaseException as error:
            await self.socket.close()
            if isinstance(error, (KeyError, TypeError, ValueError)):
                raise Refused('E_SHAPE', f'the server breaks the form of the handshake: {error!r}') from error
            if isinstance(error, InvalidTag):
                raise Refused('E_SIG', 'a record that the server did not make') from error
            raise
        self.reader = asyncio.create_task(self._read())
        self.refresher = asyncio.create_task(self._keep_fresh(self.session))

    async def dial(self, **options):
        """The WebSocket alone. `options` are those of websockets.connect."""
        self.socket = await address.Dial(self.url, **{
            'subprotocols': ['scp.v3.json'], 'ssl': self.tls, 'compression': None, 'max_size': MESSAGE_BYTES, 'proxy': None,
            **options})

    async def list_capabilities(self):
        """All of them, page after page. Errors: Refused, also for a list that has no end."""
        found, cursor = [], {}
        for _ in range(MAX_PAGES):
            page = await self.call('cap.list', cursor)
            found += page['capabilities']
            if 'next' not in page:
                return found
            cursor = {'cursor': page['next']}
        raise Refused('E_LIMIT', f'the server lists more than {MAX_PAGES} pages of tools')

    async def invoke_tool(self, tool, progress=None, deadline_ms=None, idempotency_key=None, **args):
        """A call with a key is done once: when its connection is lost it is sent again on a new one, until its outcome is
        known or its deadline over. Errors: as call()."""
        meta = {'deadline_ms': deadline_ms} if deadline_ms else None
        payload = {'tool': tool, 'args': args}
        if idempotency_key is None:
            return await self.call('tool.invoke', payload, meta=meta, events=progress)
        until = time.monotonic() + (deadline_ms or 30_000) / 1000 + 5
        return await self._call_until_known({**payload, 'idem': idempotency_key}, meta, progress, until)

    async def outcome_of(self, request_id):
        """Whether a call ran, by its id. Section 9.2."""
        return await self.call('tool.outcome', {'id': request_id})

    async def flow_run(self, workflow=None, input=None, run=None, progress=None, patience=3600):
        """Runs a workflow to its end, under the id `run`, a new one where none is named; without `workflow` goes on with a run that
        is there. A lost connection is no reason to start: it is sent again, and no step is done twice. Section 19."""
        payload = {'run': run or make_ulid()}
        if workflow is not None:
            payload['workflow'] = workflow
        if input is not None:
            payload['input'] = input
        return await self._call_until_known(payload, None, progress, time.monotonic() + patience, 'flow.run')

    async def flow_get(self, run):
        """How far a run of one's own is."""
        return await self.call('flow.get', {'run': run})

    async def flow_cancel(self, run):
        """Takes a run back: what is done is undone."""
        return await self.call('flow.cancel', {'run': run})

    async def _call_until_known(self, payload, meta, events, until, op='tool.invoke'):
        """Section 9.1. Nothing but a lost connection is a reason to send a call again."""
        lost, pause = False, PAUSE
        while True:
            try:
                if lost:
                    await self._reopen()
                return await self.call(op, payload, meta=meta, events=events)
            except LOST as error:
                lost, wait, failure = True, pause, error
                pause = min(2 * pause, MOST_PAUSE)
            except Refused as refusal:
                if not lost or refusal.code != 'E_BUSY':
                    raise
                wait, failure = (refusal.retry_ms or 1000) / 1000, refusal
            if self.leaving or time.monotonic() + wait >= until:
                raise failure
            await asyncio.sleep(wait)

    async def _reopen(self):
        """A new connection in place of one that has ended. Calls at the same time share it."""
        async with self.renewal:
            if self.reader.done() and not self.leaving:
                await self._stop_refreshing()
                await self.socket.close()
                await self.reconnect()

    async def invoke_streamed(self, tool, **args):
        """The answer, and the bytes of each part of its content that came before it, by index."""
        parts = {}

        def collect(payload):
            if 'index' in payload:
                parts[payload['index']] = parts.get(payload['index'], b'') + keys.unb64(payload['data'])

        return await self.call('tool.invoke', {'tool': tool, 'args': args, 'stream': True}, events=collect), parts

    async def call(self, op, payload, meta=None, events=None):
        """Sends a request and waits for its answer. A call that is told E_EXPIRED, which is before anything runs, is sent
        once more with a fresh credential, on a new connection. Errors: Refused; websockets.ConnectionClosed when the
        connection has ended: connect() then makes a new one."""
        session = self.session
        try:
            return await self._call(op, payload, meta, events)
        except Refused as refusal:
            if refusal.code != 'E_EXPIRED' or self.spent:
                raise
        if self.token and not self.fresh_token:
            await self._refresh_with_the_only_token(session)
        else:
            await self._renew(session)
        return await self._call(op, payload, meta, events)

    async def _call(self, op, payload, meta=None, events=None):
        message = self._envelope('req', op, payload, self.node, meta)
        waiting = Waiting(op, asyncio.get_running_loop().create_future(), events)
        await self.socket.send(self._encode(message, self.th2))
        self.waiting[message['id']] = waiting
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            # The request still has its one answer, which will tell how it ended.
            await self.socket.send(self._encode({**self._envelope('cancel', 'tool.cancel', {}, self.node),
                                                 'id': message['id']}, self.th2))
            raise

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
        self.leaving = True
        await self._stop_refreshing()
        if not self.reader.done():
            await self._call('session.close', {})
            await self.socket.wait_closed()
        await self.reader

    async def _renew(self, session):
        """A new connection in place of `session`'s, whose calls under way get their answers first."""
        async with self.renewal:
            if self.session is not session:
                return
            if under_way := [one.answer for one in self.waiting.values()]:
                await asyncio.wait(under_way)
            await self._stop_refreshing()
            await self.socket.close()
            await self.reader
            await self.connect()

    async def _refresh_with_the_only_token(self, session):
        """A token that is a text may still be good; once it was refused it is not shown again."""
        try:
            await self._refresh(session)
        except Refused as refusal:
            self.spent = refusal.code in ('E_EXPIRED', 'E_AUTH')
            raise

    async def _take_token(self):
        if self.fresh_token:
            token = self.fresh_token()
            self.token = await token if inspect.isawaitable(token) else token

    async def _stop_refreshing(self):
        if self.refresher:
            self.refresher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.refresher
            self.refresher = None

    async def _keep_fresh(self, session):
        """Renews the session's token after two thirds of its life, with a fresh credential where there is one. A refresh
        that fails is tried again; a token that is a text and was refused is not shown again."""
        wait = self._life(session) * 2 / 3
        while True:
            await asyncio.sleep(max(wait, 0))
            try:
                before = session['expires_at']
                await self._refresh(session)
                if not self.fresh_token and session['expires_at'] <= before:
                    return  # nothing later is to be had: the session ends then, or its only credential
                wait = max(self._life(session) * 2 / 3, 0.5)
            except websockets.ConnectionClosed:
                return
            except Exception as error:  # the function that gets tokens may raise what it likes
                code, pause = getattr(error, 'code', None), getattr(error, 'retry_ms', None)
                if self.token and not self.fresh_token and code in ('E_EXPIRED', 'E_AUTH'):
                    return
                left = self._life(session)
                wait = max(min(left / 4, 10) if left > 0 else 10, 0.2, (pause or 0) / 1000)

    async def _refresh(self, session):
        await self._take_token()
        session |= await self._call('session.refresh', self._shown())
        self._check_session_token(session)

    def _life(self, session):
        """Seconds that are left to the session's token."""
        return session['expires_at'] / 1000 - time.time()

    def _check_session_token(self, session):
        if not self.token_key:
            return
        try:
            tokens.check_session_token(session['session_token'], self.token_key, node=self.node, cluster=self.cluster,
                                       session=session['session_id'], th1=self.th1)
        except ValueError as error:
            raise Refused('E_SIG', f'the session token: {error}') from error

    async def _handshake(self):
        await self.socket.send(self._make_hello())
        self._take_welcome(await self._receive())
        await self.socket.send(self._encode(self._make_auth(), self.th1))
        self._take_ready(self._decode(await self._receive(), self.th1))

    def _make_hello(self, **changes):
        """The text of hello; `changes` replace members of its payload."""
        self.private, shares = {}, {}
        for group in {keys.SUITES[suite][0] for suite in self.suites}:
            self.private[group], share = keys.make_share(group)
            shares[group] = keys.b64(share)
        payload = {'versions': ['3.0'], 'suites': self.suites, 'nonce_c': keys.b64(os.urandom(32)), 'eph_c': shares,
                   'channels': [self._channel()], 'proofs': node_key.offered(self.pins, self.psks, self.mode),
                   'client': {'name': 'scp-python', 'version': '3.0'}, 'want_mode': self.mode, **changes}
        self.asked = self._envelope('req', 'session.hello', payload, '*')
        self.hello = canonical(self.asked)
        return self.hello.decode()

    def _take_welcome(self, text):
        """Makes the keys, once the server has proved itself."""
        welcome = self._answer(parse(text))
        p = welcome['p']
        self._check_answer(welcome, '')
        self.suite, self.node, self.cluster = p['suite'], p['node_id'], p['cluster']
        if p['version'] != '3.0' or self.suite not in self.suites or p['mode'] != self.mode:
            raise Refused('E_VERSION', 'the server chose what was not offered')
        binding = self._channel_binding(p['channel'])
        welcome0 = canonical({**welcome, 'p': {name: p[name] for name in p if name != 'proof'}})
        self.th1 = keys.th1(self.hello, welcome0, binding)
        psk = self._check_proof(p, self.th1)
        group = keys.SUITES[self.suite][0]
        dh = keys.agree(group, self.private[group], keys.unb64(p['eph_s']))
        self.keys = keys.schedule(self.th1, dh, psk)
        self.methods = p['auth']
        if self.mode in MODES_WITH_RECORDS:
            self.sender = keys.Records(self.suite, self.keys, 'c2s', self.th1)
            self.receiver = keys.Records(self.suite, self.keys, 's2c', self.th1)

    def _make_auth(self):
        shown = self._former_session() if self.former else self._shown()
        if shown['method'] not in self.methods:
            raise Refused('E_AUTH', f'the server does not take {shown["method"]}')
        shown['session_key'] = holder.jwk_of(self.session_key.public_key())
        auth = self._envelope('req', 'session.auth', shown, self.node)
        self.asked = auth
        self.th_auth = keys.th_auth(self.th1, canonical(auth))
        confirm = keys.b64(keys.hmac(self.keys['confirm c'], self.th_auth))
        return {**auth, 'p': {**auth['p'], 'confirm': confirm}}

    def _shown(self):
        """The credential on this connection, with the proof that a bound token needs. Section 4.11."""
        method, credential = self._credential()
        shown = {'method': method, 'credential': credential}
        if self.holder_key and method in ('jwt', 'oauth2'):
            shown['holder'] = holder.prove(self.holder_key, self.th1, credential)
        return shown

    def _former_session(self):
        """Section 6.8: good once, and with the key that the token is bound to."""
        return {'method': 'session', 'credential': self.former, 'holder': holder.prove(self.session_key, self.th1, self.former)}

    def _credential(self):
        if self.token:
            return 'oauth2' if self.mode == 'enterprise' else 'jwt', self.token
        if self.api_key:
            return 'api_key', keys.api_key_credential(self.api_key, self.th1)
        return 'mtls', ''

    def _take_ready(self, message):
        ready = self._answer(message)
        self._check_answer(ready, '')
        self._check_time(ready)
        p = ready['p']
        bare = {**ready, 'p': {name: p[name] for name in p if name != 'confirm'}}
        self.th2 = keys.th2(self.th_auth, canonical(bare))
        if keys.b64(keys.hmac(self.keys['confirm s'], self.th2)) != p['confirm']:
            raise Refused('E_SIG', 'the server does not confirm the handshake')
        self._check_session_token(p)
        self.session = p

    def _check_answer(self, message, audience):
        """That this is the answer to what was asked last."""
        if message['t'] != 'res' or message['id'] != self.asked['id'] or message['op'] != self.asked['op']:
            raise Refused('E_STATE', 'not an answer to the request')
        if message['aud'] != audience:
            raise Refused('E_REPLAY', 'a message for another session')

    def _check_time(self, message):
        """Section 8: the server's signed messages are held to the window; a record has its counter."""
        if not self.sender and abs(time.time() * 1000 - message['ts']) > WINDOW_MS:
            raise Refused('E_STALE', 'a message outside the freshness window')

    def _channel(self):
        """Python's TLS has no exporter, so the certificate it is. Mode encrypted needs none: TLS may end on the way."""
        return 'tls-server-end-point' if self.tls and self.mode not in MODES_WITH_RECORDS else 'none'

    def _channel_binding(self, channel):
        if channel != self._channel():
            raise Refused('E_SIG', 'the server sees another transport than we do')
        if channel == 'none':
            return b''
        connection = self.socket.transport.get_extra_info('ssl_object')
        return keys.sha256(connection.getpeercert(binary_form=True))

    def _check_proof(self, welcome, th1):
        """The psk of this connection."""
        if welcome['proof'].get('kind') == 'none' and not self.tls:
            raise Refused('E_SIG', 'a server without a proof, and without TLS')
        try:
            return node_key.check(welcome, th1, self.pins, self.psks, self.mode)
        except ValueError as error:
            raise Refused(str(error), 'the server does not prove to be the one that this client knows') from error

    def _envelope(self, kind, op, payload, audience, meta=None):
        message = {'v': '3.0', 't': kind, 'id': make_ulid(), 'op': op, 'ts': time.time_ns() // 1_000_000,
                   'n': keys.b64(os.urandom(16)), 'aud': audience, 'p': payload}
        return {**message, 'meta': meta} if meta else message

    def _encode(self, message, transcript):
        if self.sender:
            return self.sender.seal(to_wire(message))
        value = keys.signature(self.keys['c2s sig'], transcript, canonical(message))
        return to_wire({**message, 'sig': {'alg': 'HS256', 'kid': 'c', 'v': keys.b64(value)}}).decode()

    def _decode(self, data, transcript):
        if isinstance(data, bytes) != bool(self.sender):
            raise Refused('E_STATE', 'text where a record belongs, or the reverse')
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
            raise Refused(p['code'], p['msg'], p.get('data'), p.get('retry_ms'))
        return message

    async def _receive(self):
        return await asyncio.wait_for(self.socket.recv(), 15)

    async def _read(self):
        try:
            async for data in self.socket:
                self._deliver(self._decode(data, self.th2))
            failure = Closed('E_STATE', f'the server closed: {self.socket.close_code}')
        except Exception as error:  # whatever ended the reading ends every call that waits
            failure = error
            await self.socket.close(4400)
        for waiting in self.waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(failure)

    def _deliver(self, message):
        """Section 5.2. Errors: Refused for what a client does not accept."""
        self._check_time(message)
        if message['aud'] != self.session['session_id']:
            raise Refused('E_REPLAY', 'a message for another session')
        if message['id'] == NO_ID:
            self._answer(message)
        waiting = self.waiting.get(message['id'])
        if message['t'] == 'evt':
            self._deliver_event(waiting, message)
            return
        if waiting is None or message['t'] not in ('res', 'err') or message['op'] != waiting.op:
            raise Refused('E_STATE', 'an answer that nobody asked for')
        del self.waiting[message['id']]
        if message['op'] == 'session.rekey' and message['t'] == 'res':
            self._rekey(message['p'])
        if waiting.answer.done():
            return
        try:
            waiting.answer.set_result(self._answer(message)['p'])
        except Refused as refusal:
            waiting.answer.set_exception(refusal)

    def _deliver_event(self, waiting, message):
        if waiting is None or message['seq'] != waiting.next_seq:
            raise Refused('E_STATE', 'an event that does not come next')
        waiting.next_seq += 1
        if waiting.events:
            waiting.events(message['p'])
