// How a server proves itself, before a client shows it anything: by its node key, or by the secret that all members of a
// group have. Source: docs/wire-3.0.md, sections 4.6 and 4.7; RFC 8032; RFC 7638.

import {createPublicKey, type KeyObject, verify} from 'node:crypto';

import {equal, utf8} from './bytes.js';
import {ScpError} from './errors.js';
import {publicKey, thumbprint} from './holder.js';
import type {JsonObject} from './json.js';
import {makePsk, proof} from './keys.js';
import {bytes, member, object, refuse, text} from './shape.js';
import type {Mode} from './suites.js';

const LENGTHS = {ed25519: 64, hmac: 32, none: 0} as const;
type Kind = keyof typeof LENGTHS;

/** What a client knows of its server. */
export interface Trust {
  readonly mode: Mode;
  /** Thumbprints of which one must be that of the server's key; with one here nothing else counts. */
  readonly pins: readonly string[];
  /** Of `hs`, and of the one before it while it is changed; empty where there is none. */
  readonly psks: readonly Uint8Array[];
}

/** The thumbprint of a key that is given as that, or in PEM. Errors: TypeError. */
export function readServerKey(given: string | Uint8Array): string {
  if (typeof given === 'string' && /^[A-Za-z0-9_-]{43}$/.test(given)) return given;
  const key = parsed(given);
  if (key?.asymmetricKeyType !== 'ed25519') {
    throw new TypeError('serverKey: must be a thumbprint, or an Ed25519 public key in PEM');
  }
  const {x} = key.export({format: 'jwk'});
  return thumbprint({crv: 'Ed25519', kty: 'OKP', x});
}

function parsed(pem: string | Uint8Array): KeyObject | undefined {
  const text = Buffer.from(pem).toString('latin1');
  try {
    // createPublicKey() would take a private key as well.
    return text.includes('PRIVATE') ? undefined : createPublicKey(text);
  } catch {
    return undefined;
  }
}

/** What a client offers: that which it can check, and nothing weaker than what it knows. */
export function offeredProofs({mode, pins, psks}: Trust): readonly Kind[] {
  if (pins.length > 0) return ['ed25519'];
  if (psks.length > 0) return ['hmac'];
  return mode === 'enterprise' ? ['none'] : [];
}

export function nodeText(th1: Uint8Array): Buffer {
  return Buffer.concat([utf8('SCP3-NODE\0'), th1]);
}

/**
 * The psk of this connection, once the server has proved itself; `p` is the payload of welcome. Errors: ScpError E_SHAPE;
 * E_SIG  a kind that was not offered, another key, or a value that does not hold.
 */
export function checkProof(p: JsonObject, th1: Uint8Array, trust: Trust): Uint8Array {
  const key = member(p, 'node_key') === undefined ? undefined : publicKey(p, 'node_key');
  const shown = object(p, 'proof');
  const kind = text(shown, 'kind');
  if (!isKind(kind)) refuse('proof.kind', 'must be ed25519, hmac or none');
  const v = kind === 'none' ? Buffer.alloc(0) : bytes(shown, 'v', LENGTHS[kind]);
  if (offeredProofs(trust).includes(kind) && (kind === 'ed25519') === (key !== undefined)) {
    if (kind === 'none') return noSecret();
    if (kind === 'hmac') {
      const psk = trust.psks.find((one) => equal(v, proof(one, th1)));
      if (psk) return psk;
    } else if (key && trust.pins.includes(key.thumbprint) && verify(null, nodeText(th1), key.key, v)) {
      return noSecret();
    }
  }
  throw new ScpError('E_SIG', 'proof: the server does not prove to be the one that this client knows');
}

function isKind(word: string): word is Kind {
  return Object.hasOwn(LENGTHS, word);
}

function noSecret(): Uint8Array {
  return makePsk(new Uint8Array(), new Uint8Array());
}
