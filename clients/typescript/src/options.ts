// What a client is made of. What is not safe or not whole is refused before anything is dialled.
// Source: docs/wire-3.0.md, sections 4.4 to 4.8 and 7.1.

import type {KeyObject} from 'node:crypto';

import {utf8} from './bytes.js';
import type {Offer} from './handshake.js';
import {readHolderKey} from './holder.js';
import {makePsk} from './keys.js';
import {readServerKey} from './node_key.js';
import type {RekeyAfter} from './session.js';
import {checkSecrets} from './strength.js';
import {isMode, type Mode, type Suite, SUITES} from './suites.js';
import {readTokenKey} from './tokens.js';
import {readUrl, type TlsFiles} from './wire.js';

const DEFAULT_SUITES: readonly Suite[] = ['X25519_A256GCM_S256'];
/** Below the most that section 7.1 allows: 2^22 records, 32 GiB, an hour. */
const REKEY_AFTER: RekeyAfter = {records: 2 ** 21, bytes: 2 ** 34, ms: 45 * 60_000};
const ANSWER_MS = 30_000;
const GATHERED_BYTES = 64 << 20;

export type TokenSource = string | (() => string | Promise<string>);

export interface ClientOptions {
  /** `wss://…`, or `ws://` on this machine. Without a path it is `/scp/v3`. */
  url: string;
  mode: Mode;
  /**
   * What the server must prove itself by: its node key, as a thumbprint or in PEM; several while it is changed. Then no
   * secret is needed, and nobody who has it can pose as the server.
   */
  serverKey?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /**
   * By it the server proves itself where `serverKey` is not given. Modes basic and encrypted then need it; in mode simple
   * `apiKey` can stand alone.
   */
  secretKey?: string | undefined;
  /** The one before, while it is changed: a server that proves it is taken too. */
  secretKeyPrevious?: string | undefined;
  kdfSalt?: string | undefined;
  /** Modes simple and encrypted. */
  apiKey?: string | undefined;
  /** A client or access token, or what gives a fresh one for each connection and each refresh. */
  token?: TokenSource | undefined;
  /** The authority of the server's certificate, in PEM; those of the system without. */
  ca?: string | Uint8Array | undefined;
  /** Of this client, in PEM. Without `token` and `apiKey` it is the credential (modes basic, enterprise). */
  certificate?: TlsFiles['certificate'];
  /** The RSA public key, in PEM, that the server's session tokens must be signed with. */
  tokenKey?: string | Uint8Array | undefined;
  /** The Ed25519 private key, in PEM, that `token` is bound to. */
  holderKey?: string | Uint8Array | undefined;
  /** Of mode encrypted, the best first. */
  suites?: readonly Suite[] | undefined;
  /** For TCP, TLS and the WebSocket: 30 s. */
  connectTimeoutMs?: number | undefined;
  /** For each answer that no tool has a part in, those of the handshake too: 30 s. */
  answerTimeoutMs?: number | undefined;
  /** The most that is gathered of one answer that comes in pieces or pages: 64 MiB. */
  maxGatheredBytes?: number | undefined;
  rekeyAfter?: Partial<RekeyAfter> | undefined;
}

/** The same, checked. */
export interface Settings {
  readonly url: URL;
  readonly offer: Offer;
  readonly apiKey: string;
  readonly token: TokenSource | undefined;
  readonly tls: TlsFiles;
  readonly tokenKey: KeyObject | undefined;
  readonly holderKey: KeyObject | undefined;
  readonly connectMs: number;
  readonly answerMs: number;
  readonly maxGatheredBytes: number;
  readonly rekeyAfter: RekeyAfter;
}

/** Errors: TypeError  names the option and the rule, never a value. */
export function readOptions(options: ClientOptions): Settings {
  const {mode, secretKey = '', secretKeyPrevious = '', kdfSalt = '', apiKey = ''} = options;
  if (!isMode(mode)) throw new TypeError('mode: must be simple, basic, encrypted or enterprise');
  checkSecrets({secretKey, secretKeyPrevious, kdfSalt, apiKey});
  checkCredential(options);
  const shared = secretKey || (mode === 'simple' ? apiKey : '');
  const pins = readPins(options.serverKey);
  if (shared === '' && pins.length === 0 && mode !== 'enterprise') {
    throw new TypeError('serverKey: by it, or by secretKey, the server proves itself, and this mode needs it');
  }
  const psks = [shared, secretKeyPrevious].filter((one) => one !== '').map((one) => makePsk(utf8(one), utf8(kdfSalt)));
  return {
    url: readUrl(options.url),
    offer: {mode, suites: mode === 'encrypted' ? readSuites(options.suites ?? DEFAULT_SUITES) : ['NONE'], psks, pins},
    apiKey,
    token: options.token,
    tls: {ca: options.ca, certificate: options.certificate},
    tokenKey: options.tokenKey === undefined ? undefined : readTokenKey(options.tokenKey),
    holderKey: options.holderKey === undefined ? undefined : readHolderKey(options.holderKey),
    connectMs: readCount('connectTimeoutMs', options.connectTimeoutMs ?? ANSWER_MS),
    answerMs: readCount('answerTimeoutMs', options.answerTimeoutMs ?? ANSWER_MS),
    maxGatheredBytes: readCount('maxGatheredBytes', options.maxGatheredBytes ?? GATHERED_BYTES),
    rekeyAfter: readRekeyAfter({...REKEY_AFTER, ...options.rekeyAfter}),
  };
}

function readPins(given: ClientOptions['serverKey']): readonly string[] {
  if (given === undefined) return [];
  const keys = typeof given === 'string' || given instanceof Uint8Array ? [given] : given;
  if (keys.length === 0) throw new TypeError('serverKey: names no key');
  return keys.map(readServerKey);
}

function checkCredential({mode, token, apiKey, certificate, holderKey}: ClientOptions): void {
  if (holderKey !== undefined && token === undefined) {
    throw new TypeError('holderKey: is the key of a token, and there is none');
  }
  if (token !== undefined) {
    if (token === '' || !['string', 'function'].includes(typeof token)) {
      throw new TypeError('token: must be a text or a function');
    }
    return;
  }
  if (apiKey) {
    if (mode === 'simple' || mode === 'encrypted') return;
    throw new TypeError('apiKey: only modes simple and encrypted take it');
  }
  if (!certificate) throw new TypeError('token: there is no credential; give token, apiKey or certificate');
  if (mode === 'simple' || mode === 'encrypted') throw new TypeError('certificate: is no credential in this mode');
}

function readSuites(suites: readonly Suite[]): readonly Suite[] {
  const known = suites.every((one) => Object.hasOwn(SUITES, one) && one !== 'NONE');
  if (suites.length === 0 || suites.length > 8 || !known) throw new TypeError('suites: must name suites with records');
  return [...suites];
}

function readRekeyAfter(after: RekeyAfter): RekeyAfter {
  for (const name of ['records', 'bytes', 'ms'] as const) {
    if (!(readCount(`rekeyAfter.${name}`, after[name]) <= REKEY_AFTER[name])) {
      throw new TypeError(`rekeyAfter.${name}: must be at most ${REKEY_AFTER[name]}`);
    }
  }
  return after;
}

function readCount(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) throw new TypeError(`${name}: must be an integer from 1 on`);
  return value;
}
