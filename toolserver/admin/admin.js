// The frame: who is signed in, which page is shown, what becomes of errors. Each page is asked for anew when it is
// opened; questions for consent and sessions come and go by themselves, since somebody waits for the first.

import { audit, consents, sessions, tools } from './pages.js';
import { button, labelled, make, quiet, say, title, wrong } from './page.js';
import { enter, leave } from './requests.js';

const PAGES = [
  { name: 'tools', text: 'Tools', scope: 'admin:tools', show: tools },
  { name: 'consents', text: 'Consents', scope: 'admin:consent', show: consents, every: 2000 },
  { name: 'sessions', text: 'Sessions', scope: 'admin:session', show: sessions, every: 2000 },
  { name: 'audit', text: 'Audit', scope: 'admin:audit', show: audit },
];

const main = document.getElementById('main');
const navigation = document.getElementById('navigation');
const session = document.getElementById('session');
let open = [];   // The pages that the token opens.
let shown = 0;   // Counts, so that an answer that comes late shows nothing.
let timer = 0;

function pageHere() {
  const name = location.hash.replace(/^#\/?/, '');
  return open.find((page) => page.name === name) ?? open[0];
}

function draw(page) {
  navigation.replaceChildren(...open.map((one) => make('a', { href: `#/${one.name}`, ...(one === page ? { 'aria-current': 'page' } : {}) }, one.text)));
}

/// Shows the page of the address. `quietly`: without moving the reader, and only where something changed.
async function show(quietly = false) {
  clearTimeout(timer);
  if (open.length === 0) return signIn();
  const page = pageHere();
  shown += 1;
  const mine = shown;
  draw(page);
  if (!quietly) main.replaceChildren(title(page.text), quiet('One moment.'));
  let content;
  try {
    content = await page.show(() => show(), quietly);
  } catch (error) {
    if (error.status === 401) return signOut(error);
    content = quietly ? null : [wrong(error)];
  }
  if (mine !== shown) return undefined;
  if (content !== null) {
    main.replaceChildren(title(page.text), ...content);
    if (!quietly) main.querySelector('h1').focus();
  }
  if (page.every) timer = setTimeout(() => show(true), page.every);
  return undefined;
}

function signOut(error) {
  leave();
  open = [];
  clearTimeout(timer);
  signIn(error);
}

function signIn(error) {
  shown += 1;
  navigation.hidden = true;
  session.hidden = true;
  const input = make('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: '', maxlength: '8192' });
  const form = make('form', {
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        const self = await enter(input.value.trim());
        open = PAGES.filter((page) => self.scopes.includes(page.scope));
        if (open.length === 0) throw new Error('This credential has no scope of this page.');
        session.replaceChildren(self.sub, button('Sign out', () => signOut()));
        session.hidden = false;
        navigation.hidden = false;
        say('');
        await show();
      } catch (refused) {
        leave();
        signIn(refused);
      }
    },
  }, labelled('Bearer token or API key', input), make('button', { class: 'main' }, 'Sign in'));
  main.replaceChildren(title('Sign in'), quiet('With a credential that has one of the scopes admin:tools, admin:consent, admin:session, admin:audit.'),
    ...(error ? [wrong(error)] : []), form);
  input.focus();
}

addEventListener('hashchange', () => show());
signIn();
