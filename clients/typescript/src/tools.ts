// Tools as the server describes them, and what their calls answer. Source: docs/wire-3.0.md, sections 9, 10 and 16.6.

import {ScpError} from './errors.js';
import type {Mode} from './suites.js';
import {isObject, type Json, type JsonObject} from './json.js';
import type {Receipt} from './receipts.js';
import {bytes, count, flag, list, member, nonEmpty, object, refuse, text, TOOL, ULID} from './shape.js';

const MAX_PAGE = 1000;
const MAX_PARTS = 100_000;
const LEAST_CHUNK = 1024;

/** A record of section 10, as it came: its members have the names of the protocol. */
export interface Capability {
  readonly id: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations: JsonObject;
  readonly version: string;
  readonly origin: JsonObject;
  readonly requires: {
    readonly scopes: readonly string[];
    readonly consent: 'never' | 'first' | 'always';
    readonly min_mode: Mode;
  };
  readonly limits: {readonly time_ms: number; readonly output_bytes: number};
  readonly pin: {readonly alg: 'sha256'; readonly h: string; readonly state: string};
}

export type Content =
  | {readonly type: 'text'; readonly mediaType: string; readonly text: string}
  | {readonly type: 'data'; readonly mediaType: string; readonly data: Uint8Array};

export interface ToolResult {
  readonly content: readonly Content[];
  /** Absent where the tool has none. */
  readonly structured?: Json;
  /** The tool itself failed: no refusal of the service. */
  readonly isError: boolean;
  readonly usage: {readonly ms: number; readonly bytes: number};
  readonly redactions: number;
  readonly audit: Receipt;
  /** Of a call with a key that had run before: the id of the call whose answer this is. */
  readonly repeats?: string;
}

export interface Progress {
  readonly done: number;
  readonly total?: number;
  readonly note?: string;
}

/** Errors: ScpError E_SHAPE  a record that breaks its form. */
export function readCapability(value: Json | undefined): Capability {
  if (!isObject(value)) refuse('capability', 'must be an object');
  text(value, 'id', TOOL);
  for (const name of ['name', 'description', 'version']) text(value, name);
  for (const name of ['inputSchema', 'annotations', 'origin']) object(value, name);
  const [requires, limits, pin] = [object(value, 'requires'), object(value, 'limits'), object(value, 'pin')];
  list(requires, 'scopes', MAX_PAGE);
  text(requires, 'consent', /^(never|first|always)$/);
  text(requires, 'min_mode', /^(simple|basic|encrypted|enterprise)$/);
  count(limits, 'time_ms');
  count(limits, 'output_bytes');
  text(pin, 'h', /^sha256:[0-9a-f]{64}$/);
  return value as unknown as Capability;
}

export function readCapabilities(p: JsonObject): Capability[] {
  return list(p, 'capabilities', MAX_PAGE).map(readCapability);
}

export function readProgress(p: JsonObject): Progress {
  const [done, total] = [member(p, 'done'), member(p, 'total')];
  if (typeof done !== 'number' || (total !== undefined && typeof total !== 'number')) {
    refuse('done', 'must be a number, and total too');
  }
  return {
    done,
    ...(total === undefined ? {} : {total}),
    ...(member(p, 'note') === undefined ? {} : {note: text(p, 'note')}),
  };
}

/** The bytes of content that come before their answer. A chunk counts as LEAST_CHUNK at least, since each takes memory. */
export class Streamed {
  readonly #parts = new Map<number, Buffer[]>();
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Errors: ScpError E_SHAPE; E_LIMIT  more than this client gathers. */
  take(p: JsonObject): void {
    const [index, data] = [count(p, 'index'), bytes(p, 'data')];
    this.#bytes += Math.max(data.length, LEAST_CHUNK);
    if (data.length === 0) refuse('data', 'must not be empty');
    if (this.#bytes > this.#most) throw new ScpError('E_LIMIT', `a streamed answer over ${this.#most} bytes`);
    const part = this.#parts.get(index);
    if (part) part.push(data);
    else this.#parts.set(index, [data]);
  }

  /** Of the part `index`, which its answer says to have `length` bytes. */
  part(index: number, length: number): Buffer {
    const whole = Buffer.concat(this.#parts.get(index) ?? []);
    if (whole.length !== length) refuse('bytes', 'must be what was streamed before');
    this.#parts.delete(index);
    return whole;
  }

  /** That every chunk has its place in the answer. */
  finish(): void {
    if (this.#parts.size > 0) refuse('content', 'must have a part for each that was streamed');
  }
}

/** Errors: ScpError E_SHAPE  an answer that breaks its form. */
export function readResult(p: JsonObject, streamed: Streamed): ToolResult {
  const usage = object(p, 'usage');
  const structured = member(p, 'structured');
  const content = list(p, 'content', MAX_PARTS).map((part, index) => readContent(part, index, streamed));
  streamed.finish();
  return {
    content,
    ...(structured === undefined ? {} : {structured}),
    isError: flag(p, 'is_error'),
    usage: {ms: count(usage, 'ms'), bytes: count(usage, 'bytes')},
    redactions: count(p, 'redactions'),
    audit: readReceipt(object(p, 'audit')),
    ...(member(p, 'repeats') === undefined ? {} : {repeats: text(p, 'repeats', ULID)}),
  };
}

function readContent(part: Json, index: number, streamed: Streamed): Content {
  if (!isObject(part)) refuse('content', 'must hold objects');
  const mediaType = nonEmpty(part, 'media_type', MAX_PAGE);
  const type = text(part, 'type', /^(text|data)$/);
  if (type === 'text') return {type, mediaType, text: text(part, 'text')};
  const data = member(part, 'streamed') === true ? streamed.part(index, count(part, 'bytes')) : bytes(part, 'data');
  return {type: 'data', mediaType, data};
}

function readReceipt(audit: JsonObject): Receipt {
  const sig = member(audit, 'sig') === undefined ? undefined : object(audit, 'sig');
  return {
    seq: count(audit, 'seq'),
    hash: text(audit, 'hash', /^(?:[0-9a-f]{64})?$/),
    ...(member(audit, 'node') === undefined ? {} : {node: text(audit, 'node')}),
    ...(sig ? {sig: {kid: text(sig, 'kid'), v: text(sig, 'v')}} : {}),
  };
}
