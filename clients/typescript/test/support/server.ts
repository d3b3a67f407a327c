// A server of the protocol for these tests, on loopback and without TLS: honest by default, and lying where a test says
// so. It checks the client as section 3.2 asks, so that a client that breaks a rule fails the tests of honest servers too.

import {randomBytes} from 'node:crypto';
import type {AddressInfo} from 'node:net';

import {type WebSocket, WebSocketServer} from 'ws';

import {b64, equal, hmac, utf8} from '../../dist/bytes.js';
import {makeEnvelope, makeUlid, readEnvelope, type Received, without} from '../../dist/envelope.js';
import {type Code, REFUSALS, ScpError} from '../../dist/errors.js';
import {canonical, isObject, type JsonObject, parse, toWire} from '../../dist/json.js';
import * as keys from '../../dist/keys.js';
import {RecordStream} from '../../dist/records.js';
import {publicKey} from '../../dist/holder.js';
import {bytes, member, object, text, texts} from '../../dist/shape.js';
import {makeShare, type Mode, type Suite, SUITES} from '../../dist/suites.js';
import {checkHolder, ReplayWindow} from './server_rules.ts';

export const SECRETS = {
  secretKey: 'Zq7rW2vXk9LmT4pYd8HnJc3GfB6sQe1u', kdfSalt: 'h5Rk8vNq2wXz7LpM', apiKey: 'Wd4nT8kQz2LxV7mRb5YhJc9P',
} as const;
const NODE = 'node-t';

type Step = 'welcome' | 'ready';
export type Message = JsonObject;

/** Where a test may lie. Each gets what an honest server would send, and returns what is sent in its place. */
export interface Lies {
  secretKey?: string;
  suite?: Suite;
  /** Takes jwt too, where it is told which. */
  token?: (auth: Received) => boolean;
  /** The payload, before proof or confirmation are made of it. */
  payload?: (step: Step, p: JsonObject, peer: Peer) => JsonObject;
  /** The whole message, after that. */
  message?: (step: Step, message: Message, peer: Peer) => Message;
  /** The bytes, after that. */
  bytes?: (step: Step | 'answer', data: string | Buffer, peer: Peer) => (string | Buffer)[];
  /** Instead of the honest answer to a request of a ready session. */
  answer?: (request: Received, peer: Peer) => void;
}

/** One connection, as the server has it. */
export class Peer {
  readonly received: Received[] = [];
  readonly sent: (string | Buffer)[] = [];
  readonly sessionId = makeUlid();
  readonly closed: Promise<{code: number; reason: string}>;
  /** What this server found against the client. */
  fault: ScpError | undefined;
  suite: Suite = 'NONE';
  keys: keys.Keys | undefined;
  th1: Buffer = Buffer.alloc(0);
  th2: Buffer = Buffer.alloc(0);
  transcript: Buffer = Buffer.alloc(0);
  sender: RecordStream | undefined;
  receiver: RecordStream | undefined;
  readonly #socket: WebSocket;
  readonly #server: Server;
  readonly #replay = new ReplayWindow(60_000);

  constructor(socket: WebSocket, server: Server) {
    this.#socket = socket;
    this.#server = server;
    this.closed = new Promise((resolve) => socket.once('close', (code, reason) => resolve({code, reason: reason.toString()})));
    socket.on('error', () => socket.terminate());
    socket.on('message', (data, isBinary) => this.#take(data as Buffer, isBinary));
  }

  close(code: number, reason = ''): void {
    this.#socket.close(code, reason);
  }

  /** Sends bytes as they are. */
  raw(data: string | Buffer): void {
    this.sent.push(data);
    this.#socket.send(data);
  }

  /** An envelope as it would go out, authenticated. */
  seal(message: object): string | Buffer {
    if (this.sender) return this.sender.seal(utf8(toWire(message)));
    return this.sign(message);
  }

  sign(message: object, key = this.#made()['s2c sig'], sig: object = {}): string {
    const v = b64(keys.signature(key, this.transcript, canonical(message)));
    return toWire({...message, sig: {alg: 'HS256', kid: 's', v, ...sig}});
  }

  /** An answer to `request`; `changes` replace members of the envelope. */
  envelope(request: Received, t: 'res' | 'err' | 'evt', p: object, changes: object = {}): object {
    return {...makeEnvelope(t, request.op, p, this.sessionId), id: request.id, ...changes};
  }

  reply(request: Received, p: object, changes: object = {}): void {
    this.#send('answer', this.seal(this.envelope(request, 'res', p, changes)));
  }

  refuse(request: Received, code: Code, more: object = {}): void {
    this.#send('answer', this.seal(this.envelope(request, 'err', {code, num: REFUSALS[code].num, msg: 'no', ...more})));
  }

  event(request: Received, op: string, seq: number, p: object): void {
    this.#send('answer', this.seal(this.envelope(request, 'evt', p, {op, seq})));
  }

  rekey(request: Received, share?: Buffer): void {
    const {group, aead} = SUITES[this.suite];
    if (!aead || !this.keys) throw new Error('suite NONE has no rekey');
    const own = makeShare(group);
    const peer = bytes(request.p, 'eph');
    const epoch = (this.sender?.epoch ?? 0) + 1;
    this.reply(request, {eph: b64(share ?? own.public)});
    const transcript = keys.makeThR(this.th2, epoch, peer, own.public);
    this.keys = keys.schedule(transcript, own.agree(peer), this.keys.export);
    this.#startRecords(transcript, epoch);
  }

  #made(): keys.Keys {
    if (!this.keys) throw new Error('no keys yet');
    return this.keys;
  }

  #send(step: Step | 'answer', data: string | Buffer): void {
    for (const one of this.#server.lies.bytes?.(step, data, this) ?? [data]) this.raw(one);
  }

  #startRecords(transcript: Buffer, epoch: number): void {
    const {aead} = SUITES[this.suite];
    const of = this.#made();
    if (!aead) return;
    this.sender = new RecordStream({aead, key: of['s2c key'], iv: of['s2c iv'], transcript, epoch});
    this.receiver = new RecordStream({aead, key: of['c2s key'], iv: of['c2s iv'], transcript, epoch});
  }

  #take(data: Buffer, isBinary: boolean): void {
    try {
      const message = this.#open(data, isBinary);
      this.received.push(message);
      if (this.received.length === 1) this.#hello(data, message);
      else if (this.received.length === 2) this.#auth(message);
      else (this.#server.lies.answer ?? this.#server.answer)(message, this);
    } catch (error) {
      this.fault = error instanceof ScpError ? error : new ScpError('E_INTERNAL', String(error));
      this.close(4400);
    }
  }

  #open(data: Buffer, isBinary: boolean): Received {
    if (isBinary !== (this.receiver !== undefined)) throw new ScpError('E_STATE', 'text or record');
    const message = readEnvelope(parse(this.receiver ? this.receiver.open(data) : data));
    if ((message.sig !== undefined) !== (this.keys !== undefined && !this.receiver)) throw new ScpError('E_SHAPE', 'sig');
    if (message.aud !== (this.keys ? NODE : '*')) throw new ScpError('E_REPLAY', 'aud');
    if (!message.sig) return message;
    const v = keys.signature(this.#made()['c2s sig'], this.transcript, canonical(without(message.whole, 'sig')));
    if (message.sig.kid !== 'c' || !equal(v, message.sig.v)) throw new ScpError('E_SIG', 'signature');
    const verdict = this.#replay.admit(Date.now(), message.ts, this.sessionId, text(message.whole, 'n'));
    if (verdict !== 'ok') throw new ScpError(verdict, 'n');
    return message;
  }

  #hello(data: Buffer, hello: Received): void {
    const {lies, mode} = this.#server;
    const {p} = hello;
    if (text(p, 'want_mode') !== mode) throw new ScpError('E_AUTH', 'want_mode');
    const suite = texts(p, 'suites', 8)[0] as Suite;
    this.suite = lies.suite ?? suite;
    const {group} = SUITES[this.suite];
    const share = makeShare(group);
    const honest: JsonObject = {
      version: '3.0', mode, suite: this.suite, nonce_s: b64(randomBytes(32)), node_id: NODE, cluster: 'cluster-t',
      auth: [...(lies.token ? ['api_key', 'jwt'] : ['api_key']), 'session'], limits: {message_bytes: 1 << 20, in_flight: 64, deadline_ms: 30_000, idle_ms: 300_000},
      channel: 'none', eph_s: b64(share.public),
    };
    const welcome = {...makeEnvelope('res', 'session.hello', lies.payload?.('welcome', honest, this) ?? honest, ''), id: hello.id};
    const psk = keys.makePsk(utf8(lies.secretKey ?? SECRETS.secretKey), utf8(SECRETS.kdfSalt));
    const th1 = keys.makeTh1(data, utf8(canonical(welcome)), Buffer.alloc(0));
    const whole = {...welcome, p: {...welcome.p, proof: {kind: 'hmac', v: b64(keys.proof(psk, th1))}}};
    const shares = object(p, 'eph_c');
    const dh = share.agree(bytes(shares, group));
    this.#send('welcome', toWire(lies.message?.('welcome', whole as unknown as Message, this) ?? whole));
    this.th1 = this.transcript = th1;
    this.keys = keys.schedule(th1, dh, psk);
    this.#startRecords(th1, 0);
  }

  #auth(auth: Received): void {
    const {lies} = this.#server;
    const whole = without(auth.whole, 'sig');
    const thAuth = keys.makeThAuth(this.th1, utf8(canonical({...whole, p: without(auth.p, 'confirm')})));
    if (!equal(bytes(auth.p, 'confirm', 32), hmac(this.#made()['confirm c'], thAuth))) throw new ScpError('E_SIG', 'confirm');
    const credential = text(auth.p, 'credential');
    const method = text(auth.p, 'method');
    const isGood = method === 'api_key' ? credential === keys.apiKeyCredential(SECRETS.apiKey, this.th1)
      : method === 'session' ? this.#server.follow(credential, checkHolder(member(auth.p, 'holder') ?? null, this.th1, credential)) : lies.token?.(auth);
    if (!isGood && method === 'session') {
      this.#send('answer', this.seal(this.envelope(auth, 'err', {code: 'E_AUTH', num: REFUSALS.E_AUTH.num, msg: 'no'}, {aud: ''})));
      return this.close(4401, 'E_AUTH');
    }
    if (!isGood) throw new ScpError('E_AUTH', 'credential');
    const honest: JsonObject = {
      session_id: this.sessionId, session_token: this.#server.issue(publicKey(auth.p, 'session_key').thumbprint), principal: {sub: 'api-key', iss: NODE}, scopes: ['cap:list'],
      expires_at: Date.now() + 900_000,
    };
    const ready = {...makeEnvelope('res', 'session.auth', lies.payload?.('ready', honest, this) ?? honest, ''), id: auth.id};
    this.th2 = keys.makeTh2(thAuth, utf8(canonical(ready)));
    const confirmed = {...ready, p: {...ready.p, confirm: b64(hmac(this.#made()['confirm s'], this.th2))}};
    const sent = lies.message?.('ready', confirmed as unknown as Message, this) ?? confirmed;
    this.#send('ready', this.seal(sent));
    this.transcript = this.th2;
  }
}

export class Server {
  readonly mode: Mode;
  lies: Lies;
  readonly peers: Peer[] = [];
  readonly #sockets: WebSocketServer;
  readonly #issued = new Map<string, string>();

  private constructor(mode: Mode, lies: Lies, sockets: WebSocketServer) {
    this.mode = mode;
    this.lies = lies;
    this.#sockets = sockets;
    sockets.on('connection', (socket) => this.peers.push(new Peer(socket, this)));
  }

  static async start(mode: Mode, lies: Lies = {}): Promise<Server> {
    const sockets = new WebSocketServer({
      host: '127.0.0.1', port: 0, path: '/scp/v3', perMessageDeflate: false, handleProtocols: () => 'scp.v3.json',
    });
    await new Promise((resolve) => sockets.once('listening', resolve));
    return new Server(mode, lies, sockets);
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#sockets.address() as AddressInfo).port}`;
  }

  /** The one connection there is. */
  get peer(): Peer {
    const [peer] = this.peers;
    if (!peer || this.peers.length > 1) throw new Error(`${this.peers.length} connections`);
    return peer;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    await new Promise((resolve) => this.#sockets.close(resolve));
  }

  /** Section 6.8: a token that is bound to the key of this thumbprint. */
  issue(thumbprint: string): string {
    const token = `e30.e30.AA${this.#issued.size || ''}`;
    this.#issued.set(token, thumbprint);
    return token;
  }

  /** Whether the token is taken, which it is once. */
  follow(token: string, thumbprint: string): boolean {
    const isTaken = this.#issued.get(token) === thumbprint;
    if (isTaken) this.#issued.set(token, '');
    return isTaken;
  }

  /** As an honest server answers. */
  answer(request: Received, peer: Peer): void {
    switch (request.op) {
      case 'session.close':
        peer.reply(request, {});
        return peer.close(1000);
      case 'session.rekey':
        return peer.rekey(request);
      case 'session.refresh':
        return peer.reply(request, {session_token: 'e30.e30.AQ', expires_at: Date.now() + 1_800_000});
      case 'cap.list':
        return peer.reply(request, {capabilities: [], etag: 'x'});
      case 'tool.invoke':
        return peer.reply(request, resultOf(request.p));
      case 'tool.cancel':
        return undefined;
      default:
        return peer.reply(request, {});
    }
  }
}

/** An answer that has the arguments of the call. */
export function resultOf(p: JsonObject, changes: object = {}): JsonObject {
  const args = isObject(p['args']) ? p['args'] : {};
  return {
    content: [{type: 'text', media_type: 'application/json', text: canonical(args)}], structured: args, is_error: false,
    usage: {ms: 1, bytes: 2}, redactions: 0, audit: {seq: 7, hash: 'a'.repeat(64)}, ...changes,
  };
}
