// Of the handshake what needs no connection: the server without a proof, and the secret that is being changed.

import assert from 'node:assert/strict';
import {createPublicKey, generateKeyPairSync, KeyObject, sign} from 'node:crypto';
import {test} from 'node:test';

import {b64, utf8} from '../dist/bytes.js';
import {makeEnvelope} from '../dist/envelope.js';
import {type Binding, Handshake, type Welcome} from '../dist/handshake.js';
import {thumbprint} from '../dist/holder.js';
import {canonical, isObject, type JsonObject, parse, toWire} from '../dist/json.js';
import * as keys from '../dist/keys.js';
import {nodeText} from '../dist/node_key.js';
import {text} from '../dist/shape.js';
import {makeShare, type Mode} from '../dist/suites.js';
import {answerOf} from './support/server_rules.ts';

const jwkOf = (key: KeyObject): JsonObject => ({crv: 'Ed25519', kty: 'OKP', x: createPublicKey(key).export({format: 'jwk'}).x ?? ''});
const NODE_KEY = generateKeyPairSync('ed25519').privateKey;
const MEMBER_KEY = generateKeyPairSync('ed25519').privateKey;
const PINS = [thumbprint(jwkOf(NODE_KEY))];
const TLS: Binding = {channel: 'tls-exporter', bytes: Buffer.alloc(32, 7)};
const PLAIN: Binding = {channel: 'none', bytes: new Uint8Array()};
const [OURS, BEFORE, OTHER] = ['new', 'old', 'other'].map((word) => keys.makePsk(utf8(word), utf8('salt'))) as [Buffer, Buffer, Buffer];

/** What the client makes of a welcome that is proved by `psk`, by a key, or not at all. */
function welcome(mode: Mode, psks: readonly Uint8Array[], binding: Binding, by: Uint8Array | KeyObject | undefined, pins: readonly string[] = []): Welcome {
  const handshake = new Handshake({mode, suites: ['NONE'], psks, pins}, binding);
  const hello = handshake.hello();
  const asked = parse(hello);
  assert.ok(isObject(asked));
  const p = {
    version: '3.0', mode, suite: 'NONE', nonce_s: b64(Buffer.alloc(32, 1)), node_id: 'n', cluster: 'c', auth: ['oauth2'],
    limits: {message_bytes: 1, in_flight: 1, deadline_ms: 1, idle_ms: 1}, channel: binding.channel,
    eph_s: b64(makeShare('X25519').public), ...(by instanceof KeyObject ? {node_key: jwkOf(by)} : {}),
  };
  const bare = {...makeEnvelope('res', 'session.hello', p, ''), id: text(asked, 'id')};
  const th1 = keys.makeTh1(utf8(hello), utf8(canonical(bare)), binding.bytes);
  const proof = by instanceof KeyObject ? {kind: 'ed25519', v: b64(sign(null, nodeText(th1), by))}
    : by ? {kind: 'hmac', v: b64(keys.proof(by, th1))} : {kind: 'none'};
  const taken = handshake.takeWelcome(Buffer.from(toWire({...bare, p: {...p, proof}})), false);
  assert.deepEqual(taken.th1, th1);
  return taken;
}

for (const [what, mode, psks, binding, psk, answer] of [
  ['enterprise over TLS, where neither has a secret', 'enterprise', [], TLS, undefined, 'ok'],
  ['the same without TLS', 'enterprise', [], PLAIN, undefined, 'E_SIG'],
  ['the same where this client has a secret', 'enterprise', [OURS], TLS, undefined, 'E_SIG'],
  ['the same in another mode', 'basic', [], TLS, undefined, 'E_SIG'],
  ['a proof that this client cannot check', 'enterprise', [], TLS, OURS, 'E_SIG'],
  ['a proof by zeros, which everybody can make', 'enterprise', [], TLS, Buffer.alloc(32), 'E_SIG'],
  ['the secret', 'basic', [OURS], TLS, OURS, 'ok'],
  ['the one before it', 'basic', [OURS, BEFORE], TLS, BEFORE, 'ok'],
  ['the one before it, which was not given', 'basic', [OURS], TLS, BEFORE, 'E_SIG'],
  ['neither of two', 'basic', [OURS, BEFORE], TLS, OTHER, 'E_SIG'],
] as const) {
  test(`proof: ${what}`, () => {
    assert.equal(answerOf(() => void welcome(mode, psks, binding, psk)), answer);
  });
}

for (const [what, psks, binding, by, pins, answer] of [
  ['the key that is pinned', [], TLS, NODE_KEY, PINS, 'ok'],
  ['the same without TLS', [], PLAIN, NODE_KEY, PINS, 'ok'],
  ['the same by a client that has the secret too', [OURS], TLS, NODE_KEY, PINS, 'ok'],
  ['the key of a member of the group', [OURS], TLS, MEMBER_KEY, PINS, 'E_SIG'],
  ['the secret, which a member has, where a key is pinned', [OURS], TLS, OURS, PINS, 'E_SIG'],
  ['a key that nobody pinned', [OURS], TLS, NODE_KEY, [], 'E_SIG'],
] as const) {
  test(`proof by a key: ${what}`, () => {
    assert.equal(answerOf(() => void welcome('basic', psks, binding, by, pins)), answer);
  });
}

test('a client that knows the key offers nothing weaker, and a share with each suite', () => {
  for (const [pins, proofs, groups] of [[PINS, ['ed25519'], ['X25519']], [[], ['hmac'], ['X25519']]] as const) {
    const hello = parse(new Handshake({mode: 'basic', suites: ['NONE'], psks: [OURS], pins}, TLS).hello());
    assert.ok(isObject(hello) && isObject(hello['p']) && isObject(hello['p']['eph_c']));
    assert.deepEqual(hello['p']['proofs'], proofs);
    assert.deepEqual(Object.keys(hello['p']['eph_c']), groups);
  }
});

test('mode encrypted is not bound to TLS, which may end on the way; the others are', () => {
  for (const [mode, suite, channel] of [['encrypted', 'X25519_A256GCM_S256', 'none'], ['basic', 'NONE', 'tls-exporter']] as const) {
    const hello = parse(new Handshake({mode, suites: [suite], psks: [OURS], pins: []}, TLS).hello());
    assert.ok(isObject(hello) && isObject(hello['p']));
    assert.deepEqual(hello['p']['channels'], [channel]);
  }
});

test('no credential is made before welcome was taken', () => {
  const handshake = new Handshake({mode: 'basic', suites: ['NONE'], psks: [OURS], pins: []}, TLS);
  handshake.hello();
  const taken = welcome('basic', [OURS], TLS, OURS);
  assert.throws(() => handshake.auth({method: 'oauth2', credential: 'x'}, taken), /no keys yet/);
});
