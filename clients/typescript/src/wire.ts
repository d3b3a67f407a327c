// The WebSocket under a session: TLS 1.3 with a verified certificate, or plaintext to this machine alone.
// Source: docs/wire-3.0.md, sections 1 and 4.5; RFC 9266.

import {TLSSocket} from 'node:tls';

import {WebSocket} from 'ws';

import {ConnectionLost, ScpError} from './errors.js';
import type {Binding} from './handshake.js';

const PATH = '/scp/v3';
const SUBPROTOCOL = 'scp.v3.json';
export const MESSAGE_BYTES = 16 << 20;
const EXPORTER_BYTES = 32;
const EXPORTER_LABEL = 'EXPORTER-Channel-Binding';
/** How long the other side has to answer a close frame. */
const CLOSE_MS = 2000;

/** PEM, as texts or bytes. */
export interface TlsFiles {
  readonly ca?: string | Uint8Array | undefined;
  readonly certificate?: {readonly cert: string | Uint8Array; readonly key: string | Uint8Array} | undefined;
}

/** With the path of the protocol where it has none. Errors: TypeError  no URL that is safe to dial. */
export function readUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'ws:' && parsed?.protocol !== 'wss:') {
    throw new TypeError('url: must be a ws:// or wss:// URL');
  }
  if (parsed.username || parsed.password || parsed.search || parsed.hash) {
    throw new TypeError('url: must have no user, password, query or fragment');
  }
  if (parsed.protocol === 'ws:' && !isLoopback(parsed.hostname)) {
    throw new TypeError('url: ws:// is for loopback only; use wss://');
  }
  if (parsed.pathname === '/') parsed.pathname = PATH;
  return parsed;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

export interface Listener {
  message(data: Buffer, isBinary: boolean): void;
  /** Once, and nothing comes after it. */
  ended(failure: ScpError | ConnectionLost): void;
}

/** One connection. What comes in before listen() waits in the socket. */
export class Wire {
  readonly binding: Binding;
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket, binding: Binding) {
    this.#socket = socket;
    this.binding = binding;
  }

  /** Errors: ConnectionLost  no connection, or one that is not what this client takes; its `cause` says why. */
  static dial(url: URL, {ca, certificate}: TlsFiles, timeoutMs: number): Promise<Wire> {
    const socket = new WebSocket(url, SUBPROTOCOL, {
      perMessageDeflate: false, followRedirects: false, maxPayload: MESSAGE_BYTES, handshakeTimeout: timeoutMs,
      rejectUnauthorized: true, minVersion: 'TLSv1.3',
      ...(ca === undefined ? {} : {ca: Buffer.from(ca)}),
      ...(certificate === undefined ? {} : {cert: Buffer.from(certificate.cert), key: Buffer.from(certificate.key)}),
    });
    return new Promise((resolve, reject) => {
      let binding: Binding | undefined;
      socket.once('upgrade', ({socket: stream}) => {
        binding = bindingOf(url, stream);
      });
      socket.on('error', (cause) => reject(new ConnectionLost('no connection to the server', {cause})));
      socket.once('open', () => {
        socket.pause();
        socket.removeAllListeners();
        // One that ends while nobody listens is seen by listen().
        socket.on('error', () => socket.terminate());
        if (binding) return resolve(new Wire(socket, binding));
        socket.terminate();
        reject(new ConnectionLost('no TLS 1.3 with a verified certificate'));
      });
    });
  }

  listen(listener: Listener): void {
    let fault: Error | undefined;
    const ended = (closeCode: number, reason: string): void => {
      this.#socket.removeAllListeners();
      this.#socket.on('error', () => this.#socket.terminate());
      listener.ended(failureOf(closeCode, reason, fault));
    };
    this.#socket.removeAllListeners('error');
    this.#socket.on('error', (error) => {
      fault = error;
    });
    this.#socket.on('message', (data, isBinary) => listener.message(data as Buffer, isBinary));
    this.#socket.once('close', (code, reason) => ended(code, reason.toString('utf8')));
    if (this.#socket.readyState === WebSocket.CLOSED) ended(1006, '');
    else this.#socket.resume();
  }

  send(message: string | Buffer): void {
    this.#socket.send(message);
  }

  /** Ends the connection, at once where the other side does not answer. */
  close(code: number, reason = ''): void {
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref();
  }
}

/** Undefined where the transport is not what the URL asks for. */
function bindingOf(url: URL, stream: unknown): Binding | undefined {
  if (url.protocol === 'ws:') return {channel: 'none', bytes: new Uint8Array()};
  if (!(stream instanceof TLSSocket) || !stream.authorized || stream.getProtocol() !== 'TLSv1.3') return undefined;
  // Without a context; in TLS 1.3 an empty one is the same (RFC 8446, section 7.5).
  const bytes = stream.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0));
  return {channel: 'tls-exporter', bytes};
}

function failureOf(closeCode: number, reason: string, fault: Error | undefined): ScpError | ConnectionLost {
  if (fault && 'code' in fault && fault.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') {
    return new ScpError('E_LIMIT', `a message over ${MESSAGE_BYTES} bytes`);
  }
  return new ConnectionLost(`the connection ended with ${closeCode}`, {closeCode, reason, ...(fault ? {cause: fault} : {})});
}
