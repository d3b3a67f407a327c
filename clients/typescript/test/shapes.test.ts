// Whatever stands in the place of a member: the readers of what comes from outside take it or refuse it with E_SHAPE, and
// never fail in another way. And the reader of JSON against the one of Node, over texts that were broken at random.

import assert from 'node:assert/strict';
import {readdirSync, readFileSync} from 'node:fs';
import {test} from 'node:test';
import {isDeepStrictEqual} from 'node:util';

import {makeEnvelope, readEnvelope, readRefusal} from '../dist/envelope.js';
import {ScpError} from '../dist/errors.js';
import {canonical, isObject, type Json, type JsonObject, parse, toWire} from '../dist/json.js';
import {checkReceipt, type Receipt} from '../dist/receipts.js';
import {readCapability, readProgress, readResult, Streamed} from '../dist/tools.js';
import {resultOf} from './support/server.ts';

const OTHERS: readonly Json[] = [
  null, true, false, -1, 0, 1, 1.5, 2 ** 53, 1e300, '', 'x', '__proto__', '=', '\u0000', 'x'.repeat(9000), [], [null], [[]], [{}], {},
  {x: 1}, {type: 'text'}, ['x'], [1],
];
const CORPUS = new URL('../../../fuzz/corpus/', import.meta.url);
const ROUNDS = 100;

/** Every value that differs from `whole` in one place: another value there, or none. */
function* changed(whole: Json): Generator<Json> {
  if (Array.isArray(whole)) {
    for (const [place, value] of whole.entries()) for (const other of changed(value)) yield whole.with(place, other);
  } else if (isObject(whole)) {
    for (const [name, value] of Object.entries(whole)) {
      const rest: JsonObject = {...whole};
      delete rest[name];
      yield rest;
      for (const other of changed(value)) yield {...whole, [name]: other};
    }
  }
  yield* OTHERS;
}

const capability: JsonObject = {
  id: 'sql.query', name: 'query', description: '', inputSchema: {type: 'object'}, annotations: {readOnlyHint: true}, version: '1',
  origin: {kind: 'local'}, requires: {scopes: ['tool:invoke:sql.query'], consent: 'never', min_mode: 'simple'},
  limits: {time_ms: 1, output_bytes: 1}, pin: {alg: 'sha256', h: `sha256:${'a'.repeat(64)}`, state: 'pinned'},
};
const content = [{type: 'text', media_type: 'a/b', text: ''}, {type: 'data', media_type: 'a/b', data: 'AAAA'}];
const audit = {seq: 1, hash: 'a'.repeat(64), node: 'n', sig: {kid: 'secret', v: 'AAAA'}};
const asObject = (value: Json): JsonObject => (isObject(value) ? value : {});

for (const [name, whole, read] of [
  ['envelope', {...makeEnvelope('evt', 'tool.progress', {}, ''), seq: 0, sig: {alg: 'HS256', kid: 's', v: 'A'.repeat(43)}} as unknown as Json, readEnvelope],
  ['err', {code: 'E_RATE', num: 4290, msg: '', retry_ms: 1, data: {}}, (value) => readRefusal(asObject(value))],
  ['capability', capability, readCapability],
  ['progress', {done: 1, total: 2, note: ''}, (value) => readProgress(asObject(value))],
  ['chunk', {index: 0, data: 'AAAA'}, (value) => new Streamed(9).take(asObject(value))],
  ['result', resultOf({}, {content, audit}), (value) => readResult(asObject(value), new Streamed(9))],
] satisfies [string, Json, (value: Json) => unknown][]) {
  test(`${name}: another value in each place`, () => {
    if (name !== 'chunk') read(whole);
    let refused = 0;
    for (const other of changed(whole)) {
      try {
        read(other);
      } catch (error) {
        assert.ok(error instanceof ScpError && ['E_SHAPE', 'E_LIMIT'].includes(error.code), `${canonical(other).slice(0, 300)}: ${String(error)}`);
        refused++;
      }
    }
    assert.ok(refused > OTHERS.length, `${refused} refused`);
  });
}

test('receipt: another value in each place is no receipt', () => {
  for (const other of changed(audit)) assert.equal(checkReceipt(other as unknown as Receipt, {secret: 'x'}), false);
});

/** A generator of numbers that is the same in each run (SplitMix32). */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % below;
  };
}

function broken(text: Buffer, random: (below: number) => number): Buffer {
  const bytes = Buffer.from(text);
  const place = random(bytes.length + 1);
  const piece = Buffer.from(['{', '}', '[', ']', '"', '\\', ',', ':', '0', '-', 'e', '.', '\u0000', 'é', '\\ud800', '"a":1,', 'null'][random(17)] ?? '');
  switch (random(4)) {
    case 0: return Buffer.concat([bytes.subarray(0, place), piece, bytes.subarray(place)]);
    case 1: return Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1 + random(4))]);
    case 2: return bytes.subarray(0, place);
    default:
      if (place < bytes.length) bytes[place] = random(256);
      return bytes;
  }
}

test('what the reader takes, Node\'s reader takes as the same', () => {
  const random = chance(3);
  let [taken, refused] = [0, 0];
  for (const folder of ['json', 'envelope', 'handshake']) {
    for (const file of readdirSync(new URL(`${folder}/`, CORPUS)).sort()) {
      const seed = readFileSync(new URL(`${folder}/${file}`, CORPUS));
      if (seed.length > 10_000) continue;
      for (let round = 0; round < ROUNDS; round++) {
        const text = round === 0 ? seed : broken(seed, random);
        let value: Json;
        try {
          value = parse(text);
        } catch (error) {
          assert.ok(error instanceof ScpError && error.code === 'E_PARSE', String(error));
          refused++;
          continue;
        }
        taken++;
        assert.ok(isDeepStrictEqual(value, JSON.parse(text.toString('utf8'))), text.toString('latin1'));
        assert.equal(canonical(parse(toWire(value))), canonical(value));
      }
    }
  }
  assert.ok(taken > 200 && refused > 200, `${taken} taken, ${refused} refused`);
});
