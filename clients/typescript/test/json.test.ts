import assert from 'node:assert/strict';
import {test} from 'node:test';

import {ScpError} from '../dist/errors.js';
import {canonical, type Json, type JsonObject, MAX_VALUES, parse, toWire} from '../dist/json.js';

const refused = (code: string) => (error: unknown): boolean => error instanceof ScpError && error.code === code;

test('a member named __proto__ is a member like others', () => {
  const value = parse('{"__proto__":{"polluted":true},"constructor":1}') as JsonObject;
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(({} as {polluted?: boolean}).polluted, undefined);
  assert.equal(canonical(value), '{"__proto__":{"polluted":true},"constructor":1}');
  assert.throws(() => parse('{"__proto__":1,"__proto__":2}'), refused('E_PARSE'));
});

test('as many values as the protocol allows, and not one more', () => {
  const list = (count: number): string => `[${Array(count).fill('0').join(',')}]`;
  assert.equal((parse(list(MAX_VALUES - 1)) as Json[]).length, MAX_VALUES - 1);
  assert.throws(() => parse(list(MAX_VALUES)), refused('E_PARSE'));
});

test('what is sent is read back as the same, and no double as an integer', () => {
  for (const number of [0, -0, 1, -1.5, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e20, 123456789012345680000, 1e21, 5e-324, 1.7976931348623157e308]) {
    assert.equal(parse(toWire(number)), number === 0 ? 0 : number);
  }
  assert.equal(toWire({a: 2 ** 53, b: 1}), '{"a":9007199254740992.0,"b":1}');
  assert.equal(canonical({a: 2 ** 53}), '{"a":9007199254740992}');
  assert.throws(() => parse('9007199254740992'), refused('E_PARSE'));
});

test('members that are undefined are left out', () => {
  assert.equal(canonical({b: undefined, a: 1}), '{"a":1}');
});

test('what is not JSON is not written', () => {
  const endless: JsonObject = {};
  endless['self'] = endless;
  const values: unknown[] = [
    undefined, () => 1, Symbol('x'), 1n, Number.NaN, Infinity, new Date(0), new Map(), [undefined], Array(1), '\ud800', {'\udc00': 1}, endless,
  ];
  for (const value of values) assert.throws(() => canonical(value), refused('E_SHAPE'));
  assert.equal(canonical(nested(64)), '['.repeat(64) + ']'.repeat(64));
  assert.throws(() => canonical(nested(65)), refused('E_SHAPE'));
});

function nested(depth: number): Json {
  let value: Json = [];
  for (let level = 1; level < depth; level++) value = [value];
  return value;
}

test('a refusal tells the place and nothing of the text', () => {
  assert.throws(() => parse('{"secret":"s3cr3t","secret":1}'), (error: Error) => error.message.includes('at character') && !error.message.includes('s3cr3t'));
});
