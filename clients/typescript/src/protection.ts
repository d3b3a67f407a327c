// How messages of a session are authenticated: each signed, or each a record. Source: docs/wire-3.0.md, sections 3.1,
// 3.2, 7 and 8.

import {b64, equal, utf8} from './bytes.js';
import {ScpError} from './errors.js';
import {type Envelope, readEnvelope, type Received, without} from './envelope.js';
import {canonical, parse, toWire} from './json.js';
import {type Keys, makeThR, schedule, signature} from './keys.js';
import {RECORD_OVERHEAD, RecordStream} from './records.js';
import type {Aead} from './suites.js';

const WINDOW_MS = 60_000;

export interface Protection {
  /** Bytes that `envelope` has on the wire. Errors: ScpError E_SHAPE  a value in it that is not JSON. */
  size(envelope: Envelope): number;
  /** A text message, or the bytes of a binary one. */
  seal(envelope: Envelope): string | Buffer;
  /** Errors: ScpError  the first rule that the message breaks, in the order of section 3.2 up to freshness but `aud`. */
  open(data: Buffer, isBinary: boolean): Received;
}

/** With suite NONE. `transcript` is th1, and th2 once the session is ready. */
export class Signed implements Protection {
  transcript: Uint8Array;
  readonly #sendKey: Uint8Array;
  readonly #receiveKey: Uint8Array;

  constructor(keys: Keys, th1: Uint8Array) {
    this.transcript = th1;
    this.#sendKey = keys['c2s sig'];
    this.#receiveKey = keys['s2c sig'];
  }

  size(envelope: Envelope): number {
    return Buffer.byteLength(this.seal(envelope));
  }

  seal(envelope: Envelope): string {
    const v = b64(signature(this.#sendKey, this.transcript, canonical(envelope)));
    return toWire({...envelope, sig: {alg: 'HS256', kid: 'c', v}});
  }

  open(data: Buffer, isBinary: boolean): Received {
    if (isBinary) throw new ScpError('E_STATE', 'a record where text belongs');
    const message = readEnvelope(parse(data));
    const {sig} = message;
    if (!sig) throw new ScpError('E_SHAPE', 'sig: a message without a signature');
    const v = signature(this.#receiveKey, this.transcript, canonical(without(message.whole, 'sig')));
    if (sig.alg !== 'HS256' || sig.kid !== 's' || !equal(sig.v, v)) {
      throw new ScpError('E_SIG', 'a message that the server did not sign');
    }
    if (Math.abs(Date.now() - message.ts) > WINDOW_MS) {
      throw new ScpError('E_STALE', 'a message outside the freshness window');
    }
    return message;
  }
}

/** With the other suites. */
export class Recorded implements Protection {
  readonly #aead: Aead;
  #keys: Keys;
  #sender: RecordStream;
  #receiver: RecordStream;

  constructor(aead: Aead, keys: Keys, th1: Uint8Array) {
    this.#aead = aead;
    this.#keys = keys;
    this.#sender = this.#stream('c2s', th1, 0);
    this.#receiver = this.#stream('s2c', th1, 0);
  }

  get epoch(): number {
    return this.#sender.epoch;
  }

  /** Of the direction that has more. */
  get records(): number {
    return Math.max(this.#sender.count, this.#receiver.count);
  }

  get bytes(): number {
    return Math.max(this.#sender.bytes, this.#receiver.bytes);
  }

  size(envelope: Envelope): number {
    return Buffer.byteLength(toWire(envelope)) + RECORD_OVERHEAD;
  }

  seal(envelope: Envelope): Buffer {
    return this.#sender.seal(utf8(toWire(envelope)));
  }

  open(data: Buffer, isBinary: boolean): Received {
    if (!isBinary) throw new ScpError('E_STATE', 'text where a record belongs');
    const message = readEnvelope(parse(this.#receiver.open(data)));
    if (message.sig) throw new ScpError('E_SHAPE', 'sig: a signature in a record');
    return message;
  }

  /** Section 7.1: both directions go on in the next epoch. */
  rekey(th2: Uint8Array, ephC: Uint8Array, ephS: Uint8Array, dh: Uint8Array): void {
    const epoch = this.epoch + 1;
    const transcript = makeThR(th2, epoch, ephC, ephS);
    this.#keys = schedule(transcript, dh, this.#keys.export);
    this.#sender = this.#stream('c2s', transcript, epoch);
    this.#receiver = this.#stream('s2c', transcript, epoch);
  }

  #stream(direction: 'c2s' | 's2c', transcript: Uint8Array, epoch: number): RecordStream {
    const [key, iv] = [this.#keys[`${direction} key`], this.#keys[`${direction} iv`]];
    return new RecordStream({aead: this.#aead, key, iv, transcript, epoch});
  }
}
