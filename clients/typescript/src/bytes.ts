// Bytes, their text form, and the hashes over them. Source: docs/wire-3.0.md, "Words"; RFC 4648, section 5; RFC 5869.

import {createHash, createHmac, timingSafeEqual} from 'node:crypto';

const HASH_BYTES = 32;

export function utf8(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

/** base64url without padding. */
export function b64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}

/** The bytes of `text`; undefined for other characters, padding, and trailing bits that are not zero. */
export function unb64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return b64(bytes) === text ? bytes : undefined;
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** `bytes` after their length. */
export function counted(bytes: Uint8Array): Buffer {
  return Buffer.concat([u32(bytes.length), bytes]);
}

export function sha256(...parts: Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export function hmac(key: Uint8Array, ...parts: Uint8Array[]): Buffer {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

export function hkdfExtract(salt: Uint8Array, ikm: Uint8Array): Buffer {
  return hmac(salt, ikm);
}

/** Errors: RangeError  more bytes than one hash has; no key of the protocol is longer. */
export function hkdfExpand(prk: Uint8Array, info: Uint8Array, length: number): Buffer {
  if (length > HASH_BYTES) throw new RangeError(`a key of ${length} bytes`);
  return hmac(prk, info, Uint8Array.of(1)).subarray(0, length);
}

export function hkdf(ikm: Uint8Array, salt: Uint8Array, info: string, length: number): Buffer {
  return hkdfExpand(hkdfExtract(salt, ikm), utf8(info), length);
}

/** Whether both are the same bytes, in a time that says nothing of where they differ. */
export function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
