// What a client does with an honest server.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {setImmediate as immediate} from 'node:timers/promises';
import {inspect} from 'node:util';

import {Client} from '../dist/client.js';
import {ConnectionLost, ScpError} from '../dist/errors.js';
import {thumbprint} from '../dist/holder.js';
import type {Received} from '../dist/envelope.js';
import {type Mode, type Suite, SUITES} from '../dist/suites.js';
import {meet, meetReady} from './support/meet.ts';
import {type Peer, resultOf, SECRETS} from './support/server.ts';

const MODES: readonly Mode[] = ['simple', 'encrypted'];
const RECORDS = (Object.keys(SUITES) as Suite[]).filter((suite) => suite !== 'NONE');
const refused = (code: string) => (error: unknown): boolean => error instanceof ScpError && error.code === code;

for (const mode of MODES) {
  test(`${mode}: connects, lists, calls and disconnects`, async (context) => {
    const {client, server} = await meet(context, mode);
    assert.equal(client.state, 'IDLE');
    const info = await client.connect();
    assert.deepEqual([info.nodeId, info.principal.sub, info.mode], ['node-t', 'api-key', mode]);
    assert.deepEqual(await client.listCapabilities(), []);
    const args = {sql: 'SELECT 1', numbers: [1e20, 2 ** 53, -0.5], 'é': '日本'};
    const answer = await client.invokeTool('sql.query', args);
    assert.deepEqual(answer.structured, args);
    assert.deepEqual(answer.audit, {seq: 7, hash: 'a'.repeat(64)});
    assert.ok(await client.refresh() > info.expiresAt);
    await client.disconnect();
    assert.equal(client.state, 'CLOSED');
    assert.equal((await server.peer.closed).code, 1000);
    assert.equal(server.peer.fault, undefined);
    await client.disconnect();
  });

  test(`${mode}: answers come in any order, each to its call`, async (context) => {
    const waiting: Received[] = [];
    const {client} = await meetReady(context, mode, {answer: (request, peer) => {
      waiting.push(request);
      if (waiting.length === 3) for (const one of waiting.reverse()) peer.reply(one, resultOf(one.p));
    }});
    const answers = await Promise.all([1, 2, 3].map((n) => client.invokeTool('a.b', {n})));
    assert.deepEqual(answers.map((answer) => answer.structured), [{n: 1}, {n: 2}, {n: 3}]);
  });

  test(`${mode}: progress comes in order, and a refusal says all it has`, async (context) => {
    const {client} = await meetReady(context, mode, {answer: (request, peer) => {
      if (request.op !== 'tool.invoke') return peer.reply(request, {});
      peer.event(request, 'tool.progress', 0, {done: 1, total: 2, note: 'half'});
      peer.event(request, 'tool.progress', 1, {done: 2});
      return peer.refuse(request, 'E_RATE', {retry_ms: 250, data: {why: 'busy'}});
    }});
    const seen: unknown[] = [];
    await assert.rejects(client.invokeTool('a.b', {}, {onProgress: (one) => seen.push(one)}), (error: ScpError) => {
      assert.deepEqual([error.code, error.num, error.retryMs, error.from, error.data], ['E_RATE', 4290, 250, 'server', {why: 'busy'}]);
      return true;
    });
    assert.deepEqual(seen, [{done: 1, total: 2, note: 'half'}, {done: 2}]);
    assert.deepEqual(await client.request('session.ping'), {});
  });

  test(`${mode}: a call with a key is sent again when its connection is lost`, async (context) => {
    const keys: unknown[] = [];
    const {client, server} = await meetReady(context, mode, {answer: (request, peer) => {
      if (request.op !== 'tool.invoke') return server.answer(request, peer);
      keys.push(request.p['idem']);
      if (keys.length === 1) return peer.close(1001);
      if (keys.length === 2) return peer.refuse(request, 'E_BUSY', {retry_ms: 1});
      return peer.reply(request, {...resultOf(request.p), repeats: request.id});
    }});
    const answer = await client.invokeTool('a.b', {n: 1}, {idempotencyKey: 'k-1'});
    assert.deepEqual(keys, ['k-1', 'k-1', 'k-1']);
    assert.match(answer.repeats ?? '', /^[0-9A-Z]{26}$/);
    assert.deepEqual(server.peers.map((peer) => peer.received[1]?.p['method']), ['api_key', 'session']);
  });

  test(`${mode}: a lost session is followed by its token, once; where that is not taken, by the credential`, async (context) => {
    const {client, server} = await meetReady(context, mode);
    for (const spend of [false, true]) {
      server.peers.at(-1)?.close(1001);
      while (client.state === 'READY') await immediate();
      if (spend) server.follow('e30.e30.AA1', thumbprint((server.peers[1]?.received[1]?.p['session_key'] ?? {}) as object));
      await client.reconnect();
      assert.deepEqual(await client.request('session.ping'), {});
    }
    const shown = server.peers.map((peer) => [peer.received[1]?.p['method'], peer.received[1]?.p['credential']]);
    assert.deepEqual(shown.slice(1, 3), [['session', 'e30.e30.AA'], ['session', 'e30.e30.AA1']]);
    assert.deepEqual(shown.map(([method]) => method), ['api_key', 'session', 'session', 'api_key']);
  });

  test(`${mode}: a run of a workflow is sent again, as the same run, when its connection is lost`, async (context) => {
    const run = '01JD0000000000000000000007';
    const sent: unknown[] = [];
    const told: unknown[] = [];
    const {client, server} = await meetReady(context, mode, {answer: (request, peer) => {
      if (request.op !== 'flow.run') return server.answer(request, peer);
      sent.push(request.p);
      peer.event(request, 'tool.progress', 0, {done: sent.length, total: 2, note: 'a: done'});
      if (sent.length === 1) return peer.close(1001);
      if (sent.length === 2) return peer.refuse(request, 'E_BUSY', {retry_ms: 1});
      return peer.reply(request, {run, state: 'done', steps: []});
    }});
    const answer = await client.flowRun(run, {workflow: {workflow: 1}, onProgress: (progress) => told.push(progress)});
    assert.deepEqual(answer, {run, state: 'done', steps: []});
    assert.deepEqual(sent, Array(3).fill({run, workflow: {workflow: 1}}));
    assert.deepEqual(told.at(-1), {done: 3, total: 2, note: 'a: done'});
    await assert.rejects(client.flowRun('x'), TypeError);
    await assert.rejects(client.flowRun(run, {workflow: {}, onProgress: () => { throw new Error('mine'); }}), /mine/);
    await client.request('session.ping');
    assert.ok(server.peers.at(-1)?.received.some((one) => one.op === 'tool.cancel'));
  });

  test(`${mode}: without a key, and without a loss, nothing is sent again`, async (context) => {
    let calls = 0;
    const {client, server} = await meetReady(context, mode, {answer: (request, peer) => {
      calls++;
      if (calls === 1) return peer.refuse(request, 'E_BUSY', {retry_ms: 1});
      if (calls === 2) return peer.close(4401, 'E_AUTH');
      return peer.close(1001);
    }});
    await assert.rejects(client.invokeTool('a.b', {}, {idempotencyKey: 'k-1'}), refused('E_BUSY'));
    await assert.rejects(client.invokeTool('a.b', {}, {idempotencyKey: 'k-1'}), ConnectionLost);
    await client.connect();
    await assert.rejects(client.invokeTool('a.b', {}), ConnectionLost);
    assert.deepEqual([calls, server.peers.length], [3, 2]);
    for (const idempotencyKey of ['', 'two words', 'k'.repeat(129), 'é']) {
      await assert.rejects(client.invokeTool('a.b', {}, {idempotencyKey}), TypeError);
    }
    await assert.rejects(client.outcomeOf('x'), TypeError);
  });

  test(`${mode}: an aborted call is cancelled on the server, and the session goes on`, async (context) => {
    const started = Promise.withResolvers<Received>();
    const cancelled = Promise.withResolvers<void>();
    const {client, server} = await meetReady(context, mode, {answer: (request, peer) => {
      if (request.op === 'tool.invoke') return started.resolve(request);
      if (request.op !== 'tool.cancel') return server.answer(request, peer);
      void started.promise.then((call) => {
        peer.refuse(call, 'E_CANCELLED');
        cancelled.resolve();
      });
    }});
    const stop = new AbortController();
    const call = client.invokeTool('a.b', {}, {signal: stop.signal});
    const request = await started.promise;
    const reason = new Error('enough');
    stop.abort(reason);
    await assert.rejects(call, reason);
    await cancelled.promise;
    const cancel = server.peer.received.at(-1);
    assert.deepEqual([cancel?.t, cancel?.op, cancel?.id], ['cancel', 'tool.cancel', request.id]);
    assert.deepEqual(await client.request('session.ping'), {});
    await assert.rejects(client.invokeTool('a.b', {}, {signal: AbortSignal.abort(reason)}), reason);
  });

  test(`${mode}: what onProgress throws ends the call, not the session`, async (context) => {
    const {client, server} = await meetReady(context, mode, {answer: (request, peer) => {
      if (request.op === 'tool.invoke') return peer.event(request, 'tool.progress', 0, {done: 1});
      return server.answer(request, peer);
    }});
    const reason = new Error('mine');
    await assert.rejects(client.invokeTool('a.b', {}, {onProgress: () => { throw reason; }}), reason);
    assert.deepEqual(await client.request('session.ping'), {});
    assert.equal(server.peer.received.at(-2)?.op, 'tool.cancel');
  });

  test(`${mode}: large content that comes in pieces is whole in the answer`, async (context) => {
    const whole = Buffer.from('0123456789'.repeat(10));
    const {client, server} = await meetReady(context, mode, {answer: (request, peer) => {
      assert.equal(request.p['stream'], true);
      [whole.subarray(0, 60), whole.subarray(60)].forEach((data, seq) => {
        peer.event(request, 'tool.chunk', seq, {index: 0, data: data.toString('base64url')});
      });
      peer.reply(request, resultOf(request.p, {content: [{type: 'data', media_type: 'text/csv', bytes: whole.length, streamed: true}]}));
    }});
    const {content} = await client.invokeTool('a.b', {}, {stream: true});
    assert.deepEqual(content, [{type: 'data', mediaType: 'text/csv', data: whole}]);
    assert.equal(server.peer.fault, undefined);
  });

  test(`${mode}: a connection that ends fails the calls under way, and a new one can be made`, async (context) => {
    const {client, server} = await meetReady(context, mode, {answer: (_, peer) => peer.close(4503, 'E_BUSY')});
    await assert.rejects(client.invokeTool('a.b'), (error: unknown) => {
      return error instanceof ConnectionLost && error.closeCode === 4503 && error.code === 'E_BUSY';
    });
    await assert.rejects(client.invokeTool('a.b'), ConnectionLost);
    server.lies = {};
    await client.connect();
    assert.equal((await client.invokeTool('a.b', {n: 1})).isError, false);
  });
}

for (const suite of RECORDS) {
  test(`${suite}: keys are made anew, by hand and by the count of records`, async (context) => {
    const {client, server} = await meetReady(context, 'encrypted', {}, {suites: [suite], rekeyAfter: {records: 6}});
    assert.equal(client.info.suite, suite);
    await client.rekey();
    assert.equal(client.epoch, 1);
    const numbers = [...Array(20).keys()];
    const answers = await Promise.all(numbers.map((n) => client.invokeTool('a.b', {n})));
    assert.deepEqual(answers.map((answer) => answer.structured), numbers.map((n) => ({n})));
    for (const n of numbers) await client.invokeTool('a.b', {n});
    assert.ok(client.epoch >= 5, `epoch ${client.epoch}`);
    assert.equal(server.peer.fault, undefined);
  });
}

test('what is sent while keys are made anew waits for them', async (context) => {
  const held: {request?: Received; peer?: Peer} = {};
  const {client, server} = await meetReady(context, 'encrypted', {answer: (request, peer) => {
    if (request.op === 'session.rekey') Object.assign(held, {request, peer});
    else server.answer(request, peer);
    if (request.op === 'session.ping' && held.request && held.peer) held.peer.rekey(held.request);
  }});
  const first = client.request('session.ping');
  const rekeyed = client.rekey();
  const second = client.invokeTool('a.b', {n: 2});
  await first;
  assert.equal(client.state, 'REKEYING');
  while (!held.request) await new Promise(setImmediate);
  assert.equal(server.peer.received.at(-1)?.op, 'session.rekey');
  held.peer?.rekey(held.request);
  await rekeyed;
  assert.deepEqual((await second).structured, {n: 2});
  assert.equal(client.epoch, 1);
});

test('a rekey that is refused leaves both in their epoch', async (context) => {
  const {client, server} = await meetReady(context, 'encrypted', {answer: (request, peer) => {
    if (request.op === 'session.rekey') peer.refuse(request, 'E_LIMIT');
    else server.answer(request, peer);
  }});
  await assert.rejects(client.rekey(), refused('E_LIMIT'));
  assert.equal(client.epoch, 0);
  assert.deepEqual((await client.invokeTool('a.b', {n: 1})).structured, {n: 1});
});

test('suite NONE has no rekey', async (context) => {
  const {client} = await meetReady(context, 'simple');
  await assert.rejects(client.rekey(), refused('E_STATE'));
  assert.deepEqual(await client.request('session.ping'), {});
});

test('a message over the size that the server takes is not sent', async (context) => {
  const {client, server} = await meetReady(context, 'simple');
  await assert.rejects(client.invokeTool('a.b', {x: 'y'.repeat(1 << 20)}), refused('E_LIMIT'));
  assert.equal(server.peer.received.length, 2);
  assert.equal((await client.invokeTool('a.b', {x: 'y'.repeat(1 << 19)})).isError, false);
});

test('arguments that are not JSON are not sent', async (context) => {
  const {client, server} = await meetReady(context, 'simple');
  await assert.rejects(client.invokeTool('a.b', {x: 1n}), refused('E_SHAPE'));
  await assert.rejects(client.invokeTool('a.b', {}, {deadlineMs: 0}), TypeError);
  await assert.rejects(client.invokeTool('a.b', {}, {traceparent: 'x'}), TypeError);
  await assert.rejects(client.request('session.auth'), TypeError);
  assert.equal(server.peer.received.length, 2);
});

test('meta goes along', async (context) => {
  const {client, server} = await meetReady(context, 'simple');
  const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
  await client.invokeTool('a.b', {}, {deadlineMs: 5000, traceparent, dryRun: true});
  const {p, whole} = server.peer.received.at(-1) ?? assert.fail();
  assert.deepEqual([whole['meta'], p['dry_run']], [{deadline_ms: 5000, traceparent}, true]);
});

test('a session token is renewed in time, by a fresh token each time', async (context) => {
  let made = 0;
  const renewed = Promise.withResolvers<Received>();
  const {client, server} = await meetReady(context, 'simple', {
    token: (auth) => auth.p['credential'] === 't.1.s',
    payload: (step, p) => (step === 'ready' ? {...p, expires_at: Date.now() + 900} : p),
    answer: (request, peer) => {
      server.answer(request, peer);
      if (request.op === 'session.refresh') renewed.resolve(request);
    },
  }, {token: async () => `t.${++made}.s`});
  const before = client.info.expiresAt;
  assert.deepEqual((await renewed.promise).p, {method: 'jwt', credential: 't.2.s'});
  await client.request('session.ping');
  assert.ok(client.info.expiresAt > before);
});

test('options that are not safe or not whole are refused, by name and without the value', () => {
  const good = {url: 'ws://127.0.0.1:1', mode: 'simple', ...SECRETS} as const;
  const weak = 'Password-Password-Password-Password';
  const bad: [object, RegExp][] = [
    [{url: 'http://127.0.0.1'}, /^url: /], [{url: 'ws://example.org'}, /^url: .*loopback/], [{url: 'ws://u:p@127.0.0.1'}, /^url: /],
    [{url: 'nowhere'}, /^url: /], [{url: 'ws://127.0.0.1.example.org'}, /^url: /], [{mode: 'open'}, /^mode: /],
    [{secretKey: weak}, /^secretKey: /], [{secretKey: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}, /^secretKey: /],
    [{secretKey: 'kX9-short'}, /^secretKey: /], [{kdfSalt: SECRETS.secretKey}, /^kdfSalt: .*secretKey/],
    [{apiKey: undefined}, /^token: /], [{mode: 'basic'}, /^apiKey: /], [{mode: 'encrypted', secretKey: ''}, /^serverKey: /], [{serverKey: 'no-thumbprint'}, /^serverKey: /], [{serverKey: []}, /^serverKey: /],
    [{mode: 'encrypted', suites: ['NONE']}, /^suites: /], [{mode: 'encrypted', suites: []}, /^suites: /], [{holderKey: 'x'}, /^holderKey: /],
    [{token: 'a.b.c', holderKey: 'x'}, /^holderKey: /], [{token: ''}, /^token: /], [{answerTimeoutMs: 0}, /^answerTimeoutMs: /], [{connectTimeoutMs: -1}, /^connectTimeoutMs: /], [{maxGatheredBytes: 0.5}, /^maxGatheredBytes: /],
    [{rekeyAfter: {records: 2 ** 23}}, /^rekeyAfter.records: /], [{tokenKey: 'x'}, /./],
  ];
  for (const [change, rule] of bad) {
    assert.throws(() => new Client({...good, ...change}), (error: Error) => rule.test(error.message) && !error.message.includes(weak), inspect(change));
  }
  assert.equal(new Client(good).state, 'IDLE');
});

test('no secret is in an error, or in what is printed of a client', async (context) => {
  const token = 'header.Tk7vQ2mXw9.signature';
  const {client, server} = await meet(context, 'simple', {}, {token});
  const texts = [inspect(client, {showHidden: true, depth: 20}), JSON.stringify(client), String(client)];
  // This server does not take jwt.
  const error = await client.connect().then(() => assert.fail(), (thrown: unknown) => thrown);
  assert.ok(error instanceof ScpError && error.code === 'E_AUTH');
  texts.push(inspect(error, {showHidden: true, depth: 20}));
  const {client: other} = await meetReady(context, 'encrypted');
  texts.push(inspect(other, {showHidden: true, depth: 20}), inspect(other.info), JSON.stringify(other.info));
  for (const secret of [...Object.values(SECRETS), token, 'Tk7vQ2mXw9', 'e30.e30.AA']) {
    for (const text of texts) assert.ok(!text.includes(secret), `${secret} in ${text}`);
  }
  assert.equal(server.peer.received.length, 1);
});
