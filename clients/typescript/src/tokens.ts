// Compact JWS by one pinned algorithm, and the session token that is one. Source: docs/wire-3.0.md, section 6; RFC 7515.

import {constants, createPublicKey, type KeyObject, verify} from 'node:crypto';

import {b64, equal, hmac, unb64, utf8} from './bytes.js';
import {ScpError} from './errors.js';
import {isObject, parse, type JsonObject} from './json.js';
import {member} from './shape.js';

const TOKEN_BYTES = 8192;
const RSA_BITS = 2048;
const CLOCKS_APART = 60;
const FORBIDDEN_HEADERS = ['crit', 'jku', 'jwk', 'x5u', 'x5c'];
const KID = /^[A-Za-z0-9._-]{1,64}$/;
const PART = /^[A-Za-z0-9_-]+$/;
const LIMITS = {depth: 16, values: 1000};

export interface TokenRules {
  readonly key: {readonly alg: 'HS256'; readonly secret: Uint8Array} | {readonly alg: 'RS256'; readonly publicKey: KeyObject};
  readonly typ: string;
  readonly issuer: string;
  readonly audience: string;
  /** Seconds since 1970. */
  readonly now: number;
  /** Seconds that the clocks may differ. */
  readonly leeway: number;
  /** Seconds from `iat` to `exp` at most. */
  readonly longestLife: number;
}

/** Errors: TypeError  no RSA public key of at least 2048 bits in PEM. */
export function readTokenKey(pem: string | Uint8Array): KeyObject {
  const key = createPublicKey(Buffer.from(pem));
  if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < RSA_BITS) {
    throw new TypeError(`tokenKey: must be an RSA public key of at least ${RSA_BITS} bits`);
  }
  return key;
}

/** The claims of `token`. Errors: ScpError E_EXPIRED  past its time; E_AUTH  any other rule. */
export function verifyToken(token: string, rules: TokenRules): JsonObject {
  const parts = token.length > TOKEN_BYTES ? [] : token.split('.');
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined) {
    throw refusal('no compact JWS');
  }
  checkHeader(readPart(header), rules);
  if (!isSigned(utf8(`${header}.${payload}`), unb64(signature), rules)) throw refusal('the signature');
  const claims = readPart(payload);
  checkClaims(claims, rules);
  return claims;
}

function refusal(rule: string): ScpError {
  return new ScpError('E_AUTH', `token: ${rule}`);
}

function readPart(part: string): JsonObject {
  const bytes = PART.test(part) ? unb64(part) : undefined;
  if (!bytes) throw refusal('no base64url');
  try {
    const value = parse(bytes, LIMITS);
    if (isObject(value)) return value;
  } catch {
    throw refusal('no JSON');
  }
  throw refusal('no object');
}

function checkHeader(header: JsonObject, rules: TokenRules): void {
  if (member(header, 'alg') !== rules.key.alg) throw refusal('another algorithm');
  if (member(header, 'typ') !== rules.typ) throw refusal('another typ');
  if (FORBIDDEN_HEADERS.some((name) => Object.hasOwn(header, name))) throw refusal('a header that names keys');
  const kid = member(header, 'kid');
  if (kid !== undefined && (typeof kid !== 'string' || !KID.test(kid))) throw refusal('kid');
}

function isSigned(data: Uint8Array, signature: Uint8Array | undefined, rules: TokenRules): boolean {
  if (!signature || signature.length === 0) return false;
  if (rules.key.alg === 'HS256') return equal(signature, hmac(rules.key.secret, data));
  return verify('sha256', data, {key: rules.key.publicKey, padding: constants.RSA_PKCS1_PADDING}, signature);
}

function checkClaims(claims: JsonObject, rules: TokenRules): void {
  const texts = Object.fromEntries(['iss', 'sub', 'jti', 'scope'].map((name) => {
    const value = member(claims, name);
    if (typeof value !== 'string') throw refusal(`${name}: must be a text`);
    return [name, value];
  }));
  if (texts['iss'] !== rules.issuer) throw refusal('iss: another issuer');
  const audience = member(claims, 'aud');
  if (!(Array.isArray(audience) ? audience : [audience]).includes(rules.audience)) {
    throw refusal('aud: another audience');
  }
  const [iat, nbf, exp] = ['iat', 'nbf', 'exp'].map((name) => {
    const value = member(claims, name);
    if (!Number.isSafeInteger(value)) throw refusal(`${name}: must be an integer`);
    return value as number;
  }) as [number, number, number];
  if (exp - iat > rules.longestLife) throw refusal('exp: lives too long');
  if (iat > rules.now + rules.leeway || nbf > rules.now + rules.leeway) throw refusal('before its time');
  if (exp <= rules.now - rules.leeway) throw new ScpError('E_EXPIRED', 'token: past its time');
}

export interface SessionFacts {
  readonly nodeId: string;
  readonly cluster: string;
  readonly sessionId: string;
  readonly th1: Uint8Array;
}

/** Section 6.1. Errors: ScpError E_SIG  it is not this session's, of this connection, under this key and in its time. */
export function checkSessionToken(token: string, publicKey: KeyObject, facts: SessionFacts): void {
  let claims: JsonObject;
  try {
    claims = verifyToken(token, {
      key: {alg: 'RS256', publicKey}, typ: 'scp-session+jwt', issuer: facts.nodeId, audience: facts.cluster,
      now: Date.now() / 1000, leeway: CLOCKS_APART, longestLife: Infinity,
    });
  } catch (error) {
    throw new ScpError('E_SIG', `session ${error instanceof ScpError ? error.message.replace(/^\w+: /, '') : 'token'}`);
  }
  const cnf = member(claims, 'cnf');
  if (member(claims, 'sid') !== facts.sessionId) throw new ScpError('E_SIG', 'session token: sid: another session');
  if (!isObject(cnf) || member(cnf, 'scp_th') !== b64(facts.th1)) {
    throw new ScpError('E_SIG', 'session token: cnf: another connection');
  }
}
