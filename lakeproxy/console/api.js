// The session and the requests. The token is kept in this module's memory alone: no storage, no cookie and no
// address ever has it, so it goes with a reload, and no other page can send a request with it.

const root = new URL('../', import.meta.url);
export const SEPARATOR = '\u001f';  // Between the levels of a namespace, as the REST API has it.

let token = '';
let signedIn = false;
let prefix = '';
let scope = '';

/// A request that the server did not do. `message` is for people; `said` is the server's own part of it.
export class Refusal extends Error {
  constructor(status, message, said = '') {
    super(message);
    this.status = status;
    this.said = said;
  }
}

const WORDS = {
  400: 'The server does not take this:',
  401: 'The server does not take this token, or its time is over.',
  403: 'Your token does not allow this:',
  404: 'Not found:',
  409: 'Refused, because it would contradict what is there:',
  413: 'Refused, because it is too long.',
  429: 'Too many requests: try again in a moment.',
  501: 'This server cannot do that:',
  503: 'The server cannot tell now. Try again in a moment:',
};

export const state = () => ({ signedIn, prefix, scope, open: signedIn && token === '' });

/// "sales.orders", as governance names it: a dot in a name is %2E.
export const schemaText = (levels) => levels.map((level) => level.replaceAll('%', '%25').replaceAll('.', '%2E')).join('.');

/// The levels of such a text.
export const levelsOf = (text) => text.split('.').map((level) => level.replaceAll('%2E', '.').replaceAll('%25', '%'));

export const part = (text) => encodeURIComponent(text);
export const namespacePath = (levels) => `namespaces/${part(levels.join(SEPARATOR))}`;

function refusalOf(response, body) {
  const said = body?.error?.message ?? body?.error_description ?? '';
  const words = WORDS[response.status] ?? `The server answered ${response.status}:`;
  return new Refusal(response.status, said === '' ? words : `${words} ${said}`, said);
}

async function send(method, path, { headers = {}, body = undefined } = {}) {
  const sent = { ...headers };
  if (token !== '') sent.Authorization = `Bearer ${token}`;
  let response;
  let answer = null;
  try {
    response = await fetch(new URL(path, root), {
      method, headers: sent, body, credentials: 'omit', cache: 'no-store', redirect: 'error', referrerPolicy: 'no-referrer',
    });
    const text = await response.text();
    answer = text === '' ? null : JSON.parse(text);
  } catch {
    if (response === undefined || response.ok) throw new Refusal(0, 'The server does not answer. Is it still there?');
  }
  if (!response.ok) throw refusalOf(response, answer);
  return answer;
}

const of_catalog = (path) => `v1/${part(prefix)}/${path}`;

export const get = (path) => send('GET', of_catalog(path));
export const serverGet = (path) => send('GET', path);
const change = (method) => (path, body) => send(method, of_catalog(path), body === undefined ? {}
  : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
export const post = change('POST');
export const remove = change('DELETE');

/// The members of a collection of governance.
export const listed = async (collection) => (await get(`governance/${collection}`))[collection];

/// A page of a listing: [members, what asks for the next page or '']. `path` is of the catalog, or of the server.
export async function pageOf(path, key, next = '', ask = get) {
  const query = new URLSearchParams({ pageToken: next, pageSize: '200' });
  const answer = await ask(`${path}${path.includes('?') ? '&' : '?'}${query}`);
  return [answer[key], answer['next-page-token'] ?? ''];
}

async function enter() {
  prefix = (await serverGet('v1/config')).overrides.prefix;
  await pageOf('namespaces', 'namespaces').catch((error) => {
    if (error.status !== 403) throw error;  // Its bearer is known, and may not list.
  });
  signedIn = true;
}

async function attempt(run) {
  signOut();
  try {
    await run();
    await enter();
  } catch (error) {
    signOut();
    throw error;
  }
}

/// Asks for a token. The secret is sent once, and kept nowhere.
export const signIn = (id, secret) => attempt(async () => {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
  const answer = await send('POST', 'v1/oauth/tokens', { headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: form.toString() })
    .catch((error) => { throw explained(error); });
  token = answer.access_token;
  scope = answer.scope ?? '';
});

function explained(error) {
  if (error.status === 401) return new Refusal(401, 'The server knows no such client with this secret.', error.said);
  if (error.status === 400) return new Refusal(400, `The server gives no token for this: ${error.said}`, error.said);
  return error;
}

export const usePasted = (text) => attempt(async () => {
  // RFC 6750: anything else would break the header.
  if (!/^[A-Za-z0-9._~+/-]+=*$/.test(text)) throw new Refusal(0, 'This is no bearer token: it has other characters than one can have.');
  token = text;
});

/// Of a server that asks nobody for a token.
export const useNone = () => attempt(async () => {});

export function signOut() {
  token = scope = prefix = '';
  signedIn = false;
}

/// Goes on with another catalog of the server.
export async function openCatalog(id) {
  const answer = await serverGet(`v1/config?${new URLSearchParams({ warehouse: id })}`);
  prefix = answer.overrides.prefix;
}
