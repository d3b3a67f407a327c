// One end of a WebSocket, made by npm's ws. Each line of the input is a script
// in JSON: {role, steps, cut, ...}. Two lines answer it: how the connection was
// opened (or the port, for a server), then what the steps that wait have seen.
import http from 'node:http';
import readline from 'node:readline';
import WebSocket, {WebSocketServer} from 'ws';

const answer = (value) => process.stdout.write(JSON.stringify(value) + '\n');
const bytes = (text) => Buffer.from(text ?? '', 'base64');

// What the other end did, in its order.
class Events {
  #held = [];
  #wake = () => {};

  constructor(socket) {
    let fault;
    const add = (event, data) => this.#add({event, data: data.toString('base64')});
    socket.on('message', (data, binary) => add(binary ? 'binary' : 'text', data));
    socket.on('ping', (data) => add('ping', data));
    socket.on('pong', (data) => add('pong', data));
    socket.on('error', (error) => { fault = error.message; });
    socket.on('close', (code, reason) =>
      this.#add({event: 'close', code, reason: reason.toString(), ...(fault && {fault})}));
  }

  #add(event) {
    this.#held.push(event);
    this.#wake();
  }

  // The next one; with `name` what precedes it is passed over.
  async next(name) {
    for (;;) {
      while (!this.#held.length) await new Promise((wake) => { this.#wake = wake; });
      const event = this.#held.shift();
      if (!name || event.event === name || event.event === 'close') return event;
    }
  }
}

// In one frame, or in frames of `cut` bytes with a ping after the first.
function send(socket, step, cut) {
  const data = bytes(step.data);
  const binary = step.kind === 'binary';
  const size = cut || data.length || 1;
  for (let at = 0; at === 0 || at < data.length; at += size) {
    socket.send(data.subarray(at, at + size), {binary, compress: false, fin: at + size >= data.length});
    if (at === 0 && step.ping !== undefined) socket.ping(bytes(step.ping));
  }
}

async function echo(socket, events) {
  for (let count = 0;; ++count) {
    const event = await events.next();
    if (event.event === 'close') return {...event, count};
    send(socket, {kind: event.event, data: event.data});
  }
}

async function play(socket, events, {steps, cut}) {
  const seen = [];
  for (const step of steps) {
    if (step.do === 'send') send(socket, step, cut);
    else if (step.do === 'ping') socket.ping(bytes(step.data));
    else if (step.do === 'close') socket.close(step.code, step.reason);
    else if (step.do === 'next') seen.push(await events.next(step.event));
    else if (step.do === 'echo') seen.push(await echo(socket, events));
    else throw new Error(`no step is named ${step.do}`);
  }
  socket.terminate();
  return {subprotocol: socket.protocol, extensions: socket.extensions, seen};
}

async function client(script) {
  const socket = new WebSocket(script.url, script.subprotocols, {maxPayload: 8 << 20});
  const events = new Events(socket);
  const refused = await new Promise((done) => {
    socket.on('open', () => done(null));
    socket.on('unexpected-response', (_, response) => done(response.statusCode));
  });
  answer(refused ? {refused} : {});
  if (refused) {
    socket.terminate();
    return {};
  }
  return play(socket, events, script);
}

async function server(script) {
  const listener = http.createServer();
  const sockets = new WebSocketServer({
    server: listener, maxPayload: 8 << 20, perMessageDeflate: true,
    handleProtocols: (offered) => script.insist ?? script.subprotocols.find((name) => offered.has(name)) ?? false});
  const played = new Promise((done, failed) => sockets.once('connection', (socket) => {
    play(socket, new Events(socket), script).then(done, failed);
  }));
  listener.listen(0, '127.0.0.1', () => answer({port: listener.address().port}));
  const result = await played;
  listener.close();
  return result;
}

for await (const line of readline.createInterface({input: process.stdin})) {
  const script = JSON.parse(line);
  answer(await (script.role === 'server' ? server : client)(script));
}
