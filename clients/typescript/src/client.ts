// A client of the service: connect, list what there is, call it, disconnect.
//
//   const client = new Client({url: 'ws://127.0.0.1:7443', mode: 'simple', apiKey});
//   await client.connect();
//   const answer = await client.invokeTool('sql.query', {sql: 'SELECT 42'});
//
// Source: docs/wire-3.0.md, sections 4.8, 6 and 9.

import {generateKeyPairSync} from 'node:crypto';
import {setTimeout as sleep} from 'node:timers/promises';

import {ConnectionLost, ScpError} from './errors.js';
import type {Meta} from './envelope.js';
import type {Ready, Shown, Welcome} from './handshake.js';
import {proveHolder, publicJwk} from './holder.js';
import type {JsonObject} from './json.js';
import {apiKeyCredential} from './keys.js';
import {type ClientOptions, readOptions, type Settings} from './options.js';
import {Session, type State} from './session.js';
import {count, member, nonEmpty, text, ULID} from './shape.js';
import type {Mode, Suite} from './suites.js';
import {checkSessionToken} from './tokens.js';
import {
  type Capability, type Progress, readCapabilities, readCapability, readProgress, readResult, Streamed, type ToolResult,
} from './tools.js';
import {Wire} from './wire.js';

const MAX_PAGES = 1000;
const MAX_DEADLINE_MS = 300_000;
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TOKEN_CHARACTERS = 8192;
const IDEMPOTENCY_KEY = /^[!-~]{1,128}$/;
/** Of a call that names no deadline, for the attempts to find it again; and beyond a deadline, for its answer to come. */
const DEADLINE_MS = 30_000;
const GRACE_MS = 5000;
const FLOW_MS = 3_600_000;
/** Between two such attempts; each pause is twice the last. */
const LEAST_REPEAT_MS = 100;
const MOST_REPEAT_MS = 2000;
const LEAST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 10_000;

/** What the server said of the session. */
export interface SessionInfo {
  readonly sessionId: string;
  readonly nodeId: string;
  readonly cluster: string;
  readonly mode: Mode;
  readonly suite: Suite;
  readonly principal: {readonly sub: string; readonly iss: string};
  readonly scopes: readonly string[];
  /** Milliseconds since 1970: when calls are refused unless the session was refreshed. */
  readonly expiresAt: number;
  readonly limits: Welcome['limits'];
}

export interface InvokeOptions {
  /** Milliseconds that the tool may take, 1 to 300000; the server's default without. */
  deadlineMs?: number | undefined;
  /** Ends the wait with its reason, and the call on the server. */
  signal?: AbortSignal | undefined;
  /** What it throws ends the call. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Every check but consent, and the tool does nothing. */
  dryRun?: boolean | undefined;
  /** Large content comes in pieces; the answer has it whole. */
  stream?: boolean | undefined;
  /** W3C Trace Context. */
  traceparent?: string | undefined;
  /**
   * 1 to 128 characters from ! to ~: the server does a call with a key once. So when its connection is lost, it is sent
   * again on a new one, until its outcome is known or its deadline over.
   */
  idempotencyKey?: string | undefined;
}

/** Of a run of a workflow. */
export interface FlowOptions {
  /** What docs/schemas/workflow.json describes. */
  workflow?: JsonObject | undefined;
  input?: JsonObject | undefined;
  /** For its end; an hour. */
  patienceMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** For each step that ends. What it throws ends the wait. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Calls may run side by side. It keeps its secrets to itself: no error, and nothing that is printed of it, has one. */
export class Client {
  readonly #settings: Settings;
  #session: Session | undefined;
  #connecting = false;
  #reconnecting: Promise<unknown> | undefined;
  #leaving = false;
  #token: string | undefined;
  /** Of this client alone, and nowhere but here: by it a session is followed whose connection was lost. */
  readonly #sessionKey = generateKeyPairSync('ed25519').privateKey;
  #sessionToken: string | undefined;
  #expiresAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Errors: TypeError  names the option that is not safe or not whole. */
  constructor(options: ClientOptions) {
    this.#settings = readOptions(options);
  }

  get state(): State | 'IDLE' {
    return this.#session?.state ?? 'IDLE';
  }

  /** How often the keys of this session were made anew. */
  get epoch(): number {
    return this.#open().epoch;
  }

  /**
   * Connects, shakes hands and authenticates; may be called again after the session has ended. Errors: ScpError  the
   * server's refusal, or a server that this client does not trust; ConnectionLost; what the function `token` throws.
   */
  async connect(): Promise<SessionInfo> {
    this.#leaving = false;
    return this.#dial();
  }

  /**
   * A new connection in place of one that was lost, by the token of its session where the server takes it and else by the
   * credential. Errors: as connect().
   */
  async reconnect(): Promise<SessionInfo> {
    this.#leaving = false;
    return this.#dialAgain();
  }

  async #dialAgain(): Promise<SessionInfo> {
    const isTaken = this.#session?.welcome.methods.includes('session') && this.#expiresAt > Date.now();
    const former = isTaken ? this.#sessionToken : undefined;
    if (former === undefined) return this.#dial();
    try {
      return await this.#dial(former);
    } catch (error) {
      if (!isSpent(error)) throw error;
      return this.#dial();
    }
  }

  async #dial(former?: string): Promise<SessionInfo> {
    if (this.#connecting || this.state === 'READY' || this.state === 'REKEYING') {
      throw new ScpError('E_STATE', 'the client is connected already');
    }
    this.#connecting = true;
    clearTimeout(this.#timer);
    try {
      if (former === undefined) this.#token = await this.#freshToken();
      const {url, tls, offer, connectMs, answerMs, rekeyAfter} = this.#settings;
      const wire = await Wire.dial(url, tls, connectMs);
      const session = await Session.open(wire, {
        offer, answerMs, rekeyAfter,
        show: (th1) => ({...(former === undefined ? this.#show(th1) : this.#follow(th1, former)), session_key: publicJwk(this.#sessionKey)}),
        checkReady: (ready, welcome) => this.#checkToken(ready.sessionToken, ready, welcome),
      });
      this.#session = session;
      this.#expiresAt = session.ready.expiresAt;
      this.#sessionToken = session.ready.sessionToken;
      this.#keepFresh(session, this.#pause());
      return this.info;
    } finally {
      this.#connecting = false;
    }
  }

  get info(): SessionInfo {
    const {ready, welcome} = this.#open();
    const {nodeId, cluster, suite, limits} = welcome;
    const {sessionId, principal, scopes} = ready;
    const {mode} = this.#settings.offer;
    return {sessionId, nodeId, cluster, mode, suite, principal, scopes, expiresAt: this.#expiresAt, limits};
  }

  /** All that the caller may see, page after page; `filter` is a prefix of their ids. Errors: ScpError, ConnectionLost. */
  async listCapabilities(options: {filter?: string | undefined; signal?: AbortSignal | undefined} = {}): Promise<Capability[]> {
    const session = this.#open();
    const found: Capability[] = [];
    let cursor: string | undefined;
    let gathered = 0;
    for (let page = 0; page < MAX_PAGES && gathered <= this.#settings.maxGatheredBytes; page++) {
      const p = await session.request('cap.list', {filter: options.filter, cursor}, {signal: options.signal});
      gathered += JSON.stringify(p).length;
      found.push(...this.#read(session, () => readCapabilities(p)));
      cursor = this.#read(session, () => (member(p, 'next') === undefined ? undefined : text(p, 'next')));
      if (cursor === undefined) return found;
    }
    throw new ScpError('E_LIMIT', 'a list of tools without an end');
  }

  async getCapability(tool: string, options: {signal?: AbortSignal | undefined} = {}): Promise<Capability> {
    const session = this.#open();
    const p = await session.request('cap.get', {tool}, options);
    return this.#read(session, () => readCapability(member(p, 'capability')));
  }

  /**
   * Calls `tool`, whose id is `<ns>.<name>`. Errors: ScpError  the service refused, and says by which rule; ConnectionLost
   * whether the call ran is not known; TypeError  an option; the reason of `signal`; what `onProgress` throws.
   */
  async invokeTool(tool: string, args: object = {}, options: InvokeOptions = {}): Promise<ToolResult> {
    const {idempotencyKey, deadlineMs, signal} = options;
    if (idempotencyKey === undefined) return this.#invoke(tool, args, options);
    if (!IDEMPOTENCY_KEY.test(idempotencyKey)) throw new TypeError('idempotencyKey: must be 1 to 128 characters from ! to ~');
    const until = Date.now() + (deadlineMs ?? DEADLINE_MS) + GRACE_MS;
    return this.#untilKnown(() => this.#invoke(tool, args, options), until, signal);
  }

  /** Does `work` again, on a new connection, while connections are lost. What it asks for is done once. Section 9.1. */
  async #untilKnown<T>(work: () => Promise<T>, until: number, signal: AbortSignal | undefined): Promise<T> {
    let lost = false;
    for (let pause = LEAST_REPEAT_MS; ; pause = Math.min(2 * pause, MOST_REPEAT_MS)) {
      try {
        if (lost) await this.#reopen();
        return await work();
      } catch (error) {
        const wait = isLost(error) ? pause : lost ? busyMs(error) : undefined;
        lost ||= isLost(error);
        if (wait === undefined || this.#leaving || Date.now() + wait >= until) throw error;
        await sleep(wait);
        signal?.throwIfAborted();
      }
    }
  }

  /**
   * Whether a call ran, by its id, in the words of section 9.2. Errors: TypeError  no id; ScpError, ConnectionLost.
   */
  async outcomeOf(id: string, options: {signal?: AbortSignal | undefined} = {}): Promise<JsonObject> {
    if (!ULID.test(id)) throw new TypeError('id: must be a ULID');
    const session = this.#open();
    const p = await session.request('tool.outcome', {id}, options);
    this.#read(session, () => text(p, 'state', /^(never|running|finished|unknown)$/));
    return p;
  }

  /**
   * Runs a workflow to its end, or goes on with a run where there is no `workflow`. A lost connection is no reason to
   * start: it is sent again, and no step is done twice. Errors: as invokeTool(). Source: section 19.
   */
  async flowRun(run: string, options: FlowOptions = {}): Promise<JsonObject> {
    if (!ULID.test(run)) throw new TypeError('run: must be a ULID');
    const {workflow, input, onProgress, signal} = options;
    const stop = new AbortController();
    const ends = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const event = (_op: string, payload: JsonObject): void => {
      const progress = readProgress(payload);
      try {
        onProgress?.(progress);
      } catch (error) {
        stop.abort(error);
      }
    };
    const work = (): Promise<JsonObject> => this.#open().request('flow.run', {run, workflow, input}, {event, signal: ends});
    return this.#untilKnown(work, Date.now() + (options.patienceMs ?? FLOW_MS), ends);
  }

  /** How far a run of one's own is. Errors: TypeError  no id; ScpError, ConnectionLost. */
  async flowGet(run: string): Promise<JsonObject> {
    return this.request('flow.get', {run});
  }

  /** Takes a run back: what is done is undone. Errors: as flowGet(). */
  async flowCancel(run: string): Promise<JsonObject> {
    return this.request('flow.cancel', {run});
  }

  /** A new connection in place of one that has ended. Calls at the same time share it. */
  async #reopen(): Promise<void> {
    if (this.state === 'READY' || this.state === 'REKEYING') return;
    this.#reconnecting ??= this.#dialAgain().finally(() => {
      this.#reconnecting = undefined;
    });
    await this.#reconnecting;
    if (this.#leaving) await this.disconnect();
  }

  async #invoke(tool: string, args: object, options: InvokeOptions): Promise<ToolResult> {
    const session = this.#open();
    const meta = readMeta(options);
    const streamed = new Streamed(this.#settings.maxGatheredBytes);
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const event = (op: string, payload: JsonObject): void => {
      if (op === 'tool.chunk') return streamed.take(payload);
      const progress = readProgress(payload);
      try {
        options.onProgress?.(progress);
      } catch (error) {
        stop.abort(error);
      }
    };
    const {dryRun, stream, idempotencyKey} = options;
    const p = await session.request('tool.invoke', {tool, args, dry_run: dryRun, stream, idem: idempotencyKey}, {meta, event, signal});
    return this.#read(session, () => readResult(p, streamed));
  }

  /**
   * Any other operation of section 9, in its own words. Errors: ScpError, ConnectionLost; TypeError  one of the session's
   * own.
   */
  async request(op: string, payload: object = {}, options: {signal?: AbortSignal | undefined} = {}): Promise<JsonObject> {
    if (op.startsWith('session.') && op !== 'session.ping') {
      throw new TypeError('op: the client itself keeps its session');
    }
    return this.#open().request(op, payload, options);
  }

  /**
   * A new session token, by a fresh credential where there is one; the client does it by itself in time. Returns when
   * it ends, in milliseconds since 1970. Errors: ScpError, ConnectionLost; what the function `token` throws.
   */
  async refresh(): Promise<number> {
    const session = this.#open();
    this.#token = await this.#freshToken();
    const p = await session.ask('session.refresh', this.#token === undefined ? {} : this.#show(session.welcome.th1));
    this.#read(session, () => {
      const token = nonEmpty(p, 'session_token', TOKEN_CHARACTERS);
      this.#checkToken(token, session.ready, session.welcome);
      this.#sessionToken = token;
      this.#expiresAt = count(p, 'expires_at');
    });
    return this.#expiresAt;
  }

  /**
   * New keys, in mode encrypted; the client does it by itself in time. Calls under way go on. Errors: ScpError E_STATE  a
   * suite without keys; others as refresh().
   */
  async rekey(): Promise<void> {
    await this.#open().rekey();
  }

  /** Ends the session, and with it calls that are under way. Nothing to do where it has ended. */
  async disconnect(): Promise<void> {
    this.#leaving = true;
    clearTimeout(this.#timer);
    if (this.state === 'READY' || this.state === 'REKEYING') await this.#open().close();
  }

  #open(): Session {
    if (!this.#session) throw new ScpError('E_STATE', 'the client is not connected');
    return this.#session;
  }

  /** An answer that breaks its form ends the session: what else its server says is no better. */
  #read<T>(session: Session, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof ScpError) session.abort(error);
      throw error;
    }
  }

  async #freshToken(): Promise<string | undefined> {
    const {token} = this.#settings;
    const fresh = typeof token === 'function' ? await token() : token;
    if (fresh !== undefined && (typeof fresh !== 'string' || fresh === '' || fresh.length > TOKEN_CHARACTERS)) {
      throw new TypeError(`token: must be a text of at most ${TOKEN_CHARACTERS} characters`);
    }
    return fresh;
  }

  #show(th1: Uint8Array): Shown {
    const {apiKey, holderKey, offer} = this.#settings;
    const token = this.#token;
    if (token !== undefined) {
      const shown = {method: offer.mode === 'enterprise' ? 'oauth2' : 'jwt', credential: token};
      return holderKey ? {...shown, holder: proveHolder(holderKey, th1, token)} : shown;
    }
    return apiKey ? {method: 'api_key', credential: apiKeyCredential(apiKey, th1)} : {method: 'mtls', credential: ''};
  }

  /** Section 6.8: good once, and with the key that the token is bound to. */
  #follow(th1: Uint8Array, former: string): Shown {
    return {method: 'session', credential: former, holder: proveHolder(this.#sessionKey, th1, former)};
  }

  #checkToken(token: string, {sessionId}: Ready, {nodeId, cluster, th1}: Welcome): void {
    const {tokenKey} = this.#settings;
    if (tokenKey) checkSessionToken(token, tokenKey, {nodeId, cluster, sessionId, th1});
  }

  // ---- The session token's life ----

  /** Two thirds of what is left of it. */
  #pause(): number {
    return Math.max((this.#expiresAt - Date.now()) * (2 / 3), LEAST_PAUSE_MS);
  }

  #keepFresh(session: Session, pause: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refreshAgain(session), Math.min(pause, 2 ** 31 - 1));
    this.#timer.unref();
  }

  /** A refresh that fails is tried again; calls then say E_EXPIRED, which is the one place where anybody looks. */
  async #refreshAgain(session: Session): Promise<void> {
    if (session !== this.#session || session.state === 'CLOSED' || session.state === 'FAILED') return;
    const before = this.#expiresAt;
    try {
      await this.refresh();
    } catch (error) {
      if (isSpent(error) && typeof this.#settings.token === 'string') return; // It is not shown again.
      const retryMs = error instanceof ScpError ? (error.retryMs ?? 0) : 0;
      const quarter = Math.min((this.#expiresAt - Date.now()) / 4, MOST_PAUSE_MS);
      this.#keepFresh(session, Math.max(quarter > 0 ? quarter : MOST_PAUSE_MS, retryMs, LEAST_PAUSE_MS));
      return;
    }
    // Nothing later is to be had: the session ends then, or its only credential.
    if (this.#expiresAt > before || typeof this.#settings.token === 'function') this.#keepFresh(session, this.#pause());
  }
}

/** Unless the server ended the connection for a reason of its own. */
function isLost(error: unknown): boolean {
  return error instanceof ConnectionLost && (error.code === undefined || error.code === 'E_BUSY');
}

/** What was shown is not good any more. */
function isSpent(error: unknown): boolean {
  return error instanceof ScpError && (error.code === 'E_EXPIRED' || error.code === 'E_AUTH');
}

function busyMs(error: unknown): number | undefined {
  return error instanceof ScpError && error.code === 'E_BUSY' ? (error.retryMs ?? MOST_REPEAT_MS) : undefined;
}

function readMeta({deadlineMs, traceparent}: InvokeOptions): Meta | undefined {
  if (deadlineMs !== undefined && !(Number.isInteger(deadlineMs) && deadlineMs >= 1 && deadlineMs <= MAX_DEADLINE_MS)) {
    throw new TypeError(`deadlineMs: must be an integer from 1 to ${MAX_DEADLINE_MS}`);
  }
  if (traceparent !== undefined && !TRACEPARENT.test(traceparent)) {
    throw new TypeError('traceparent: must be of W3C Trace Context');
  }
  return deadlineMs === undefined && traceparent === undefined ? undefined : {deadline_ms: deadlineMs, traceparent};
}
