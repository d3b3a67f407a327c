// A server that lies. Each lie is refused with its code, in each suite where it can be told, and ends the connection with
// that code; beside it the same exchange without the lie passes.

import assert from 'node:assert/strict';
import {createECDH, createHash, generateKeyPairSync} from 'node:crypto';
import {test, type TestContext} from 'node:test';

import {b64} from '../dist/bytes.js';
import {makeEnvelope, makeUlid, NO_ID, type Received} from '../dist/envelope.js';
import {type Code, REFUSALS, ScpError} from '../dist/errors.js';
import {isObject, type Json, type JsonObject, toWire} from '../dist/json.js';
import type {ClientOptions} from '../dist/options.js';
import {RecordStream} from '../dist/records.js';
import {type Mode, SUITES} from '../dist/suites.js';
import {meet, meetReady} from './support/meet.ts';
import {type Lies, type Peer, resultOf, type Server} from './support/server.ts';

const BOTH: readonly Mode[] = ['simple', 'encrypted'];
const OTHER_SECRET = 'Yc8mW3vPk1LxT5qZd9HnJr4GfB7sQe2u';

async function isRefused(work: Promise<unknown>, code: Code, what: string): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof ScpError, `${what}: ${String(error)}`);
    assert.equal(error.code, code, `${what}: ${error.message}`);
    return true;
  }, what);
}

/** The client itself ended it, and said why. */
async function endsWith(peer: Peer, code: Code, what: string): Promise<void> {
  const {code: closeCode, reason} = await peer.closed;
  assert.deepEqual([closeCode, reason], [REFUSALS[code].close, code], what);
}

/** RFC 6455, section 7.4: the WebSocket library does not even read such a message. */
const TOO_BIG = 1009;

// ---- Before the session ----

interface HandshakeLie {
  readonly what: string;
  readonly code: Code;
  readonly modes?: readonly Mode[];
  readonly lies: Lies;
  readonly options?: Partial<ClientOptions>;
  /** The messages that the server gets: 1 is hello, and nothing that a credential is in. */
  readonly heard?: number;
}

const inWelcome = (change: object): Lies => ({payload: (step, p) => (step === 'welcome' ? {...p, ...change} as JsonObject : p)});
const onWelcome = (change: (message: JsonObject) => object): Lies => ({message: (step, message) => (step === 'welcome' ? change(message) as JsonObject : message)});
const onReady = (change: (message: JsonObject, peer: Peer) => object): Lies => ({message: (step, message, peer) => (step === 'ready' ? change(message, peer) as JsonObject : message)});
const welcomeText = (change: (text: string) => string | Buffer): Lies => ({bytes: (step, data) => [step === 'welcome' ? change(String(data)) : data]});
const payloadOf = (message: JsonObject): JsonObject => (isObject(message['p']) ? message['p'] : assert.fail());
const share = (byte: number, length: number): object => inWelcome({eph_s: b64(Buffer.alloc(length, byte))});

function hybridPoint(): Buffer {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  return pair.getPublicKey(null, 'hybrid');
}

const HANDSHAKES: readonly HandshakeLie[] = [
  {what: 'another secret', code: 'E_SIG', lies: {secretKey: OTHER_SECRET}},
  {what: 'no proof', code: 'E_SHAPE', lies: onWelcome((one) => ({...one, p: {...payloadOf(one), proof: null}}))},
  {what: 'the proof that there is none', code: 'E_SIG', lies: onWelcome((one) => ({...one, p: {...payloadOf(one), proof: {kind: 'none'}}}))},
  {what: 'a proof of another kind', code: 'E_SHAPE', lies: onWelcome((one) => ({...one, p: {...payloadOf(one), proof: {kind: 'plain', v: ''}}}))},
  {what: 'a proof that is cut', code: 'E_SHAPE', lies: onWelcome((one) => ({...one, p: {...payloadOf(one), proof: {kind: 'hmac', v: 'AAAA'}}}))},
  {what: 'an older version', code: 'E_VERSION', lies: inWelcome({version: '2.9'})},
  {what: 'a newer version', code: 'E_VERSION', lies: inWelcome({version: '3.1'})},
  {what: 'an envelope of another version', code: 'E_SHAPE', lies: onWelcome((one) => ({...one, v: '2.0'}))},
  {what: 'another mode', code: 'E_VERSION', lies: inWelcome({mode: 'basic'})},
  {what: 'no encryption', code: 'E_VERSION', modes: ['encrypted'], lies: {suite: 'NONE'}},
  {what: 'a suite that was not offered', code: 'E_VERSION', modes: ['encrypted'], lies: inWelcome({suite: 'X25519_C20P_S256'})},
  {what: 'a suite that nobody knows', code: 'E_VERSION', lies: inWelcome({suite: 'X25519_NULL'})},
  {what: 'records where none were offered', code: 'E_VERSION', modes: ['simple'], lies: inWelcome({suite: 'X25519_A256GCM_S256'})},
  {what: 'another transport', code: 'E_SIG', lies: inWelcome({channel: 'tls-exporter'})},
  {what: 'a method less than it took', code: 'E_AUTH', lies: inWelcome({auth: ['oauth2']})},
  {what: 'a welcome that was changed on the way', code: 'E_SIG', lies: onWelcome((one) => ({...one, p: {...payloadOf(one), auth: ['api_key', 'x']}}))},
  {what: 'an unknown member that was put in on the way', code: 'E_SIG', lies: onWelcome((one) => ({...one, more: 1}))},
  {what: 'an answer to another request', code: 'E_STATE', lies: onWelcome((one) => ({...one, id: makeUlid()}))},
  {what: 'another operation', code: 'E_STATE', lies: onWelcome((one) => ({...one, op: 'session.auth'}))},
  {what: 'an event', code: 'E_STATE', lies: onWelcome((one) => ({...one, t: 'evt', seq: 0}))},
  {what: 'a request of the server', code: 'E_STATE', lies: onWelcome((one) => ({...one, t: 'req'}))},
  {what: 'a session that does not exist yet', code: 'E_REPLAY', lies: onWelcome((one) => ({...one, aud: makeUlid()}))},
  {what: 'an all-zero share', code: 'E_SHAPE', modes: ['encrypted', 'simple'], lies: share(0, 32)},
  {what: 'a share of low order', code: 'E_SHAPE', modes: ['encrypted'], lies: inWelcome({eph_s: b64(Uint8Array.of(1, ...Array(31).fill(0)))})},
  {what: 'a short share', code: 'E_SHAPE', modes: ['encrypted', 'simple'], lies: share(1, 31)},
  {what: 'no share', code: 'E_SHAPE', modes: ['encrypted', 'simple'], lies: inWelcome({eph_s: null})},
  {what: 'a point off the curve', code: 'E_SHAPE', modes: ['encrypted'], lies: inWelcome({eph_s: b64(Buffer.alloc(65, 4))}), options: {suites: ['P256_A256GCM_S256']}},
  {what: 'a compressed point', code: 'E_SHAPE', modes: ['encrypted'], lies: inWelcome({eph_s: b64(Buffer.alloc(33, 2))}), options: {suites: ['P256_A256GCM_S256']}},
  {what: 'a point in its hybrid form', code: 'E_SHAPE', modes: ['encrypted'], lies: inWelcome({eph_s: b64(hybridPoint())}), options: {suites: ['P256_A256GCM_S256']}},
  {what: 'limits that are no numbers', code: 'E_SHAPE', lies: inWelcome({limits: {message_bytes: '1', in_flight: 1, deadline_ms: 1, idle_ms: 1}})},
  {what: 'a member twice', code: 'E_PARSE', lies: welcomeText((text) => text.replace('{', '{"v":"3.0",'))},
  {what: 'a welcome that is too deep', code: 'E_PARSE', lies: welcomeText((text) => text.replace('{', `{"x":${'['.repeat(64)}${']'.repeat(64)},`))},
  {what: 'a welcome that is too long', code: 'E_LIMIT', lies: welcomeText((text) => text.replace('{', `{"x":"${'y'.repeat(64 << 10)}",`))},
  {what: 'an integer that two readers read differently', code: 'E_PARSE', lies: welcomeText((text) => text.replace('{', '{"x":9007199254740993,'))},
  {what: 'no JSON', code: 'E_PARSE', lies: welcomeText(() => 'welcome')},
  {what: 'an empty message', code: 'E_PARSE', lies: welcomeText(() => '')},
  {what: 'bytes', code: 'E_STATE', lies: welcomeText((text) => Buffer.from(text))},
  {what: 'a refusal that is none', code: 'E_SHAPE', lies: onWelcome((one) => ({...one, t: 'err', p: {code: 'E_AUTH', num: 4000, msg: ''}}))},
  {what: 'a wrong confirmation', code: 'E_SIG', heard: 2, lies: onReady((one) => ({...one, p: {...payloadOf(one), confirm: b64(Buffer.alloc(32))}}))},
  {what: 'more scopes than it confirmed', code: 'E_SIG', heard: 2, lies: onReady((one) => ({...one, p: {...payloadOf(one), scopes: ['admin:audit']}}))},
  {what: 'ready for another request', code: 'E_STATE', heard: 2, lies: onReady((one) => ({...one, id: makeUlid()}))},
  {what: 'ready with the audience of a session', code: 'E_REPLAY', heard: 2, lies: onReady((one, peer) => ({...one, aud: peer.sessionId}))},
  {what: 'welcome twice', code: 'E_SHAPE', modes: ['simple'], heard: 2, lies: {bytes: (step, data) => (step === 'welcome' ? [data, data] : [data])}},
  {what: 'welcome twice, before records', code: 'E_STATE', modes: ['encrypted'], heard: 2, lies: {bytes: (step, data) => (step === 'welcome' ? [data, data] : [data])}},
  {what: 'silence', code: 'E_TIMEOUT', lies: {bytes: () => []}, options: {answerTimeoutMs: 100}},
  {what: 'silence after welcome', code: 'E_TIMEOUT', heard: 2, lies: {bytes: (step, data) => (step === 'ready' ? [] : [data])}, options: {answerTimeoutMs: 400}},
];

for (const mode of BOTH) {
  test(`${mode}: the honest handshake of each lie passes`, async (context) => {
    for (const options of [{}, ...(mode === 'encrypted' ? [{suites: ['P256_A256GCM_S256'] as const}] : [])]) {
      const {client, server} = await meetReady(context, mode, {
        payload: (_, p) => ({...p}), message: (_, message) => ({...message}), bytes: (_, data) => [data],
      }, options);
      await client.disconnect();
      assert.equal(server.peer.fault, undefined);
    }
  });

  for (const {what, code, modes = BOTH, lies, options, heard = 1} of HANDSHAKES) {
    if (!modes.includes(mode)) continue;
    test(`${mode}, handshake: ${what}`, async (context) => {
      const {client, server} = await meet(context, mode, lies, options);
      await isRefused(client.connect(), code, what);
      await endsWith(server.peer, code, what);
      assert.ok(server.peer.received.length <= heard, `${server.peer.received.length} messages`);
      const shown = server.peer.received.slice(heard).some((one) => 'credential' in one.p);
      assert.ok(!shown, 'a credential was shown');
    });
  }
}

// ---- In the session ----

interface SessionLie {
  readonly what: string;
  readonly code: Code;
  readonly modes?: readonly Mode[];
  /** Instead of the answer to the call. */
  readonly answer: (call: Received, peer: Peer) => void;
  readonly options?: Partial<ClientOptions>;
  readonly byLibrary?: true;
}

const result = (call: Received, peer: Peer, changes: object = {}, envelope: object = {}): void => peer.reply(call, resultOf(call.p, changes), envelope);
const sealed = (call: Received, peer: Peer, changes: object = {}): string | Buffer => peer.seal(peer.envelope(call, 'res', resultOf(call.p), changes));
const flip = (data: string | Buffer, place: number): Buffer => {
  const bytes = Buffer.from(data);
  bytes[bytes.length + place] = (bytes.at(place) ?? 0) ^ 1;
  return bytes;
};
/** An answer in a record of another place. */
const misplaced = (call: Received, peer: Peer, epoch: number, counter: bigint): Buffer => {
  const {aead} = SUITES[peer.suite];
  if (!aead || !peer.keys) return assert.fail();
  const stream = new RecordStream({aead, key: peer.keys['s2c key'], iv: peer.keys['s2c iv'], transcript: peer.th1, epoch}, counter);
  return stream.seal(Buffer.from(toWire(peer.envelope(call, 'res', resultOf(call.p)))));
};
const chunk = (data: string, index: Json = 0): object => ({index, data: Buffer.from(data).toString('base64url')});
const streamedPart = (bytes: number): object => ({content: [{type: 'data', media_type: 'a/b', bytes, streamed: true}]});

const SESSIONS: readonly SessionLie[] = [
  {what: 'an answer twice', code: 'E_STATE', modes: ['simple'], answer: (call, peer) => { result(call, peer); peer.raw(peer.sent.at(-1) ?? ''); }},
  {what: 'a record twice', code: 'E_REPLAY', modes: ['encrypted'], answer: (call, peer) => { result(call, peer); peer.raw(peer.sent.at(-1) ?? ''); }},
  {what: 'two records in the wrong order', code: 'E_REPLAY', modes: ['encrypted'], answer: (call, peer) => {
    const first = peer.seal(peer.envelope(call, 'evt', {done: 1}, {op: 'tool.progress', seq: 0}));
    peer.raw(sealed(call, peer));
    peer.raw(first);
  }},
  {what: 'a counter that leaves one out', code: 'E_REPLAY', modes: ['encrypted'], answer: (call, peer) => { sealed(call, peer); result(call, peer); }},
  {what: 'a counter from before', code: 'E_REPLAY', modes: ['encrypted'], answer: (call, peer) => peer.raw(misplaced(call, peer, 0, 0n))},
  {what: 'an epoch that nobody agreed on', code: 'E_REPLAY', modes: ['encrypted'], answer: (call, peer) => peer.raw(misplaced(call, peer, 1, 1n))},
  {what: 'a wrong tag', code: 'E_SIG', modes: ['encrypted'], answer: (call, peer) => peer.raw(flip(sealed(call, peer), -1))},
  {what: 'a changed ciphertext', code: 'E_SIG', modes: ['encrypted'], answer: (call, peer) => peer.raw(flip(sealed(call, peer), -20))},
  {what: 'a record of another type', code: 'E_PARSE', modes: ['encrypted'], answer: (call, peer) => { const record = Buffer.from(sealed(call, peer)); record[1] = 2; peer.raw(record); }},
  {what: 'a short record', code: 'E_PARSE', modes: ['encrypted'], answer: (call, peer) => peer.raw(Buffer.from(sealed(call, peer)).subarray(0, 27))},
  {what: 'text where a record belongs', code: 'E_STATE', modes: ['encrypted'], answer: (call, peer) => peer.raw(peer.sign(peer.envelope(call, 'res', resultOf(call.p))))},
  {what: 'a signature in a record', code: 'E_SHAPE', modes: ['encrypted'], answer: (call, peer) => result(call, peer, {}, {sig: {alg: 'HS256', kid: 's', v: b64(Buffer.alloc(32))}})},
  {what: 'its own record sent back', code: 'E_SIG', modes: ['encrypted'], answer: (call, peer) => peer.raw(reflected(call, peer))},
  {what: 'a record where text belongs', code: 'E_STATE', modes: ['simple'], answer: (call, peer) => peer.raw(Buffer.from(String(sealed(call, peer))))},
  {what: 'no signature', code: 'E_SHAPE', modes: ['simple'], answer: (call, peer) => peer.raw(toWire(peer.envelope(call, 'res', resultOf(call.p))))},
  {what: 'a signature by the key of the client', code: 'E_SIG', modes: ['simple'], answer: (call, peer) => peer.raw(peer.sign(peer.envelope(call, 'res', resultOf(call.p)), peer.keys?.['c2s sig']))},
  {what: 'a signature that says it is the client\'s', code: 'E_SIG', modes: ['simple'], answer: (call, peer) => peer.raw(peer.sign(peer.envelope(call, 'res', resultOf(call.p)), undefined, {kid: 'c'}))},
  {what: 'another algorithm', code: 'E_SIG', modes: ['simple'], answer: (call, peer) => peer.raw(peer.sign(peer.envelope(call, 'res', resultOf(call.p)), undefined, {alg: 'none'}))},
  {what: 'a signature with more members', code: 'E_SHAPE', modes: ['simple'], answer: (call, peer) => peer.raw(peer.sign(peer.envelope(call, 'res', resultOf(call.p)), undefined, {x: 1}))},
  {what: 'a signature of the handshake', code: 'E_SIG', modes: ['simple'], answer: (call, peer) => { peer.transcript = peer.th1; result(call, peer); }},
  {what: 'an answer changed on the way', code: 'E_SIG', modes: ['simple'], answer: (call, peer) => peer.raw(String(sealed(call, peer)).replace('"redactions":0', '"redactions":1'))},
  {what: 'an answer from long ago', code: 'E_STALE', modes: ['simple'], answer: (call, peer) => result(call, peer, {}, {ts: Date.now() - 90_000})},
  {what: 'an answer from the time to come', code: 'E_STALE', modes: ['simple'], answer: (call, peer) => result(call, peer, {}, {ts: Date.now() + 90_000})},
  {what: 'the audience of another session', code: 'E_REPLAY', answer: (call, peer) => result(call, peer, {}, {aud: makeUlid()})},
  {what: 'an answer to another id', code: 'E_STATE', answer: (call, peer) => result(call, peer, {}, {id: makeUlid()})},
  {what: 'an answer of another operation', code: 'E_STATE', answer: (call, peer) => result(call, peer, {}, {op: 'cap.list'})},
  {what: 'a request', code: 'E_STATE', answer: (call, peer) => result(call, peer, {}, {t: 'req'})},
  {what: 'a cancel', code: 'E_STATE', answer: (call, peer) => result(call, peer, {}, {t: 'cancel'})},
  {what: 'a message that nobody asked for', code: 'E_STATE', answer: (_, peer) => peer.raw(peer.seal(makeEnvelope('res', 'session.ping', {}, peer.sessionId)))},
  {what: 'an event that leaves one out', code: 'E_STATE', answer: (call, peer) => { peer.event(call, 'tool.progress', 1, {done: 1}); result(call, peer); }},
  {what: 'an event twice', code: 'E_STATE', answer: (call, peer) => { peer.event(call, 'tool.progress', 0, {done: 1}); peer.event(call, 'tool.progress', 0, {done: 1}); result(call, peer); }},
  {what: 'an event after the answer', code: 'E_STATE', answer: (call, peer) => { result(call, peer); peer.event(call, 'tool.progress', 0, {done: 1}); }},
  {what: 'an event of another operation', code: 'E_STATE', answer: (call, peer) => { peer.event(call, 'cap.list', 0, {done: 1}); result(call, peer); }},
  {what: 'an event without a number', code: 'E_SHAPE', answer: (call, peer) => peer.raw(peer.seal(peer.envelope(call, 'evt', {done: 1}, {op: 'tool.progress'})))},
  {what: 'progress that is no number', code: 'E_SHAPE', answer: (call, peer) => { peer.event(call, 'tool.progress', 0, {done: 'half'}); result(call, peer); }},
  {what: 'a code that nobody knows', code: 'E_SHAPE', answer: (call, peer) => peer.raw(peer.seal(peer.envelope(call, 'err', {code: 'E_NEW', num: 1, msg: ''})))},
  {what: 'a code of Object\'s', code: 'E_SHAPE', answer: (call, peer) => peer.raw(peer.seal(peer.envelope(call, 'err', {code: 'constructor', num: 1, msg: ''})))},
  {what: 'an answer that is too deep', code: 'E_PARSE', answer: (call, peer) => peer.raw(deep(call, peer))},
  {what: 'an answer that is too long', code: 'E_LIMIT', byLibrary: true, answer: (call, peer) => result(call, peer, {x: 'y'.repeat(16 << 20)})},
  {what: 'an answer without content', code: 'E_SHAPE', answer: (call, peer) => result(call, peer, {content: null})},
  {what: 'content that is neither text nor data', code: 'E_SHAPE', answer: (call, peer) => result(call, peer, {content: [{type: 'link', media_type: 'a/b', text: ''}]})},
  {what: 'data that is no base64url', code: 'E_SHAPE', answer: (call, peer) => result(call, peer, {content: [{type: 'data', media_type: 'a/b', data: '+/=='}]})},
  {what: 'a count that is negative', code: 'E_SHAPE', answer: (call, peer) => result(call, peer, {redactions: -1})},
  {what: 'an answer of a call that is none', code: 'E_SHAPE', answer: (call, peer) => result(call, peer, {repeats: 'yesterday'})},
  {what: 'a receipt without a hash', code: 'E_SHAPE', answer: (call, peer) => result(call, peer, {audit: {seq: 1}})},
  {what: 'fewer bytes than it streamed', code: 'E_SHAPE', answer: (call, peer) => { peer.event(call, 'tool.chunk', 0, chunk('abc')); result(call, peer, streamedPart(2)); }},
  {what: 'more bytes than it streamed', code: 'E_SHAPE', answer: (call, peer) => { peer.event(call, 'tool.chunk', 0, chunk('abc')); result(call, peer, streamedPart(4)); }},
  {what: 'a stream that no part is for', code: 'E_SHAPE', answer: (call, peer) => { peer.event(call, 'tool.chunk', 0, chunk('abc', 5)); result(call, peer); }},
  {what: 'a stream without an end', code: 'E_LIMIT', options: {maxGatheredBytes: 10_000}, answer: (call, peer) => {
    for (let seq = 0; seq < 6; seq++) peer.event(call, 'tool.chunk', seq, chunk('x'.repeat(2000)));
    result(call, peer, streamedPart(12_000));
  }},
  {what: 'a stream of crumbs', code: 'E_LIMIT', options: {maxGatheredBytes: 10_000}, answer: (call, peer) => {
    for (let seq = 0; seq < 11; seq++) peer.event(call, 'tool.chunk', seq, chunk('x'));
    result(call, peer, streamedPart(11));
  }},
];

/** What the client sent, under the keys of the client. */
function reflected(call: Received, peer: Peer): Buffer {
  const {aead} = SUITES[peer.suite];
  if (!aead || !peer.keys) return assert.fail();
  const stream = new RecordStream({aead, key: peer.keys['c2s key'], iv: peer.keys['c2s iv'], transcript: peer.th1, epoch: 0}, 1n);
  return stream.seal(Buffer.from(toWire(call.whole)));
}

/** A message of 65 levels, which the writer itself would not make. */
function deep(call: Received, peer: Peer): string | Buffer {
  const nested = `${'['.repeat(63)}${']'.repeat(63)}`;
  const text = toWire(peer.envelope(call, 'res', resultOf(call.p))).replace('"p":{', `"p":{"x":${nested},`);
  if (peer.sender) return peer.sender.seal(Buffer.from(text));
  return text.replace('{', `{"sig":{"alg":"HS256","kid":"s","v":"${b64(createHash('sha256').digest())}"},`);
}

async function call(context: TestContext, mode: Mode, answer: SessionLie['answer'] | undefined, options: Partial<ClientOptions> = {}): Promise<{server: Server; outcome: Promise<unknown>}> {
  const {client, server} = await meetReady(context, mode, answer ? {answer: (request, peer) => {
    if (request.op === 'tool.invoke') answer(request, peer);
    else server.answer(request, peer);
  }} : {}, options);
  // Lies that follow an honest answer end what comes next.
  const outcome = client.invokeTool('a.b', {n: 1}, {stream: true, onProgress: () => {}}).then(() => client.request('session.ping'));
  return {server, outcome};
}

for (const mode of BOTH) {
  test(`${mode}: the honest call of each lie passes`, async (context) => {
    const {server, outcome} = await call(context, mode, undefined);
    assert.deepEqual(await outcome, {});
    assert.equal(server.peer.fault, undefined);
    const {client} = await meetReady(context, mode, {answer: (request, peer) => {
      peer.event(request, 'tool.progress', 0, {done: 1});
      peer.event(request, 'tool.chunk', 1, chunk('abc'));
      result(request, peer, streamedPart(3));
    }});
    assert.equal((await client.invokeTool('a.b', {}, {stream: true})).content.length, 1);
  });

  for (const {what, code, modes = BOTH, answer, options, byLibrary} of SESSIONS) {
    if (!modes.includes(mode)) continue;
    test(`${mode}, session: ${what}`, async (context) => {
      const {server, outcome} = await call(context, mode, answer, options);
      await isRefused(outcome, code, what);
      if (byLibrary) assert.equal((await server.peer.closed).code, TOO_BIG);
      else await endsWith(server.peer, code, what);
    });
  }

  test(`${mode}: ready twice ends the session`, async (context) => {
    const code = mode === 'simple' ? 'E_SIG' : 'E_REPLAY';
    const {client, server} = await meetReady(context, mode, {bytes: (step, data) => (step === 'ready' ? [data, data] : [data])});
    await endsWith(server.peer, code, 'ready twice');
    await isRefused(client.request('session.ping'), code, 'ready twice');
  });

  test(`${mode}: a close that is refused is a close`, async (context) => {
    const {client, server} = await meetReady(context, mode, {answer: (request, peer) => peer.refuse(request, 'E_BUSY')});
    await isRefused(client.disconnect(), 'E_BUSY', 'close');
    assert.equal((await server.peer.closed).code, 1000);
    assert.equal(client.state, 'FAILED');
  });

  test(`${mode}: an err about the connection ends it`, async (context) => {
    const {client} = await meetReady(context, mode, {answer: (request, peer) => {
      peer.raw(peer.seal({...peer.envelope(request, 'err', {code: 'E_PARSE', num: 4000, msg: 'no'}), id: NO_ID, op: 'session.error'}));
    }});
    await isRefused(client.invokeTool('a.b'), 'E_PARSE', 'session.error');
    assert.equal(client.state, 'FAILED');
  });

  test(`${mode}: a list of tools without an end is left`, async (context) => {
    let pages = 0;
    const {client, server} = await meetReady(context, mode, {answer: (request, peer) => {
      if (request.op === 'cap.list') peer.reply(request, {capabilities: [], etag: 'x', next: `${++pages}`});
      else server.answer(request, peer);
    }});
    await isRefused(client.listCapabilities(), 'E_LIMIT', 'pages');
    assert.equal(pages, 1000);
    server.lies = {answer: (request, peer) => peer.reply(request, {capabilities: [{id: 'x'}], etag: 'x'})};
    await isRefused(client.listCapabilities(), 'E_SHAPE', 'a record without its members');
  });

  test(`${mode}: a list of tools that is too long is left`, async (context) => {
    let pages = 0;
    const {client} = await meetReady(context, mode, {answer: (request, peer) => {
      pages++;
      peer.reply(request, {capabilities: [], etag: 'x'.repeat(6000), ...(pages % 3 === 0 ? {} : {next: 'x'})});
    }}, {maxGatheredBytes: 10_000});
    await isRefused(client.listCapabilities(), 'E_LIMIT', 'bytes');
    assert.equal(pages, 2);
    assert.deepEqual(await client.listCapabilities(), []);
  });
}

for (const [what, code, lie] of [
  ['an all-zero share', 'E_SHAPE', (request: Received, peer: Peer) => peer.rekey(request, Buffer.alloc(32))],
  ['no share', 'E_SHAPE', (request: Received, peer: Peer) => peer.reply(request, {})],
  ['an answer in the epoch before', 'E_REPLAY', (request: Received, peer: Peer) => {
    const {sender} = peer;
    peer.rekey(request);
    peer.sender = sender;
    peer.raw(peer.seal(peer.envelope(request, 'res', {})));
  }],
] as const) {
  test(`rekey: ${what}`, async (context) => {
    const {client, server} = await meetReady(context, 'encrypted', {answer: lie});
    await isRefused(client.rekey().then(() => client.request('session.ping')), code, what);
    await endsWith(server.peer, code, what);
  });
}

test('rekey: no answer', async (context) => {
  const {client, server} = await meetReady(context, 'encrypted', {answer: () => context.mock.timers.tick(30_000)});
  context.mock.timers.enable({apis: ['setTimeout']});
  await isRefused(client.rekey(), 'E_TIMEOUT', 'no answer');
  await endsWith(server.peer, 'E_TIMEOUT', 'no answer');
});

test('a session token that the pinned key did not sign ends the session before it begins', async (context) => {
  const {publicKey} = generateKeyPairSync('rsa', {modulusLength: 2048});
  const {client, server} = await meet(context, 'simple', {}, {tokenKey: publicKey.export({type: 'spki', format: 'pem'}) as string});
  await isRefused(client.connect(), 'E_SIG', 'session token');
  await endsWith(server.peer, 'E_SIG', 'session token');
});
