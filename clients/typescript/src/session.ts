// One session on one connection: handshake, requests and their answers, rekey. Everything that comes in is handled in
// the turn of the event loop in which it came, so that a state and the message that changes it are never apart.
// Source: docs/wire-3.0.md, sections 5.2, 7.1 and 9.

import {b64} from './bytes.js';
import {type Envelope, makeEnvelope, type Meta, NO_ID, readRefusal, type Received} from './envelope.js';
import {ConnectionLost, REFUSALS, ScpError} from './errors.js';
import {Handshake, type Offer, type Ready, type Shown, type Welcome} from './handshake.js';
import {type JsonObject} from './json.js';
import {Recorded, Signed} from './protection.js';
import {bytes} from './shape.js';
import {makeShare, type Share, SUITES} from './suites.js';
import type {Wire} from './wire.js';

const EARLY_MESSAGE_BYTES = 64 << 10;
const EVENTS: Readonly<Record<string, readonly string[]>> = {
  'tool.invoke': ['tool.progress', 'tool.chunk'], 'flow.run': ['tool.progress'], 'flow.cancel': ['tool.progress'],
};
const DONE = 1000;

export type State = 'HELLO_SENT' | 'AUTH_SENT' | 'READY' | 'REKEYING' | 'CLOSED' | 'FAILED';

/** When the keys of a session are made anew: section 7.1 has the most. */
export interface RekeyAfter {
  readonly records: number;
  readonly bytes: number;
  readonly ms: number;
}

export interface SessionSettings {
  readonly offer: Offer;
  readonly rekeyAfter: RekeyAfter;
  /** For each answer of the session's own: welcome, ready, rekey, refresh, close. */
  readonly answerMs: number;
  /** What auth shows on a connection with this `th1`. */
  readonly show: (th1: Uint8Array) => Shown;
  /** Throws where the session token of `ready` is not good. */
  readonly checkReady: (ready: Ready, welcome: Welcome) => void;
}

export interface RequestOptions {
  readonly meta?: Meta | undefined;
  readonly event?: ((op: string, p: JsonObject) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly op: string;
  readonly event: ((op: string, p: JsonObject) => void) | undefined;
  nextSeq: number;
  /** The caller has an outcome already; the answer will still come. */
  settled: boolean;
  resolve(p: JsonObject): void;
  reject(error: unknown): void;
}

export class Session {
  readonly #wire: Wire;
  readonly #settings: SessionSettings;
  readonly #handshake: Handshake;
  readonly #waiting = new Map<string, Waiting>();
  /** What waits for the answer to a rekey. */
  #held: Envelope[] = [];
  #state: State = 'HELLO_SENT';
  #welcome: Welcome | undefined;
  #ready: Ready | undefined;
  #rekey: {share: Share; done: Promise<void>} | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: unknown;
  #closing = false;
  #opened = Promise.withResolvers<void>();
  #ended = Promise.withResolvers<void>();

  private constructor(wire: Wire, settings: SessionSettings) {
    this.#wire = wire;
    this.#settings = settings;
    this.#handshake = new Handshake(settings.offer, wire.binding);
  }

  /** Shakes hands over `wire`, and ends it where that fails. Errors: ScpError, ConnectionLost. */
  static async open(wire: Wire, settings: SessionSettings): Promise<Session> {
    const session = new Session(wire, settings);
    wire.listen({
      message: (data, isBinary) => session.#take(data, isBinary),
      ended: (failure) => session.#lost(failure),
    });
    session.#expectAnswer();
    wire.send(session.#handshake.hello());
    await session.#opened.promise;
    return session;
  }

  get state(): State {
    return this.#state;
  }

  get welcome(): Welcome {
    return this.#welcome ?? missing();
  }

  get ready(): Ready {
    return this.#ready ?? missing();
  }

  get epoch(): number {
    return this.welcome.protection instanceof Recorded ? this.welcome.protection.epoch : 0;
  }

  /** Settled when the connection has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /**
   * The payload of the answer. One whose `signal` aborts ends at once with the signal's reason; a call is then cancelled
   * on the server. What `event` throws ends the session. Errors: ScpError; ConnectionLost.
   */
  async request(op: string, p: object, options: RequestOptions = {}): Promise<JsonObject> {
    options.signal?.throwIfAborted();
    this.#mustBeOpen();
    const envelope = makeEnvelope('req', op, p, this.welcome.nodeId, options.meta);
    const most = this.welcome.limits.messageBytes;
    if (this.welcome.protection.size(envelope) > most) {
      throw new ScpError('E_LIMIT', `a message over the server's ${most} bytes`);
    }
    this.#rekeyWhenDue();
    const {promise, resolve, reject} = Promise.withResolvers<JsonObject>();
    const waiting: Waiting = {op, event: options.event, nextSeq: 0, settled: false, resolve, reject};
    this.#waiting.set(envelope.id, waiting);
    const abort = (): void => this.#abandon(envelope.id, waiting, options.signal?.reason);
    options.signal?.addEventListener('abort', abort, {once: true});
    this.#send(envelope);
    try {
      return await promise;
    } finally {
      options.signal?.removeEventListener('abort', abort);
    }
  }

  /** A request of the session's own, whose answer must come in time. Errors: as request(), and E_TIMEOUT, which ends it. */
  async ask(op: string, p: object): Promise<JsonObject> {
    const {answerMs} = this.#settings;
    const timer = setTimeout(() => this.#fail(new ScpError('E_TIMEOUT', `${op}: no answer in ${answerMs} ms`)), answerMs);
    try {
      return await this.request(op, p);
    } finally {
      clearTimeout(timer);
    }
  }

  /** New keys from a new agreement. Errors: as ask(); ScpError E_STATE  suite NONE has no such keys. */
  rekey(): Promise<void> {
    return this.#rekey?.done ?? this.#beginRekey();
  }

  /** Errors: ScpError  the server broke the protocol; the connection has ended all the same. */
  async close(): Promise<void> {
    this.#closing = true;
    try {
      await this.ask('session.close', {});
    } catch (error) {
      this.#fail(error);
      if (!(error instanceof ConnectionLost)) throw error;
    }
    // The server closes after its answer; one that does not is not waited for.
    this.#end('CLOSED', new ConnectionLost('the session was closed'));
    this.#wire.close(DONE);
    await this.#ended.promise;
  }

  /** This side ends it, for a reason that lies in what was answered. */
  abort(error: ScpError): void {
    this.#fail(error);
  }

  // ---- What comes in ----

  #take(data: Buffer, isBinary: boolean): void {
    if (this.#state === 'CLOSED' || this.#state === 'FAILED') return;
    try {
      if (this.#state === 'HELLO_SENT') this.#takeWelcome(data, isBinary);
      else if (this.#state === 'AUTH_SENT') this.#takeReady(data, isBinary);
      else this.#deliver(this.welcome.protection.open(data, isBinary));
      if (this.#state === 'READY') this.#rekeyWhenDue();
    } catch (error) {
      this.#fail(error);
    }
  }

  #takeWelcome(data: Buffer, isBinary: boolean): void {
    checkEarlySize(data);
    const welcome = this.#handshake.takeWelcome(data, isBinary);
    this.#welcome = welcome;
    const auth = this.#handshake.auth(this.#settings.show(welcome.th1), welcome);
    this.#wire.send(welcome.protection.seal(auth));
    this.#expectAnswer();
    this.#state = 'AUTH_SENT';
  }

  #takeReady(data: Buffer, isBinary: boolean): void {
    checkEarlySize(data);
    const {protection} = this.welcome;
    const ready = this.#handshake.takeReady(protection.open(data, isBinary));
    this.#settings.checkReady(ready, this.welcome);
    if (protection instanceof Signed) protection.transcript = ready.th2;
    this.#ready = ready;
    clearTimeout(this.#timer);
    this.#state = 'READY';
    this.#armRekey();
    this.#opened.resolve();
  }

  #deliver(message: Received): void {
    if (message.aud !== this.ready.sessionId) throw new ScpError('E_REPLAY', 'aud: a message for another session');
    if (message.id === NO_ID && message.t === 'err') throw readRefusal(message.p);
    const waiting = this.#waiting.get(message.id);
    if (!waiting) throw new ScpError('E_STATE', 'a message that nobody asked for');
    if (message.t === 'evt') {
      this.#takeEvent(message, waiting);
      return;
    }
    if ((message.t !== 'res' && message.t !== 'err') || message.op !== waiting.op) {
      throw new ScpError('E_STATE', 'no answer to the request');
    }
    const refusal = message.t === 'err' ? readRefusal(message.p) : undefined;
    if (waiting.op === 'session.rekey') this.#endRekey(refusal ? undefined : message.p);
    this.#waiting.delete(message.id);
    if (waiting.settled) return;
    if (refusal) waiting.reject(refusal);
    else waiting.resolve(message.p);
  }

  #takeEvent(message: Received, waiting: Waiting): void {
    if (!EVENTS[waiting.op]?.includes(message.op)) throw new ScpError('E_STATE', 'no event of the request');
    if (message.seq !== waiting.nextSeq) throw new ScpError('E_STATE', 'not the event that comes next');
    waiting.nextSeq++;
    if (!waiting.settled) waiting.event?.(message.op, message.p);
  }

  // ---- What goes out ----

  #send(envelope: Envelope): void {
    if (this.#state === 'REKEYING') this.#held.push(envelope);
    else this.#wire.send(this.welcome.protection.seal(envelope));
  }

  /** The caller goes on with `reason`; a tool that runs is cancelled, and its answer will tell nobody. */
  #abandon(id: string, waiting: Waiting, reason: unknown): void {
    if (waiting.settled || !this.#waiting.has(id)) return;
    waiting.settled = true;
    waiting.reject(reason);
    if (waiting.op === 'tool.invoke' || waiting.op === 'flow.run') this.#send({...makeEnvelope('cancel', 'tool.cancel', {}, this.welcome.nodeId), id});
  }

  #mustBeOpen(): void {
    if (this.#state === 'READY' || this.#state === 'REKEYING') return;
    throw this.#failure ?? new ConnectionLost('the session is not open');
  }

  // ---- Keys ----

  async #beginRekey(): Promise<void> {
    this.#mustBeOpen();
    const {group, aead} = SUITES[this.welcome.suite];
    if (!aead) throw new ScpError('E_STATE', 'suite NONE has no keys to make anew');
    const share = makeShare(group);
    const {promise, resolve, reject} = Promise.withResolvers<void>();
    promise.catch(() => {}); // Whoever asked has it from below.
    this.#rekey = {share, done: promise};
    // The request goes out before this returns; what comes after it waits for the answer.
    const answer = this.ask('session.rekey', {eph: b64(share.public)});
    this.#state = 'REKEYING';
    try {
      await answer;
      resolve();
    } catch (error) {
      if (this.#rekey?.share === share) this.#endRekey(undefined);
      reject(error);
      throw error;
    }
  }

  /** `p` is the server's share; without one it refused, and the epoch stays. */
  #endRekey(p: JsonObject | undefined): void {
    const {protection} = this.welcome;
    if (p && this.#rekey && protection instanceof Recorded) {
      const {share} = this.#rekey;
      const peer = bytes(p, 'eph');
      protection.rekey(this.ready.th2, share.public, peer, share.agree(peer));
      this.#armRekey();
    }
    this.#rekey = undefined;
    if (this.#state !== 'REKEYING') return;
    this.#state = 'READY';
    for (const envelope of this.#held.splice(0)) this.#send(envelope);
  }

  /** A session whose keys cannot be made anew in time ends: section 7.1 says "at the latest". */
  #rekeyWhenDue(isTime = false): void {
    const {protection} = this.welcome;
    if (!(protection instanceof Recorded) || this.#state !== 'READY' || this.#rekey) return;
    const {records, bytes: most} = this.#settings.rekeyAfter;
    if (!isTime && protection.records < records && protection.bytes < most) return;
    this.#beginRekey().catch((error: unknown) => this.#fail(error));
  }

  #armRekey(): void {
    if (!(this.welcome.protection instanceof Recorded)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#rekeyWhenDue(true), this.#settings.rekeyAfter.ms);
    this.#timer.unref();
  }

  // ---- The end ----

  #expectAnswer(): void {
    clearTimeout(this.#timer);
    const {answerMs} = this.#settings;
    this.#timer = setTimeout(() => this.#fail(new ScpError('E_TIMEOUT', `no answer in ${answerMs} ms`)), answerMs);
  }

  /** This side ends the connection, with the code of the refusal. */
  #fail(error: unknown): void {
    if (this.#state === 'CLOSED' || this.#state === 'FAILED') return;
    const isOwn = error instanceof ScpError && error.from === 'client';
    this.#end('FAILED', error);
    if (isOwn) this.#wire.close(REFUSALS[error.code].close, error.code);
    else this.#wire.close(DONE);
  }

  #lost(failure: ScpError | ConnectionLost): void {
    this.#end(this.#closing ? 'CLOSED' : 'FAILED', failure);
    this.#ended.resolve();
  }

  #end(state: 'CLOSED' | 'FAILED', failure: unknown): void {
    if (this.#state === 'CLOSED' || this.#state === 'FAILED') return;
    this.#state = state;
    this.#failure = failure;
    clearTimeout(this.#timer);
    this.#held = [];
    this.#opened.reject(failure);
    this.#opened.promise.catch(() => {}); // An open session has nobody who waits for it.
    for (const waiting of this.#waiting.values()) waiting.reject(failure);
    this.#waiting.clear();
  }
}

function checkEarlySize(data: Buffer): void {
  if (data.length > EARLY_MESSAGE_BYTES) {
    throw new ScpError('E_LIMIT', `a message over ${EARLY_MESSAGE_BYTES} bytes before the session is ready`);
  }
}

function missing(): never {
  throw new Error('the handshake has not come that far');
}
