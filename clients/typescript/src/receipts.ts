// What a caller keeps of a call, to prove later that it was recorded. Source: docs/wire-3.0.md, sections 16.4 and 16.6.

import {constants, createPublicKey, type KeyObject, verify} from 'node:crypto';

import {equal, hkdf, hmac, unb64, utf8} from './bytes.js';
import {thumbprint} from './holder.js';
import {canonical, isObject} from './json.js';

const NO_SALT = new Uint8Array();
const SALT_BYTES = 32;

/** The `audit` of an answer. */
export interface Receipt {
  readonly seq: number;
  /** Empty where the service is set to go on without a record. */
  readonly hash: string;
  readonly node?: string;
  readonly sig?: {readonly kid: string; readonly v: string};
}

/** The service's public key in PEM, or the `secret_key` of a service without a key pair. */
export type ReceiptKey = {readonly publicKey: string | Uint8Array} | {readonly secret: string};

/**
 * Whether the service of this key gave out `receipt`, which may have been kept as JSON and be anything since. Needs
 * neither the service nor its trail. Errors: Error  `publicKey` is no key.
 */
export function checkReceipt(receipt: Receipt, key: ReceiptKey): boolean {
  if (!isWhole(receipt)) return false;
  const {hash, node, seq, sig} = receipt;
  const value = unb64(sig.v);
  if (!value) return false;
  const text = Buffer.concat([utf8('SCP3-RECEIPT\0'), utf8(canonical({hash, node, seq}))]);
  if ('secret' in key) {
    return sig.kid === 'secret' && equal(value, hmac(hkdf(utf8(key.secret), NO_SALT, 'scp3 audit checkpoint', 32), text));
  }
  const publicKey = createPublicKey(Buffer.from(key.publicKey));
  return sig.kid === keyId(publicKey) && isSigned(text, value, publicKey);
}

/** By its types alone; whatever else is in it was not signed. */
function isWhole(receipt: unknown): receipt is Required<Receipt> {
  if (!isObject(receipt) || !isObject(receipt['sig'])) return false;
  const {hash, node, seq, sig} = receipt;
  const texts = [hash, node, sig['kid'], sig['v']];
  return Number.isSafeInteger(seq) && texts.every((one) => typeof one === 'string' && one.isWellFormed());
}

/** Ed25519, or RSA with PS256. */
function isSigned(text: Uint8Array, value: Uint8Array, key: KeyObject): boolean {
  if (key.asymmetricKeyType === 'ed25519') return verify(null, text, key, value);
  if (key.asymmetricKeyType !== 'rsa') return false;
  return verify('sha256', text, {key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: SALT_BYTES}, value);
}

function keyId(key: KeyObject): string | undefined {
  const {crv, e, kty, n, x} = key.export({format: 'jwk'});
  if (kty === 'OKP') return thumbprint({crv, kty, x});
  return kty === 'RSA' ? thumbprint({e, kty, n}) : undefined;
}
