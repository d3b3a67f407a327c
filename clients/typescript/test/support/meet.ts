// A client and a server that meet for one test, and are gone after it.

import type {TestContext} from 'node:test';

import {Client} from '../../dist/client.js';
import type {Mode} from '../../dist/suites.js';
import type {ClientOptions} from '../../dist/options.js';
import {type Lies, SECRETS, Server} from './server.ts';

export interface Meeting {
  readonly client: Client;
  readonly server: Server;
}

export async function meet(context: TestContext, mode: Mode, lies: Lies = {}, options: Partial<ClientOptions> = {}): Promise<Meeting> {
  const server = await Server.start(mode, lies);
  const client = new Client({url: server.url, mode, ...SECRETS, ...options});
  context.after(() => server.stop());
  return {client, server};
}

/** Connected already. */
export async function meetReady(context: TestContext, mode: Mode, lies: Lies = {}, options: Partial<ClientOptions> = {}): Promise<Meeting> {
  const meeting = await meet(context, mode, lies, options);
  await meeting.client.connect();
  return meeting;
}
