"""Nodes of a federation: real services that know each other, and forgers that know how a proof is made."""
import asyncio
import hashlib
import json
import subprocess
import threading
import time

import websockets
from bridged import audit_lines, await_tools, until
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from scp import Client, holder, keys, node_key
from scp.canonical import canonical, parse
from scp.client import make_ulid
from tool_clients import BINARY
from tool_stack.service import ToolService, strong

CALLER = ['cap:list', 'tool:invoke:sql.*', 'tool:invoke:files.*', 'tool:invoke:node-a.*', 'tool:invoke:node-b.*', 'tool:invoke:node-c.*',
          'tool:invoke:node-x.*', 'tool:invoke:tools.*']
WAIT = 120
PSS = padding.PSS(padding.MGF1(hashes.SHA256()), 32)  # of PS256: RFC 7518, section 3.5


def make_key(folder, name, kind='ed25519'):
    subprocess.run([BINARY, 'keygen', kind, '--out', str(folder / name)], check=True, capture_output=True, timeout=60)
    return folder / f'{name}.key', folder / f'{name}.pub'


class Federation:
    """`calls` has the nodes that each node calls; every node knows all the others. `changes` are settings of single nodes, by
    name. The nodes know each other by keys of `kind`, and without `keyed` by the shared secret alone. `strangers` are nodes that
    every other one knows, {name: (address or '-', public key file)}, and that are no services."""

    def __init__(self, folder, authority, calls, mode='encrypted', keyed=True, changes=None, strangers=None, kind='ed25519'):
        folder.mkdir(parents=True, exist_ok=True)
        shared = {'secret_key': strong(), 'jwt_secret': strong(), 'kdf_salt': strong(24), 'cluster.name': 'federation-1',
                  'cluster.peer_scopes': ','.join(CALLER)}
        if mode in ('simple', 'encrypted'):
            shared |= {'api_key': strong(), 'security.api_key_scopes': ','.join(CALLER)}
        self.nodes, self.keys = {}, {}
        for name in calls:
            self.keys[name] = make_key(folder, name, kind)
            self.nodes[name] = ToolService(folder / name, mode, authority, binary=BINARY, changes={
                **shared, 'node_id': name, 'connectors.files.enabled': None, 'connectors.files.root': None,
                'connectors.files.extensions': None, 'connectors.files.allow_write': None, **(changes or {}).get(name, {})})
        for name, node in self.nodes.items():
            peers = [f'{other} {url if other in calls[name] else "-"}{f" {self.keys[other][1]}" if keyed else ""}'
                     for other, url in ((other, one.url) for other, one in self.nodes.items() if other != name)]
            peers += [f'{other} {address if other in calls[name] else "-"} {public}' for other, (address, public) in (strangers or {}).items()]
            node.settings['cluster.peers'] = peers
            if keyed:
                node.settings['security.proof_signing_key_path'] = str(self.keys[name][0])

    def start(self):
        for node in self.nodes.values():
            node.start()
        return self

    def stop(self):
        for node in self.nodes.values():
            node.stop()

    def __getitem__(self, name):
        return self.nodes[name]


def calls_of(node, tool=None):
    """The ends of calls in a node's trail."""
    return [line for line in audit_lines(node) if line['kind'] == 'seal' and tool in (None, line['tool'])]


def await_call(node, condition, what):
    return until(lambda: next((line for line in calls_of(node) if condition(line)), None), what, WAIT)


async def invoke(client, tool, **arguments):
    """Once the node behind the tool is connected."""
    await await_tools(client, [tool])
    return await client.invoke_tool(tool, **arguments)


# A node that is a program of these tests.

def args_hash(args):
    return 'sha256:' + hashlib.sha256(canonical(args)).hexdigest()


def jws(sign, alg, typ, kid, claims):
    head = keys.b64(json.dumps({'alg': alg, 'typ': typ, 'kid': kid}).encode())
    body = f'{head}.{keys.b64(json.dumps(claims).encode())}'
    return f'{body}.{keys.b64(sign(body.encode()))}'


class Signer:
    """Signs what `name` says, by its own key or, with `secret`, by the secret that the nodes share. A `key` of RSA signs by PS256."""

    def __init__(self, name, secret=None, key=None):
        self.name, self.secret = name, secret
        self.key = key or Ed25519PrivateKey.generate()

    def write_public(self, folder):
        file = folder / f'{self.name}.pub'
        file.write_bytes(self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        return file

    def sign(self, typ, claims, to):
        if self.secret is None and isinstance(self.key, rsa.RSAPrivateKey):
            return jws(lambda data: self.key.sign(data, PSS, hashes.SHA256()), 'PS256', typ, self.name, claims)
        if self.secret is None:
            return jws(self.key.sign, 'EdDSA', typ, self.name, claims)
        secret_key, salt = (one.encode() for one in self.secret)
        info = b'scp3 forward' + keys.with_length(self.name.encode()) + keys.with_length(to.encode())
        mac_key = keys.hkdf(secret_key, salt, info, 32)
        return jws(lambda data: keys.hmac(mac_key, data), 'HS256', typ, self.name, claims)

    def times(self, seconds):
        now = int(time.time())
        return {'jti': make_ulid(), 'iat': now, 'exp': now + seconds}

    def credential(self, to, th1):
        return self.sign('scp-node+jws', {'iss': self.name, 'aud': to, 'th': keys.b64(th1), **self.times(3600)}, to)

    def peer_proof(self, to, session, **changes):
        return self.sign('scp-peer+jws', {'iss': self.name, 'aud': to, 'sid': session, **self.times(3600), **changes}, to)

    def forward_proof(self, to, session, tool, args, /, **changes):
        """A whole first step of a call of alice; `changes` replace claims, None takes one away."""
        claims = {'iss': self.name, 'aud': to, 'sub': 'alice', 'sub_iss': self.name, 'rid': make_ulid(), 'tool': tool, 'args_h': args_hash(args),
                  'scope': f'tool:invoke:{tool}', 'hop': 1, 'max_hop': 4, 'via': [], 'sid': session, **self.times(30), **changes}
        return self.sign('scp-fwd+jws', {name: value for name, value in claims.items() if value is not None}, to)


class NodeClient(Client):
    """Connects as a node does."""

    def __init__(self, signer, *args, **options):
        super().__init__(*args, **options)
        self.signer = signer

    def _credential(self):
        return 'node', self.signer.credential(self.node, self.th1)

    async def forward(self, tool, args, proofs=None, **changes):
        proofs = proofs or [self.signer.forward_proof(self.node, self.session['session_id'], tool, args, **changes)]
        return await self.call('fed.forward', {'tool': tool, 'args': args, 'proofs': proofs})


def node_client(signer, node, **options):
    return NodeClient(signer, node.url, node.mode, secret_key=node.secret('secret_key'), kdf_salt=node.secret('kdf_salt'),
                      ca=node.authority.roots, **options)


def record_of(tool, **changes):
    """A tool as a node lists it."""
    return {'id': tool, 'name': tool.split('.')[1], 'description': 'A tool.', 'inputSchema': {'type': 'object'},
            'annotations': {'readOnlyHint': True, 'destructiveHint': False, 'idempotentHint': True, 'openWorldHint': False}, 'version': '1',
            'origin': {'kind': 'local'}, 'requires': {'scopes': [f'tool:invoke:{tool}'], 'consent': 'never', 'min_mode': 'simple'},
            'limits': {'time_ms': 30000, 'output_bytes': 65536}, 'pin': {'alg': 'sha256', 'h': 'sha256:' + '0' * 64, 'state': 'pinned'}, **changes}


def answer_of(text):
    return {'content': [{'type': 'text', 'media_type': 'text/plain', 'text': text}], 'is_error': False, 'usage': {'ms': 1, 'bytes': len(text)},
            'redactions': 0, 'audit': {'seq': 1, 'hash': 'a' * 64}}


class FakeNode:
    """A node in mode simple that lies as it is told: `forward(link, message)` answers a call, or does not; `records` are the
    tools it lists, `claims` what is changed in its proof of itself, `name` what it says it is, `proves` whose key it has in the
    handshake: None for the shared secret alone, whatever the other node asks for."""

    def __init__(self, signer, port, secret_key, salt, records, name=None):
        self.signer, self.proves, self.port, self.records = signer, signer, port, records
        self.secret = secret_key.encode(), salt.encode()
        self.name = name or signer.name
        self.claims, self.forward, self.hangs = {}, None, False
        self.asked, self.links, self.lists = [], 0, 0
        self.questions, self.restless = [], False  # Every fed.caps; whether the list is another one each time.
        self.shown = []  # What came after the welcome, first of each link: a credential.
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)
        ready = threading.Event()
        self.loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self._listen(ready), loop=self.loop))
        self.thread.start()
        assert ready.wait(30)

    @property
    def etag(self):
        if self.restless:
            return str(len(self.questions))
        return hashlib.sha256(json.dumps(self.records).encode()).hexdigest()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _listen(self, ready):
        self.server = await websockets.serve(self._serve, '127.0.0.1', self.port, subprotocols=['scp.v3.json'], compression=None,
                                             max_size=16 << 20)
        ready.set()

    def stop(self):
        async def close():
            self.server.close()
            await self.server.wait_closed()
            waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(close(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)

    async def _serve(self, socket):
        self.links += 1
        await Link(self, socket).run()


class Link:
    """One connection of a FakeNode. Sections 4 and 5 of docs/wire-3.0.md, from the server's side."""

    def __init__(self, node, socket):
        self.node, self.socket = node, socket
        self.session = make_ulid()
        self.th2 = None

    def envelope(self, kind, request, payload, **more):
        return {'v': '3.0', 't': kind, 'id': request['id'], 'op': request['op'], 'ts': time.time_ns() // 1_000_000, 'n': keys.b64(make_ulid()[:16].encode()),
                'aud': self.session if self.th2 else '', 'p': payload, **more}

    async def send(self, message):
        value = keys.signature(self.keys['s2c sig'], self.th2 or self.th1, canonical(message))
        await self.socket.send(canonical({**message, 'sig': {'alg': 'HS256', 'kid': 's', 'v': keys.b64(value)}}).decode())

    async def answer(self, request, payload):
        await self.send(self.envelope('res', request, payload))

    async def refuse(self, request, code, number):
        await self.send(self.envelope('err', request, {'code': code, 'num': number, 'msg': 'as the test says'}))

    async def progress(self, request, seq, **payload):
        await self.send(self.envelope('evt', {'id': request['id'], 'op': 'tool.progress'}, payload, seq=seq))

    async def chunk(self, request, seq, index, data):
        """`data` of bytes, or as it shall stand in the message."""
        payload = {'index': index, 'data': keys.b64(data) if isinstance(data, bytes) else data}
        await self.send(self.envelope('evt', {'id': request['id'], 'op': 'tool.chunk'}, payload, seq=seq))

    def prove(self, hello, welcome):
        """What goes into the keys. Section 4.6."""
        private, share = keys.make_share('X25519')
        welcome['p']['eph_s'] = keys.b64(share)
        dh = keys.agree('X25519', private, keys.unb64(hello['p']['eph_c']['X25519']))
        if not self.node.proves:
            return keys.make_psk(*self.node.secret), dh
        welcome['p']['node_key'] = holder.jwk_of(self.node.proves.key.public_key())
        return keys.make_psk(b'', b''), dh

    async def run(self):
        hello_text = await self.socket.recv()
        hello = parse(hello_text)
        welcome = self.envelope('res', hello, {
            'version': '3.0', 'mode': 'simple', 'suite': 'NONE', 'nonce_s': keys.b64(b'n' * 32), 'node_id': self.node.name, 'cluster': 'federation-1',
            'auth': ['node'], 'channel': 'none', 'limits': {'message_bytes': 1 << 20, 'in_flight': 64, 'deadline_ms': 30000, 'idle_ms': 300000}})
        psk, dh = self.prove(hello, welcome)
        self.th1 = keys.th1(hello_text.encode(), canonical(welcome), b'')
        self.keys = keys.schedule(self.th1, dh, psk)
        if self.node.proves:
            proof = {'kind': 'ed25519', 'v': keys.b64(self.node.proves.key.sign(node_key.signed_text(self.th1)))}
        else:
            proof = {'kind': 'hmac', 'v': keys.b64(keys.proof(psk, self.th1))}
        welcome['p']['proof'] = proof
        await self.socket.send(canonical(welcome).decode())
        auth = parse(await self.socket.recv())
        self.node.shown.append(auth)
        auth.pop('sig')
        auth['p'].pop('confirm')
        th_auth = keys.th_auth(self.th1, canonical(auth))
        ready = self.envelope('res', auth, {'session_id': self.session, 'session_token': 'a.b.c', 'principal': {'sub': 'node-a', 'iss': self.node.name},
                                            'scopes': [], 'expires_at': int(time.time() * 1000) + 900_000})
        th2 = keys.th2(th_auth, canonical(ready))
        ready['p']['confirm'] = keys.b64(keys.hmac(self.keys['confirm s'], th2))
        await self.send(ready)
        self.th2 = th2
        async for data in self.socket:
            message = parse(data)
            if not self.node.hangs:
                asyncio.ensure_future(self._handle(message))

    async def _handle(self, message):
        if message['op'] == 'fed.caps':
            asked = message['p']
            self.node.questions.append(asked)
            self.waits = message  # The last one, which waits for another list.
            end = time.monotonic() + asked.get('wait_ms', 0) / 1000
            while self.node.etag == asked.get('etag') and time.monotonic() < end:
                await asyncio.sleep(0.05)
            self.node.lists += 'wait_ms' not in asked
            proof = self.node.signer.peer_proof('node-a', self.session, **self.node.claims)
            etag = self.node.etag
            listed = {'unchanged': True} if etag == asked.get('etag') else {'capabilities': self.node.records}
            await self.answer(message, {**listed, 'etag': etag, 'proof': proof})
        elif message['op'] == 'fed.forward':
            self.node.asked.append(message)
            if self.node.forward:
                await self.node.forward(self, message)
        elif message['t'] == 'cancel':
            self.node.asked.append(message)
        elif message['op'] == 'session.close':
            await self.answer(message, {})
