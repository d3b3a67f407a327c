// Encrypted records of one direction and epoch. Source: docs/wire-3.0.md, section 7.

import {createCipheriv, createDecipheriv} from 'node:crypto';

import {ScpError} from './errors.js';
import type {Aead} from './suites.js';

const MAGIC = 0x53;
const TYPE = 1;
const HEADER_BYTES = 12;
const TAG_BYTES = 16;
export const RECORD_OVERHEAD = HEADER_BYTES + TAG_BYTES;

export interface RecordKeys {
  readonly aead: Aead;
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
  /** `th1`, in a later epoch `th_r`. */
  readonly transcript: Uint8Array;
  readonly epoch: number;
}

/** Seals or opens, never both: one counter stands for one direction. */
export class RecordStream {
  readonly #keys: RecordKeys;
  #counter: bigint;
  #bytes = 0;

  constructor(keys: RecordKeys, counter = 0n) {
    this.#keys = keys;
    this.#counter = counter;
  }

  get epoch(): number {
    return this.#keys.epoch;
  }

  /** Records so far. */
  get count(): number {
    return Number(this.#counter);
  }

  /** Bytes of records so far. */
  get bytes(): number {
    return this.#bytes;
  }

  seal(plaintext: Uint8Array): Buffer {
    const header = this.#header();
    const {aead, key} = this.#keys;
    const cipher = createCipheriv(aead as 'chacha20-poly1305', key, this.#nonce(), {authTagLength: TAG_BYTES});
    cipher.setAAD(Buffer.concat([header, this.#keys.transcript]), {plaintextLength: plaintext.length});
    const record = Buffer.concat([header, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    this.#advance(record);
    return record;
  }

  /** Errors: ScpError E_PARSE  short or of another type; E_REPLAY  not the next one; E_SIG  a wrong tag. */
  open(record: Uint8Array): Buffer {
    const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
    if (bytes.length < RECORD_OVERHEAD || bytes[0] !== MAGIC || bytes[1] !== TYPE) {
      throw new ScpError('E_PARSE', 'not a record');
    }
    const header = bytes.subarray(0, HEADER_BYTES);
    if (!header.equals(this.#header())) throw new ScpError('E_REPLAY', 'not the record that comes next');
    const {aead, key} = this.#keys;
    const cipher = createDecipheriv(aead as 'chacha20-poly1305', key, this.#nonce(), {authTagLength: TAG_BYTES});
    const ciphertext = bytes.subarray(HEADER_BYTES, -TAG_BYTES);
    cipher.setAAD(Buffer.concat([header, this.#keys.transcript]), {plaintextLength: ciphertext.length});
    cipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const plaintext = cipher.update(ciphertext);
    try {
      cipher.final();
    } catch {
      throw new ScpError('E_SIG', 'a record that the other side did not make');
    }
    this.#advance(bytes);
    return plaintext;
  }

  #header(): Buffer {
    const header = Buffer.alloc(HEADER_BYTES);
    header[0] = MAGIC;
    header[1] = TYPE;
    header.writeUInt16BE(this.#keys.epoch, 2);
    header.writeBigUInt64BE(this.#counter, 4);
    return header;
  }

  #nonce(): Buffer {
    const nonce = Buffer.from(this.#keys.iv);
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(this.#counter);
    counter.forEach((byte, index) => {
      nonce[4 + index] = (nonce[4 + index] ?? 0) ^ byte;
    });
    return nonce;
  }

  #advance(record: Uint8Array): void {
    this.#counter++;
    this.#bytes += record.length;
  }
}
