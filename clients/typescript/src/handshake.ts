// The client's side of the handshake, without any I/O: four messages, in this order and once. No credential is made
// before the server's proof holds. Source: docs/wire-3.0.md, section 4.

import {randomBytes} from 'node:crypto';

import {b64, equal, hmac, utf8} from './bytes.js';
import {type Envelope, makeEnvelope, readEnvelope, readRefusal, type Received, VERSION, without} from './envelope.js';
import {ScpError} from './errors.js';
import {canonical, parse} from './json.js';
import {type Keys, makeTh1, makeTh2, makeThAuth, schedule} from './keys.js';
import {checkProof, offeredProofs, type Trust} from './node_key.js';
import {type Protection, Recorded, Signed} from './protection.js';
import {bytes, count, nonEmpty, object, text, texts, ULID} from './shape.js';
import {makeShare, type Share, type Suite, SUITES} from './suites.js';

const NONCE_BYTES = 32;
const CONFIRM_BYTES = 32;
const NAME_CHARACTERS = 256;
const TOKEN_CHARACTERS = 8192;

export type Channel = 'none' | 'tls-exporter';

/** What the client wants, and what it has to check the server by. */
export interface Offer extends Trust {
  /** The best first. */
  readonly suites: readonly Suite[];
}

/** The channel binding of this connection. */
export interface Binding {
  readonly channel: Channel;
  readonly bytes: Uint8Array;
}

/** What is shown to the server, once it has proved itself. */
export interface Shown {
  readonly method: string;
  readonly credential: string;
  readonly holder?: object;
  /** By it the session may be followed: section 6.8. */
  readonly session_key?: object;
}

export interface Limits {
  readonly messageBytes: number;
  readonly inFlight: number;
  readonly deadlineMs: number;
  readonly idleMs: number;
}

export interface Welcome {
  readonly suite: Suite;
  readonly nodeId: string;
  readonly cluster: string;
  readonly methods: readonly string[];
  readonly limits: Limits;
  readonly th1: Buffer;
  readonly protection: Protection;
}

export interface Ready {
  readonly sessionId: string;
  readonly sessionToken: string;
  readonly principal: {readonly sub: string; readonly iss: string};
  readonly scopes: readonly string[];
  /** Milliseconds since 1970, of the session token. */
  readonly expiresAt: number;
  readonly th2: Buffer;
}

/** `welcome` and `th2` belong to the connection that it was made for. */
export class Handshake {
  readonly #offer: Offer;
  readonly #binding: Binding;
  readonly #shares = new Map<string, Share>();
  #asked: Envelope | undefined;
  #hello = '';
  #keys: Keys | undefined;
  #thAuth: Buffer | undefined;

  constructor(offer: Offer, binding: Binding) {
    this.#offer = offer;
    // Its records pass through whoever ends TLS, who cannot read them.
    this.#binding = offer.mode === 'encrypted' ? {channel: 'none', bytes: new Uint8Array()} : binding;
  }

  /** The text of hello. */
  hello(): string {
    for (const suite of this.#offer.suites) {
      const {group} = SUITES[suite];
      if (!this.#shares.has(group)) this.#shares.set(group, makeShare(group));
    }
    this.#asked = makeEnvelope('req', 'session.hello', {
      versions: [VERSION],
      suites: this.#offer.suites,
      nonce_c: b64(randomBytes(NONCE_BYTES)),
      eph_c: Object.fromEntries([...this.#shares].map(([group, share]) => [group, b64(share.public)])),
      channels: [this.#binding.channel],
      proofs: offeredProofs(this.#offer),
      client: {name: 'scp-typescript', version: VERSION},
      want_mode: this.#offer.mode,
    }, '*');
    this.#hello = canonical(this.#asked);
    return this.#hello;
  }

  /**
   * Makes the keys. Errors: ScpError  of the server; E_VERSION  what was not offered; E_SIG  no proof that this client
   * can check; E_SHAPE, E_STATE, E_REPLAY, E_PARSE  a server that breaks the protocol.
   */
  takeWelcome(data: Buffer, isBinary: boolean): Welcome {
    if (isBinary) throw new ScpError('E_STATE', 'a record where welcome belongs');
    const message = readEnvelope(parse(data));
    this.#checkAnswer(message);
    const {p} = message;
    const suite = this.#checkChoice(message);
    const th1 = makeTh1(utf8(this.#hello), utf8(canonical({...message.whole, p: without(p, 'proof')})), this.#binding.bytes);
    const psk = this.#checkProof(message, th1);
    bytes(p, 'nonce_s', NONCE_BYTES);
    const dh = this.#agree(message, suite);
    const keys = schedule(th1, dh, psk);
    this.#keys = keys;
    this.#shares.clear();
    const {aead} = SUITES[suite];
    const limits = object(p, 'limits');
    return {
      suite, th1,
      nodeId: nonEmpty(p, 'node_id', NAME_CHARACTERS),
      cluster: nonEmpty(p, 'cluster', NAME_CHARACTERS),
      methods: texts(p, 'auth', 8),
      limits: {
        messageBytes: count(limits, 'message_bytes'), inFlight: count(limits, 'in_flight'),
        deadlineMs: count(limits, 'deadline_ms'), idleMs: count(limits, 'idle_ms'),
      },
      protection: aead ? new Recorded(aead, keys, th1) : new Signed(keys, th1),
    };
  }

  /** Auth, with what `shown` is. */
  auth(shown: Shown, welcome: Welcome): Envelope {
    if (!welcome.methods.includes(shown.method)) {
      throw new ScpError('E_AUTH', `the server does not take ${shown.method}`);
    }
    const auth = makeEnvelope('req', 'session.auth', shown, welcome.nodeId);
    this.#asked = auth;
    this.#thAuth = makeThAuth(welcome.th1, utf8(canonical(auth)));
    return {...auth, p: {...shown, confirm: b64(hmac(this.#made().keys['confirm c'], this.#thAuth))}};
  }

  /** Errors: ScpError  of the server; E_SIG  the server does not confirm; others as takeWelcome. */
  takeReady(message: Received): Ready {
    this.#checkAnswer(message);
    const {p, whole} = message;
    const {keys, thAuth} = this.#made();
    const th2 = makeTh2(thAuth, utf8(canonical({...without(whole, 'sig'), p: without(p, 'confirm')})));
    if (!equal(bytes(p, 'confirm', CONFIRM_BYTES), hmac(keys['confirm s'], th2))) {
      throw new ScpError('E_SIG', 'the server does not confirm the handshake');
    }
    const principal = object(p, 'principal');
    return {
      th2,
      sessionId: text(p, 'session_id', ULID),
      sessionToken: nonEmpty(p, 'session_token', TOKEN_CHARACTERS),
      principal: {sub: nonEmpty(principal, 'sub', TOKEN_CHARACTERS), iss: text(principal, 'iss')},
      scopes: texts(p, 'scopes', 256),
      expiresAt: count(p, 'expires_at'),
    };
  }

  #made(): {keys: Keys; thAuth: Buffer} {
    if (!this.#keys) throw new Error('the handshake has no keys yet');
    return {keys: this.#keys, thAuth: this.#thAuth ?? Buffer.alloc(0)};
  }

  /** That this is the answer to what was asked last. */
  #checkAnswer(message: Received): void {
    if (message.aud !== '') throw new ScpError('E_REPLAY', 'aud: a message for another session');
    if (message.t === 'err') throw readRefusal(message.p);
    if (message.t !== 'res' || message.id !== this.#asked?.id || message.op !== this.#asked.op) {
      throw new ScpError('E_STATE', 'not the answer to the request');
    }
  }

  /** The suite of welcome. Whatever else it chose must have been offered too. */
  #checkChoice({p}: Received): Suite {
    const chosen = text(p, 'suite');
    const suite = this.#offer.suites.find((one) => one === chosen);
    if (!suite || text(p, 'version') !== VERSION || text(p, 'mode') !== this.#offer.mode) {
      throw new ScpError('E_VERSION', 'the server chose a version, suite or mode that was not offered');
    }
    if (text(p, 'channel') !== this.#binding.channel) {
      throw new ScpError('E_SIG', 'channel: the server sees another transport than this client');
    }
    return suite;
  }

  /** The key that comes of the server's proof. Without one there is TLS alone. */
  #checkProof({p}: Received, th1: Uint8Array): Uint8Array {
    const psk = checkProof(p, th1, this.#offer);
    if (offeredProofs(this.#offer)[0] !== 'none' || this.#binding.channel !== 'none') return psk;
    throw new ScpError('E_SIG', 'proof: the server does not prove itself, and there is no TLS');
  }

  #agree({p}: Received, suite: Suite): Uint8Array {
    const share = this.#shares.get(SUITES[suite].group);
    if (!share) throw new Error('the handshake has no share');
    return share.agree(bytes(p, 'eph_s'));
  }
}
