// What a server decides and a client does not: its proof, replay, and who holds a bound token. The lying server of these tests is
// honest by them, and the vectors hold them. Source: docs/wire-3.0.md, sections 4.7, 4.11, 6.6 and 8.

import {verify} from 'node:crypto';

import {unb64} from '../../dist/bytes.js';
import {type Code, ScpError} from '../../dist/errors.js';
import {holderText, publicKey} from '../../dist/holder.js';
import {isObject, type Json, type JsonObject} from '../../dist/json.js';
import {bytes, member, onlyMembers, text} from '../../dist/shape.js';

/** Section 8: fresh, and once only. */
export class ReplayWindow {
  readonly #windowMs: number;
  readonly #seen = new Map<string, number>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  admit(now: number, ts: number, session: string, nonce: string): 'ok' | 'E_STALE' | 'E_REPLAY' {
    if (Math.abs(now - ts) > this.#windowMs) return 'E_STALE';
    for (const [key, until] of this.#seen) if (until < now) this.#seen.delete(key);
    const key = `${session} ${nonce}`;
    if (this.#seen.has(key)) return 'E_REPLAY';
    this.#seen.set(key, ts + this.#windowMs);
    return 'ok';
  }
}

/** The thumbprint of the key whose holder made this proof. Errors: ScpError E_SHAPE, E_AUTH. */
export function checkHolder(holder: Json, th1: Uint8Array, credential: string): string {
  if (!isObject(holder)) throw new ScpError('E_SHAPE', 'holder');
  onlyMembers(holder, 'holder', ['alg', 'jwk', 'v']);
  text(holder, 'alg', /^Ed25519$/);
  const {key, thumbprint} = publicKey(holder, 'jwk');
  const v = bytes(holder, 'v', 64);
  if (!verify(null, holderText(th1, credential), key, v)) throw new ScpError('E_AUTH', 'holder');
  return thumbprint;
}

/** Whether a token of these claims may be taken from who showed this. Errors: ScpError E_AUTH. */
export function checkBinding(claims: JsonObject, shown: Readonly<Record<string, string | undefined>>, required: boolean): void {
  const cnf = member(claims, 'cnf');
  if (cnf === undefined) {
    if (required) throw new ScpError('E_AUTH', 'cnf');
    return;
  }
  const names = isObject(cnf) ? Object.keys(shown).filter((name) => member(cnf, name) !== undefined) : [];
  if (!isObject(cnf) || names.length === 0) throw new ScpError('E_AUTH', 'cnf');
  for (const name of names) {
    const value = member(cnf, name);
    if (typeof value !== 'string' || unb64(value)?.length !== 32 || value !== shown[name]) throw new ScpError('E_AUTH', 'cnf');
  }
}

/** Section 4.7: what a server with these means takes of the offer; null where there is nothing in common. */
export function chooseProof(offered: readonly string[], mode: string, hasKey: boolean, hasSecret: boolean): string | null {
  const able: Readonly<Record<string, boolean>> = {ed25519: hasKey, hmac: hasSecret, none: mode === 'enterprise' && !hasSecret};
  return Object.keys(able).find((kind) => able[kind] && offered.includes(kind)) ?? null;
}

/** `ok`, or the code of what `work` throws. */
export function answerOf(work: () => void): 'ok' | Code {
  try {
    work();
    return 'ok';
  } catch (error) {
    if (error instanceof ScpError) return error.code;
    throw error;
  }
}
