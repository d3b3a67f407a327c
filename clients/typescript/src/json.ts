// I-JSON in, canonical JSON out. JSON.parse takes the last of two members of one name and rounds integers, so that two
// readers of one signed text could see two messages; this reader refuses both.
// Source: docs/wire-3.0.md, section 2; RFC 7493; RFC 8785.

import {ScpError} from './errors.js';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

export const MAX_DEPTH = 64;
export const MAX_VALUES = 100_000;

const BLANKS = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const HEX = /[0-9a-fA-F]{4}/y;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t',
};
const LITERALS: readonly (readonly [string, Json])[] = [['true', true], ['false', false], ['null', null]];

export interface JsonLimits {
  depth?: number;
  values?: number;
}

/** Errors: ScpError E_PARSE  a rule of section 2.1 is broken; the message has the place, and nothing of the text. */
export function parse(text: Uint8Array | string, limits: JsonLimits = {}): Json {
  return new Reader(decode(text), limits.depth ?? MAX_DEPTH, limits.values ?? MAX_VALUES).whole();
}

function decode(text: Uint8Array | string): string {
  if (typeof text === 'string') return text;
  try {
    return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(text);
  } catch {
    throw new ScpError('E_PARSE', 'not UTF-8');
  }
}

class Reader {
  #place = 0;
  #values = 0;
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #maxValues: number;

  constructor(text: string, maxDepth: number, maxValues: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#maxValues = maxValues;
  }

  whole(): Json {
    this.#match(BLANKS);
    const value = this.#value(1);
    this.#match(BLANKS);
    if (this.#place !== this.#text.length) throw this.#refusal('text after the value');
    return value;
  }

  #value(depth: number): Json {
    if (depth > this.#maxDepth) throw this.#refusal(`deeper than ${this.#maxDepth}`);
    if (++this.#values > this.#maxValues) throw this.#refusal(`more than ${this.#maxValues} values`);
    const first = this.#text[this.#place];
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    if (first === '"') return this.#string();
    for (const [word, value] of LITERALS) {
      if (!this.#text.startsWith(word, this.#place)) continue;
      this.#place += word.length;
      return value;
    }
    return this.#number();
  }

  #object(depth: number): JsonObject {
    const object: JsonObject = {};
    const names = new Set<string>();
    this.#place++;
    if (this.#takes('}')) return object;
    do {
      this.#match(BLANKS);
      if (this.#text[this.#place] !== '"') throw this.#refusal('a member without a name');
      const name = this.#string();
      if (names.has(name)) throw this.#refusal('a member name that stands twice');
      names.add(name);
      if (!this.#takes(':')) throw this.#refusal('a name without a value');
      this.#match(BLANKS);
      setMember(object, name, this.#value(depth + 1));
    } while (this.#takes(','));
    if (!this.#takes('}')) throw this.#refusal('an object without an end');
    return object;
  }

  #array(depth: number): Json[] {
    const array: Json[] = [];
    this.#place++;
    if (this.#takes(']')) return array;
    do {
      this.#match(BLANKS);
      array.push(this.#value(depth + 1));
    } while (this.#takes(','));
    if (!this.#takes(']')) throw this.#refusal('an array without an end');
    return array;
  }

  #string(): string {
    let text = '';
    this.#place++;
    for (;;) {
      text += this.#match(PLAIN)?.[0] ?? '';
      const next = this.#text[this.#place++];
      if (next === '"') break;
      if (next !== '\\') throw this.#refusal('a text without an end, or a control character in it');
      text += this.#escape();
    }
    if (!text.isWellFormed()) throw this.#refusal('half of a surrogate pair');
    return text;
  }

  #escape(): string {
    const kind = this.#text[this.#place++];
    if (kind === 'u') {
      const digits = this.#match(HEX)?.[0];
      if (digits === undefined) throw this.#refusal('an escape without four digits');
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const plain = kind !== undefined && Object.hasOwn(ESCAPES, kind) ? ESCAPES[kind] : undefined;
    if (plain === undefined) throw this.#refusal('an unknown escape');
    return plain;
  }

  #number(): number {
    const found = this.#match(NUMBER);
    if (!found) throw this.#refusal('no JSON value');
    const value = Number(found[0]);
    const isInteger = found[1] === undefined && found[2] === undefined;
    if (isInteger && !Number.isSafeInteger(value)) throw this.#refusal('an integer beyond 2^53-1');
    if (!Number.isFinite(value)) throw this.#refusal('a number out of range');
    return value;
  }

  #takes(character: string): boolean {
    this.#match(BLANKS);
    if (this.#text[this.#place] !== character) return false;
    this.#place++;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#place;
    const found = pattern.exec(this.#text);
    if (found) this.#place += found[0].length;
    return found;
  }

  #refusal(rule: string): ScpError {
    return new ScpError('E_PARSE', `${rule}, at character ${this.#place}`);
  }
}

/** As a member of its own, whatever its name: `__proto__` is a name like others. */
function setMember(object: JsonObject, name: string, value: Json): void {
  Object.defineProperty(object, name, {value, writable: true, enumerable: true, configurable: true});
}

/**
 * RFC 8785. Members that are undefined are left out, as JSON.stringify does.
 * Errors: ScpError E_SHAPE  a value that is not JSON, or deeper than 64.
 */
export function canonical(value: unknown): string {
  return write(value, 1, String);
}

/** As it may be sent: a double from 2^53 on is written so that no reader takes it for an integer. Section 2.2. */
export function toWire(value: unknown): string {
  return write(value, 1, (number) => {
    const text = String(number);
    return /^-?[0-9]+$/.test(text) && !Number.isSafeInteger(number) ? `${text}.0` : text;
  });
}

function write(value: unknown, depth: number, writeNumber: (number: number) => string): string {
  if (depth > MAX_DEPTH) throw new ScpError('E_SHAPE', `a value deeper than ${MAX_DEPTH}`);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new ScpError('E_SHAPE', 'a number that JSON does not have');
    return Object.is(value, -0) ? '0' : writeNumber(value);
  }
  if (Array.isArray(value)) {
    return `[${Array.from(value, (one) => write(one, depth + 1, writeNumber)).join(',')}]`;
  }
  if (!isObject(value)) throw new ScpError('E_SHAPE', `a value of type ${typeof value} is not JSON`);
  const members = Object.keys(value).filter((name) => value[name] !== undefined).sort();
  return `{${members.map((name) => `${quote(name)}:${write(value[name], depth + 1, writeNumber)}`).join(',')}}`;
}

function quote(text: string): string {
  if (!text.isWellFormed()) throw new ScpError('E_SHAPE', 'a text with half of a surrogate pair');
  return JSON.stringify(text);
}

/** An object of members: no array, no Date, no Map. */
export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
