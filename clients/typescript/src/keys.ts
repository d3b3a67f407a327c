// Transcripts, and the keys that are made of them. Source: docs/wire-3.0.md, sections 3.1, 4.5 to 4.9 and 7.1.

import {b64, counted, hkdf, hkdfExpand, hkdfExtract, hmac, sha256, u32, utf8} from './bytes.js';

const KEY_BYTES = 32;
const LABELS = {
  'c2s key': 32, 's2c key': 32, 'c2s iv': 12, 's2c iv': 12, 'c2s sig': 32, 's2c sig': 32, 'confirm c': 32, 'confirm s': 32,
  export: 32,
} as const;

export type Label = keyof typeof LABELS;
export type Keys = Readonly<Record<Label, Buffer>>;

/** The key that both sides have before they meet; zeros where `secret` is empty. */
export function makePsk(secret: Uint8Array, salt: Uint8Array): Buffer {
  return secret.length === 0 ? Buffer.alloc(KEY_BYTES) : hkdf(secret, salt, 'scp3 psk', KEY_BYTES);
}

/** The keys of an epoch: of the first by `th1` and the psk, of later ones by `th_r` and the key `export` before. */
export function schedule(transcript: Uint8Array, dh: Uint8Array, before: Uint8Array): Keys {
  const prk = hkdfExtract(transcript, Buffer.concat([dh, before]));
  const keys = Object.entries(LABELS).map(([label, length]) => {
    return [label, hkdfExpand(prk, Buffer.concat([utf8(`scp3 ${label}`), transcript]), length)];
  });
  return Object.fromEntries(keys) as Keys;
}

export function makeTh1(hello: Uint8Array, welcome0: Uint8Array, binding: Uint8Array): Buffer {
  return sha256(utf8('SCP3-TH'), counted(hello), counted(welcome0), counted(binding));
}

export function makeThAuth(th1: Uint8Array, auth0: Uint8Array): Buffer {
  return sha256(utf8('SCP3-AUTH'), th1, auth0);
}

export function makeTh2(thAuth: Uint8Array, ready0: Uint8Array): Buffer {
  return sha256(utf8('SCP3-TH2'), thAuth, ready0);
}

export function makeThR(th2: Uint8Array, epoch: number, ephC: Uint8Array, ephS: Uint8Array): Buffer {
  return sha256(utf8('SCP3-REKEY'), th2, u32(epoch), counted(ephC), counted(ephS));
}

/** By which the server shows that it has the secret, before the client shows anything. */
export function proof(psk: Uint8Array, th1: Uint8Array): Buffer {
  return hmac(hkdfExpand(psk, utf8('scp3 proof'), KEY_BYTES), utf8('SCP3-PROOF\0'), th1);
}

/** The credential of method api_key: good for one connection, and not the key. */
export function apiKeyCredential(apiKey: string, th1: Uint8Array): string {
  const named = /^scpk_([a-z][a-z0-9-]{0,63})_[A-Za-z0-9_-]{43}$/.exec(apiKey);
  if (named) return `${named[1]}.${b64(hmac(sha256(utf8(apiKey)), utf8('scp3 apikey'), th1))}`;
  return b64(hmac(utf8(apiKey), utf8('scp3 apikey'), th1));
}

export function signature(key: Uint8Array, transcript: Uint8Array, canonicalEnvelope: string): Buffer {
  return hmac(key, utf8('SCP3-MSG\0'), transcript, utf8(canonicalEnvelope));
}
