// The token, and the requests that are made with it. It is kept in this module's memory alone, so it goes with a
// reload, and no other page can send a request with it.

const api = new URL('api/', import.meta.url);
let token = '';

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const WORDS = {
  401: 'The service does not take this credential, or its time is over.',
  403: 'This credential does not allow it:',
  409: 'It changed since you looked at it:',
  429: 'Too many requests: try again in a moment.',
  503: 'The service cannot tell now. Try again in a moment:',
};

async function send(method, path, body) {
  let answer;
  let said = {};
  try {
    answer = await fetch(new URL(path, api), {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    });
    said = await answer.json();
  } catch {
    if (answer === undefined || answer.ok) throw new Refusal(0, 'The service does not answer. Is it still there?');
  }
  if (answer.ok) return said;
  const words = WORDS[answer.status] ?? 'Refused:';
  throw new Refusal(answer.status, words.endsWith(':') ? `${words} ${said?.error?.message ?? answer.status}` : words);
}

export const get = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== '' && value !== 0);
  return send('GET', given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`);
};
export const post = (path, body) => send('POST', path, body);

/// Who the token is of; it is kept if that is told.
export async function enter(text) {
  // RFC 6750: anything else would break the header.
  if (!/^[A-Za-z0-9._~+/-]+=*$/.test(text)) throw new Refusal(0, 'This is no bearer token: it has other characters than one can have.');
  token = text;
  try {
    return await get('self');
  } catch (error) {
    token = '';
    throw error;
  }
}

export function leave() {
  token = '';
}
