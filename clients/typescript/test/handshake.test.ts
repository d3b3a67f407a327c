// Of the handshake what needs no connection: the server without a proof, and the secret that is being changed.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {b64, utf8} from '../dist/bytes.js';
import {makeEnvelope} from '../dist/envelope.js';
import {type Binding, Handshake, type Mode, type Welcome} from '../dist/handshake.js';
import {canonical, isObject, parse, toWire} from '../dist/json.js';
import * as keys from '../dist/keys.js';
import {text} from '../dist/shape.js';
import {answerOf} from './support/server_rules.ts';

const TLS: Binding = {channel: 'tls-exporter', bytes: Buffer.alloc(32, 7)};
const PLAIN: Binding = {channel: 'none', bytes: new Uint8Array()};
const [OURS, BEFORE, OTHER] = ['new', 'old', 'other'].map((word) => keys.makePsk(utf8(word), utf8('salt'))) as [Buffer, Buffer, Buffer];

/** What the client makes of a welcome that is proved by `psk`, or not at all. */
function welcome(mode: Mode, psks: readonly Uint8Array[], binding: Binding, psk: Uint8Array | undefined): Welcome {
  const handshake = new Handshake({mode, suites: ['NONE'], psks}, binding);
  const hello = handshake.hello();
  const asked = parse(hello);
  assert.ok(isObject(asked));
  const p = {
    version: '3.0', mode, suite: 'NONE', nonce_s: b64(Buffer.alloc(32, 1)), node_id: 'n', cluster: 'c', auth: ['oauth2'],
    limits: {message_bytes: 1, in_flight: 1, deadline_ms: 1, idle_ms: 1}, channel: binding.channel,
  };
  const bare = {...makeEnvelope('res', 'session.hello', p, ''), id: text(asked, 'id')};
  const th1 = keys.makeTh1(utf8(hello), utf8(canonical(bare)), binding.bytes);
  const proof = psk ? {kind: 'hmac', v: b64(keys.proof(psk, th1))} : {kind: 'none'};
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

test('no credential is made before welcome was taken', () => {
  const handshake = new Handshake({mode: 'basic', suites: ['NONE'], psks: [OURS]}, TLS);
  handshake.hello();
  const taken = welcome('basic', [OURS], TLS, OURS);
  assert.throws(() => handshake.auth({method: 'oauth2', credential: 'x'}, taken), /no keys yet/);
});
