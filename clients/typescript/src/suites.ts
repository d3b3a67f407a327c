// The modes, the suites, and the shares of their groups. Source: docs/wire-3.0.md, sections 4.4 and 4.6; RFC 7748; SEC 1.

import {createECDH, createPublicKey, diffieHellman, generateKeyPairSync} from 'node:crypto';

import {b64, unb64} from './bytes.js';
import {refuse} from './shape.js';

const MODES = ['simple', 'basic', 'encrypted', 'enterprise'] as const;
export type Mode = (typeof MODES)[number];

export function isMode(word: string): word is Mode {
  return (MODES as readonly string[]).includes(word);
}

export type Group = 'X25519' | 'P256';
export type Aead = 'aes-256-gcm' | 'chacha20-poly1305';

export const SUITES = {
  X25519_A256GCM_S256: {group: 'X25519', aead: 'aes-256-gcm'},
  P256_A256GCM_S256: {group: 'P256', aead: 'aes-256-gcm'},
  X25519_C20P_S256: {group: 'X25519', aead: 'chacha20-poly1305'},
  NONE: {group: 'X25519', aead: null},
} as const;

export type Suite = keyof typeof SUITES;

const X25519_BYTES = 32;
const P256_BYTES = 65;
const UNCOMPRESSED = 4;

/** This side's half of one key agreement. */
export interface Share {
  readonly group: Group;
  readonly public: Buffer;
  /** Errors: ScpError E_SHAPE  a share of wrong length, off the curve, or that makes an all-zero result. */
  agree(peer: Uint8Array): Buffer;
}

export function makeShare(group: Group): Share {
  return group === 'X25519' ? makeX25519() : makeP256();
}

function makeX25519(): Share {
  const pair = generateKeyPairSync('x25519');
  const own = unb64(pair.publicKey.export({format: 'jwk'}).x ?? '');
  if (!own) throw new Error('X25519: no public key');
  return {
    group: 'X25519',
    public: own,
    agree(peer) {
      if (peer.length !== X25519_BYTES) refuse('eph', `must have ${X25519_BYTES} bytes`);
      const publicKey = createPublicKey({format: 'jwk', key: {kty: 'OKP', crv: 'X25519', x: b64(peer)}});
      const dh = derived(() => diffieHellman({privateKey: pair.privateKey, publicKey}));
      if (dh.every((byte) => byte === 0)) refuse('eph', 'makes an all-zero result');
      return dh;
    },
  };
}

function makeP256(): Share {
  const own = createECDH('prime256v1');
  const share = own.generateKeys();
  return {
    group: 'P256',
    public: share,
    agree(peer) {
      if (peer.length !== P256_BYTES || peer[0] !== UNCOMPRESSED) {
        refuse('eph', `must be ${P256_BYTES} bytes, uncompressed`);
      }
      return derived(() => own.computeSecret(peer));
    },
  };
}

/** OpenSSL itself refuses an all-zero result and a point off the curve. */
function derived(derive: () => Buffer): Buffer {
  try {
    return derive();
  } catch {
    return refuse('eph', 'is no share of this group');
  }
}
