// The client as a program that tests in another language drive: a command in each line of the input, and for each a line
// with its `id` and what came of it. Commands run side by side. It ends with its input.

import {readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';
import {inspect} from 'node:util';

import {checkReceipt, Client, type ClientOptions, ConnectionLost, type FlowOptions, type InvokeOptions, type Receipt, type ReceiptKey, ScpError, type ToolResult} from '@securetool/client';

import {toWire} from '../../dist/json.js';

interface Command {
  readonly id: number;
  readonly do: string;
  readonly of?: number;
  readonly options?: Record<string, unknown>;
  readonly tool?: string;
  readonly of_run?: string;
  readonly op?: string;
  readonly p?: object;
  readonly receipt?: Receipt;
  readonly key?: ReceiptKey;
}

let client: Client | undefined;
const calls = new Map<number, AbortController>();
const tokens = new Map<number, (token: string) => void>();
let asked = 0;

/** A double stays one for the reader, whatever its size. */
function say(line: object): void {
  process.stdout.write(`${toWire(line)}\n`);
}

/** Options as the constructor takes them; files are named, and `token: true` asks for a fresh one each time. */
function make(options: Record<string, unknown>): Client {
  const file = (name: string): Record<string, Buffer> => (options[name] === undefined ? {} : {[name]: readFileSync(options[name] as string)});
  const pair = options['certificate'] as {cert: string; key: string} | undefined;
  return new Client({
    ...options, ...file('ca'), ...file('tokenKey'), ...file('holderKey'),
    ...(pair ? {certificate: {cert: readFileSync(pair.cert), key: readFileSync(pair.key)}} : {}),
    ...(isFile(options['serverKey']) ? file('serverKey') : {}),
    ...(options['token'] === true ? {token: askForToken} : {}),
  } as unknown as ClientOptions);
}

/** Not a thumbprint. */
function isFile(key: unknown): boolean {
  return typeof key === 'string' && key.includes('/');
}

function askForToken(): Promise<string> {
  const {promise, resolve} = Promise.withResolvers<string>();
  tokens.set(++asked, resolve);
  say({id: 0, token: asked});
  return promise;
}

/** As the server wrote it, so that it can be compared with what another client got. */
function onTheWire({content, structured, isError, usage, redactions, audit, repeats}: ToolResult): object {
  const parts = content.map((part) => {
    return part.type === 'text'
      ? {type: 'text', media_type: part.mediaType, text: part.text}
      : {type: 'data', media_type: part.mediaType, data: Buffer.from(part.data).toString('base64url')};
  });
  return {content: parts, ...(structured === undefined ? {} : {structured}), is_error: isError, usage, redactions, audit,
    ...(repeats === undefined ? {} : {repeats})};
}

async function invoke(command: Command): Promise<object> {
  const stop = new AbortController();
  calls.set(command.id, stop);
  const options: InvokeOptions = {
    ...command.options, signal: stop.signal,
    ...(command.options?.['progress'] === true ? {onProgress: (progress) => say({id: command.id, progress})} : {}),
  };
  return onTheWire(await opened().invokeTool(command.tool ?? '', command.p, options));
}

function flow(command: Command): Promise<object> {
  const onProgress: FlowOptions['onProgress'] = (progress) => say({id: command.id, progress});
  return opened().flowRun(command.of_run ?? '', {...command.options, onProgress});
}

function opened(): Client {
  if (!client) throw new TypeError('make: comes first');
  return client;
}

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'make': return void (client = make(command.options ?? {}));
    case 'connect': return opened().connect();
    case 'reconnect': return opened().reconnect();
    case 'info': return {...opened().info, state: opened().state, epoch: opened().epoch};
    case 'list': return opened().listCapabilities();
    case 'get': return opened().getCapability(command.tool ?? '');
    case 'invoke': return invoke(command);
    case 'abort': return void calls.get(command.of ?? 0)?.abort(new Error('stopped'));
    case 'token': return void tokens.get(command.of ?? 0)?.(command.tool ?? '');
    case 'outcome': return opened().outcomeOf(command.tool ?? '');
    case 'flow': return flow(command);
    case 'request': return opened().request(command.op ?? '', command.p);
    case 'refresh': return opened().refresh();
    case 'rekey': return opened().rekey();
    case 'disconnect': return opened().disconnect();
    case 'inspect': return inspect(client, {showHidden: true, depth: 20});
    case 'receipt': return checkReceipt(command.receipt ?? {seq: 0, hash: ''}, command.key ?? {secret: ''});
    default: throw new TypeError(`do: ${command.do}`);
  }
}

function failure(error: unknown): object {
  const known = error instanceof ScpError || error instanceof ConnectionLost ? {...error} : {};
  const {name, message, cause} = error instanceof Error ? error : new Error(String(error));
  return {...known, name, message, ...(cause instanceof Error ? {cause: cause.message} : {}), printed: inspect(error, {showHidden: true, depth: 20})};
}

for await (const line of createInterface({input: process.stdin})) {
  const command = JSON.parse(line) as Command;
  run(command).then((value) => say({id: command.id, value: value ?? null}), (error: unknown) => say({id: command.id, error: failure(error)}));
}
process.exit();
