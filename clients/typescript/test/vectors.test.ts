// The vectors of tests/golden/wire, which three implementations pass. A file that is missing, or that nobody here reads,
// fails.

import assert from 'node:assert/strict';
import {createPublicKey, sign} from 'node:crypto';
import {readdirSync, readFileSync} from 'node:fs';
import {test} from 'node:test';

import {b64, hkdf, hmac, unb64, utf8} from '../dist/bytes.js';
import {canonical, isObject, type Json, type JsonObject, parse} from '../dist/json.js';
import * as keys from '../dist/keys.js';
import {holderText, thumbprint} from '../dist/holder.js';
import {checkProof, nodeText, type Trust} from '../dist/node_key.js';
import {checkReceipt, type Receipt} from '../dist/receipts.js';
import {RecordStream} from '../dist/records.js';
import {SUITES, type Suite} from '../dist/suites.js';
import {verifyToken} from '../dist/tokens.js';
import {answerOf, checkBinding, checkHolder, chooseProof, ReplayWindow} from './support/server_rules.ts';

const FOLDER = new URL('../../../tests/golden/wire/', import.meta.url);
const DAY = 86_400;

/** As the file has it; its reader knows the members. */
interface Case {
  name: string;
  [member: string]: any;
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** By file: what is done with each case, and how many there were when this was written. */
const READERS: Readonly<Record<string, readonly [number, (one: Case) => void]>> = {
  canonical: [71, canonicalCase],
  key_schedule: [24, scheduleCase],
  signatures: [20, signatureCase],
  records: [60, recordCase],
  replay: [11, replayCase],
  receipts: [16, (one) => assert.equal(checkReceipt(one['receipt'] as Receipt, receiptKey(one)), one['holds'])],
  proofs: [102, proofCase],
  holders: [69, holderCase],
  tokens: [52, (one) => assert.equal(answerOf(() => verifyToken(one['token'], tokenRules(one))), one['answer'])],
};

test('every file of vectors has a reader, and every reader its file', () => {
  const files = readdirSync(FOLDER).filter((name) => name !== 'token_key.pem').sort();
  assert.deepEqual(files, Object.keys(READERS).map((name) => `${name}.json`).sort());
});

for (const [file, [least, read]] of Object.entries(READERS)) {
  test(`${file}.json`, () => {
    const {cases} = JSON.parse(readFileSync(new URL(`${file}.json`, FOLDER), 'utf8')) as {cases: Case[]};
    assert.ok(cases.length >= least, `${cases.length} cases`);
    for (const one of cases) {
      try {
        read(one);
      } catch (error) {
        throw new Error(`${file}: ${one.name}`, {cause: error});
      }
    }
  });
}

function canonicalCase(one: Case): void {
  const input = hex(one['input']);
  if (one['refused'] === undefined) assert.equal(hexOf(utf8(canonical(parse(input)))), one['canonical']);
  else assert.equal(answerOf(() => parse(input)), one['refused']);
}

function scheduleCase(one: Case): void {
  const psk = keys.makePsk(utf8(one['secret']), utf8(one['kdf_salt']));
  const th1 = keys.makeTh1(hex(one['hello']), hex(one['welcome0']), hex(one['binding']));
  const made = keys.schedule(th1, hex(one['dh']), psk);
  const thAuth = keys.makeThAuth(th1, hex(one['auth0']));
  const th2 = keys.makeTh2(thAuth, hex(one['ready0']));
  const thR = keys.makeThR(th2, one['epoch'], hex(one['eph_c']), hex(one['eph_s']));
  const inHex = (of: keys.Keys): object => Object.fromEntries(Object.entries(of).map(([label, key]) => [label, hexOf(key)]));
  const found = {
    psk: hexOf(psk), th1: hexOf(th1), keys: inHex(made), proof: hexOf(keys.proof(psk, th1)),
    api_key_credential: keys.apiKeyCredential(one['api_key'], th1), th_auth: hexOf(thAuth),
    confirm_c: hexOf(hmac(made['confirm c'], thAuth)), th2: hexOf(th2), confirm_s: hexOf(hmac(made['confirm s'], th2)),
    th_r: hexOf(thR), next_keys: inHex(keys.schedule(thR, hex(one['dh2']), made.export)),
  };
  assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((name) => [name, one[name]])));
}

function signatureCase(one: Case): void {
  const text = canonical(parse(one['message']));
  assert.equal(hexOf(utf8(text)), one['canonical']);
  assert.equal(b64(keys.signature(hex(one['key']), hex(one['transcript']), text)), one['v']);
}

function recordCase(one: Case): void {
  const {aead} = SUITES[one['suite'] as Suite];
  assert.ok(aead);
  const fields = {aead, key: hex(one['key']), iv: hex(one['iv']), transcript: hex(one['binding']), epoch: one['epoch'] as number};
  const stream = (): RecordStream => new RecordStream(fields, BigInt(one['counter']));
  if (one['refused'] !== undefined) {
    assert.equal(answerOf(() => stream().open(hex(one['record']))), one['refused']);
    return;
  }
  assert.equal(hexOf(stream().seal(hex(one['plaintext']))), one['record']);
  assert.equal(hexOf(stream().open(hex(one['record']))), one['plaintext']);
}

function replayCase(one: Case): void {
  const window = new ReplayWindow(one['window_ms']);
  for (const {now, ts, session, nonce, answer} of one['steps'] as {now: number; ts: number; session: string; nonce: string; answer: string}[]) {
    assert.equal(window.admit(now, ts, session, nonce), answer);
  }
}

function proofCase(one: Case): void {
  if (one['side'] === 'server') {
    assert.equal(chooseProof(one['proofs'], one['mode'], one['node_key'], one['secret']), one['kind']);
    return;
  }
  const secrets = (one['secrets'] ?? []) as string[];
  const psks = secrets.map((secret) => keys.makePsk(utf8(secret), utf8(one['kdf_salt'])));
  const trust: Trust = {mode: one['mode'] ?? 'simple', pins: one['pins'], psks};
  if (one['side'] === 'transcript') {
    const welcome = parse(one['welcome']) as JsonObject;
    const {proof: _, ...rest} = welcome['p'] as JsonObject;
    const th1 = keys.makeTh1(utf8(one['hello']), utf8(canonical({...welcome, p: rest})), utf8(''));
    assert.equal(hexOf(th1), one['th1']);
    checkProof(welcome['p'] as JsonObject, th1, trust);
    return;
  }
  assert.equal(answerOf(() => checkProof(one['welcome'], hex(one['th1']), trust)), one['answer']);
  if (one['answer'] !== 'ok') return;
  assert.equal(hexOf(checkProof(one['welcome'], hex(one['th1']), trust)), one['psk']);
  if (one['private_key_pem'] === undefined) return;
  assert.equal(b64(sign(null, nodeText(hex(one['th1'])), one['private_key_pem'])), one['welcome'].proof.v);
}

function receiptKey(one: Case): {publicKey: string} | {secret: string} {
  return one['secret'] === undefined ? {publicKey: one['public_key']} : {secret: one['secret']};
}

function holderCase(one: Case): void {
  const row = one as unknown as {holder?: Json; claims: JsonObject; th1: string; credential: string; certificate?: string; required: boolean; signed?: string; thumbprint?: string};
  const th1 = hex(row.th1);
  assert.equal(answerOf(() => {
    const jkt = row.holder === undefined ? undefined : checkHolder(row.holder, th1, row.credential);
    checkBinding(row.claims, {jkt, 'x5t#S256': row.certificate}, row.required);
  }), one['answer']);
  if (row.signed === undefined) return;
  assert.equal(hexOf(holderText(th1, row.credential)), row.signed);
  assert.ok(isObject(row.holder) && isObject(row.holder['jwk']));
  assert.equal(thumbprint(row.holder['jwk']), row.thumbprint);
}

function tokenRules(one: Case): Parameters<typeof verifyToken>[1] {
  const secret = hkdf(utf8(one['jwt_secret']), utf8(one['kdf_salt']), 'scp3 client jwt', 32);
  const key = one['alg'] === 'HS256' ? {alg: 'HS256', secret} as const : {alg: 'RS256', publicKey: createPublicKey(one['public_key_pem'])} as const;
  return {key, typ: one['typ'], issuer: one['issuer'], audience: one['audience'], now: one['now'], leeway: one['leeway'], longestLife: DAY};
}

test('base64url is taken in its one form', () => {
  assert.equal(hexOf(unb64('_-8') ?? utf8('')), 'ffef');
  for (const bad of ['_-8=', '/+8', '_-9', 'A', '_ 8']) assert.equal(unb64(bad), undefined, bad);
});
