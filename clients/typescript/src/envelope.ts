// The envelope of every message, and an err as it comes in one. Source: docs/wire-3.0.md, section 3.

import {randomBytes} from 'node:crypto';

import {b64} from './bytes.js';
import {isCode, REFUSALS, ScpError} from './errors.js';
import {isObject, type Json, type JsonObject} from './json.js';
import {bytes, count, member, object, onlyMembers, OP, refuse, text, ULID} from './shape.js';

export const VERSION = '3.0';
/** The id of an err about a message whose own could not be read. */
export const NO_ID = '0'.repeat(26);
const TYPES = ['req', 'res', 'err', 'evt', 'cancel'] as const;
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const NONCE_BYTES = 16;
const SIGNATURE_BYTES = 32;
const MESSAGE_CHARACTERS = 1024;

export type MessageType = (typeof TYPES)[number];

export interface Meta {
  deadline_ms?: number | undefined;
  traceparent?: string | undefined;
}

/** What the client sends. */
export interface Envelope {
  v: string;
  t: MessageType;
  id: string;
  op: string;
  ts: number;
  n: string;
  aud: string;
  p: object;
  meta?: Meta;
}

/** What came in: its members, and `whole` with those that are unknown, which are signed too. */
export interface Received {
  readonly t: MessageType;
  readonly id: string;
  readonly op: string;
  readonly ts: number;
  readonly aud: string;
  readonly seq: number;
  readonly p: JsonObject;
  readonly sig: {readonly alg: string; readonly kid: string; readonly v: Buffer} | undefined;
  readonly whole: JsonObject;
}

export function makeEnvelope(t: MessageType, op: string, p: object, aud: string, meta?: Meta): Envelope {
  const envelope: Envelope = {v: VERSION, t, id: makeUlid(), op, ts: Date.now(), n: b64(randomBytes(NONCE_BYTES)), aud, p};
  return meta === undefined ? envelope : {...envelope, meta};
}

export function makeUlid(): string {
  const random = BigInt(`0x${randomBytes(10).toString('hex')}`);
  let number = (BigInt(Date.now()) << 80n) | random;
  let id = '';
  for (let place = 0; place < 26; place++) {
    id = ALPHABET.charAt(Number(number & 31n)) + id;
    number >>= 5n;
  }
  return id;
}

/** Errors: ScpError E_SHAPE  a member that is missing or wrong. */
export function readEnvelope(value: Json): Received {
  if (!isObject(value)) refuse('message', 'must be an object');
  text(value, 'v', /^3\.0$/);
  const t = TYPES.find((one) => one === text(value, 't')) ?? refuse('t', 'is no type of message');
  const id = text(value, 'id', ULID);
  const op = text(value, 'op', OP);
  bytes(value, 'n', NONCE_BYTES);
  return {
    t, id, op,
    ts: count(value, 'ts'),
    aud: text(value, 'aud'),
    seq: t === 'evt' ? count(value, 'seq') : 0,
    p: object(value, 'p'),
    sig: readSignature(value),
    whole: value,
  };
}

function readSignature(envelope: JsonObject): Received['sig'] {
  if (member(envelope, 'sig') === undefined) return undefined;
  const sig = object(envelope, 'sig');
  onlyMembers(sig, 'sig', ['alg', 'kid', 'v']);
  return {alg: text(sig, 'alg'), kid: text(sig, 'kid'), v: bytes(sig, 'v', SIGNATURE_BYTES)};
}

/** `of` without these members. */
export function without(of: JsonObject, ...names: string[]): JsonObject {
  return Object.fromEntries(Object.entries(of).filter(([name]) => !names.includes(name)));
}

/** What an err says. Errors: ScpError E_SHAPE  it breaks its form, or its code is unknown. */
export function readRefusal(p: JsonObject): ScpError {
  const code = text(p, 'code');
  if (!isCode(code) || count(p, 'num') !== REFUSALS[code].num) {
    refuse('code', 'is no refusal of the protocol, or has another num');
  }
  const words = text(p, 'msg').slice(0, MESSAGE_CHARACTERS);
  return new ScpError(code, words, {
    from: 'server',
    ...(member(p, 'retry_ms') === undefined ? {} : {retryMs: count(p, 'retry_ms')}),
    ...(member(p, 'data') === undefined ? {} : {data: object(p, 'data')}),
  });
}
