// The key that a client's tokens are bound to, and the proof that the client holds it.
// Source: docs/wire-3.0.md, sections 4.11 and 6.6; RFC 8032; RFC 8037; RFC 7638.

import {createPrivateKey, createPublicKey, type KeyObject, sign} from 'node:crypto';

import {b64, sha256, utf8} from './bytes.js';
import {canonical, type JsonObject} from './json.js';
import {bytes, object, onlyMembers, text} from './shape.js';

export interface HolderProof {
  readonly alg: 'Ed25519';
  readonly jwk: {readonly crv: 'Ed25519'; readonly kty: 'OKP'; readonly x: string};
  readonly v: string;
}

/** Errors: TypeError  no Ed25519 private key in PEM; the text of the key is not in the message. */
export function readHolderKey(pem: string | Uint8Array): KeyObject {
  const key = parsed(pem);
  if (key?.asymmetricKeyType !== 'ed25519') throw new TypeError('holderKey: must be an Ed25519 private key in PEM');
  return key;
}

function parsed(pem: string | Uint8Array): KeyObject | undefined {
  try {
    return createPrivateKey(Buffer.from(pem));
  } catch {
    return undefined;
  }
}

/** The member `name`: an Ed25519 public key as a JWK, and its thumbprint. Errors: ScpError E_SHAPE. */
export function publicKey(of: JsonObject, name: string): {readonly key: KeyObject; readonly thumbprint: string} {
  const jwk = object(of, name);
  onlyMembers(jwk, name, ['crv', 'kty', 'x']);
  text(jwk, 'kty', /^OKP$/);
  text(jwk, 'crv', /^Ed25519$/);
  const x = b64(bytes(jwk, 'x', 32));
  return {key: createPublicKey({format: 'jwk', key: {kty: 'OKP', crv: 'Ed25519', x}}), thumbprint: thumbprint(jwk)};
}

/** What a token names as `cnf.jkt`. */
export function thumbprint(jwk: object): string {
  return b64(sha256(utf8(canonical(jwk))));
}

export function holderText(th1: Uint8Array, credential: string): Buffer {
  return Buffer.concat([utf8('SCP3-HOLDER\0'), th1, sha256(utf8(credential))]);
}

/** Of a private key of Ed25519. */
export function publicJwk(key: KeyObject): HolderProof['jwk'] {
  const x = createPublicKey(key).export({format: 'jwk'}).x ?? '';
  return {crv: 'Ed25519', kty: 'OKP', x};
}

/** The member `holder` of auth and refresh: good for this connection and this token alone. */
export function proveHolder(key: KeyObject, th1: Uint8Array, credential: string): HolderProof {
  return {alg: 'Ed25519', jwk: publicJwk(key), v: b64(sign(null, holderText(th1, credential), key))};
}
