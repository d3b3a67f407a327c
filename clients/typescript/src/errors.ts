// What this package throws. Source: docs/wire-3.0.md, sections 1.4 and 11.

/** Every refusal of the protocol: its number, and the WebSocket code where it ends a connection. */
export const REFUSALS = {
  E_PARSE: {num: 4000, close: 4400},
  E_SHAPE: {num: 4001, close: 4400},
  E_OP: {num: 4004, close: 4400},
  E_VERSION: {num: 4026, close: 4426},
  E_STATE: {num: 4009, close: 4400},
  E_AUTH: {num: 4010, close: 4401},
  E_EXPIRED: {num: 4011, close: 4401},
  E_SCOPE: {num: 4031, close: 4403},
  E_POLICY: {num: 4032, close: 4403},
  E_CONSENT: {num: 4033, close: 4403},
  E_REPLAY: {num: 4091, close: 4409},
  E_STALE: {num: 4092, close: 4409},
  E_SIG: {num: 4093, close: 4401},
  E_TOOL: {num: 4041, close: 4400},
  E_SHADOW: {num: 4042, close: 4400},
  E_PIN: {num: 4043, close: 4400},
  E_LIMIT: {num: 4130, close: 4413},
  E_RATE: {num: 4290, close: 4429},
  E_BUSY: {num: 5030, close: 4503},
  E_TIMEOUT: {num: 4080, close: 4408},
  E_CANCELLED: {num: 4990, close: 4400},
  E_UPSTREAM: {num: 5020, close: 4500},
  E_INTERNAL: {num: 5000, close: 4500},
} as const;

export type Code = keyof typeof REFUSALS;

export function isCode(text: string): text is Code {
  return Object.hasOwn(REFUSALS, text);
}

export interface RefusalDetails {
  /** Milliseconds after which the same request may succeed. */
  retryMs?: number;
  data?: Readonly<Record<string, unknown>>;
  /** Whether the server said so, or this client found it. */
  from?: 'server' | 'client';
}

/** A refusal, by the code of section 11. Its text names a member and a rule, never a secret. */
export class ScpError extends Error {
  override readonly name = 'ScpError';
  readonly code: Code;
  readonly num: number;
  readonly retryMs: number | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly from: 'server' | 'client';

  constructor(code: Code, message: string, details: RefusalDetails = {}) {
    super(`${code}: ${message}`);
    this.code = code;
    this.num = REFUSALS[code].num;
    this.retryMs = details.retryMs;
    this.data = details.data;
    this.from = details.from ?? 'client';
  }
}

/**
 * The connection could not be made, or ended. Whether a call that was under way ran is not known then. `code` is the
 * refusal that the server named as its reason.
 */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly closeCode: number | undefined;
  readonly code: Code | undefined;

  constructor(message: string, details: {closeCode?: number; reason?: string; cause?: unknown} = {}) {
    super(message, details.cause === undefined ? {} : {cause: details.cause});
    this.closeCode = details.closeCode;
    this.code = details.reason !== undefined && isCode(details.reason) ? details.reason : undefined;
  }
}
