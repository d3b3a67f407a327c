// The frame: who is signed in, which page is shown, and what becomes of errors.

import { announce, element, field, heading, link, note, place, refusal } from './dom.js';
import { signIn, signOut, state, useNone, usePasted } from './api.js';
import { ADMINISTRATOR, catalogPage, namespacePage, tablePage } from './catalog.js';
import { grantsPage, policiesPage, tagsPage } from './governance.js';
import { seePage } from './see.js';
import { auditPage } from './audit.js';

const PAGES = {
  catalog: catalogPage, namespace: namespacePage, table: tablePage, tags: tagsPage, policies: policiesPage, grants: grantsPage,
  see: seePage, audit: auditPage,
};
const NAVIGATION = { catalog: 'Catalog', tags: 'Tags', policies: 'Policies', grants: 'Grants', see: 'What would they see?', audit: 'Audit' };
const PARTS = { namespace: 'catalog', table: 'catalog' };  // Pages that stand under another one's name.

const main = document.getElementById('main');
let shown = 0;  // Counts pages: an answer that comes when another one is shown already is dropped.

function asked() {
  const [name, query = ''] = location.hash.replace(/^#\//, '').split('?');
  return { name: Object.hasOwn(PAGES, name) ? name : 'catalog', parameters: Object.fromEntries(new URLSearchParams(query)) };
}

function put(...nodes) {
  main.replaceChildren(...nodes);
  const first = main.querySelector('h1');
  document.title = `${first === null ? '' : `${first.textContent} - `}lakeproxy console`;
  return first;
}

function frame(name) {
  const navigation = document.getElementById('navigation');
  const session = document.getElementById('session');
  const { signedIn, prefix, open } = state();
  navigation.hidden = session.hidden = !signedIn;
  navigation.replaceChildren(...Object.entries(NAVIGATION).map(([page, text]) => {
    const made = link(place(page), text);
    if (page === (PARTS[name] ?? name)) made.setAttribute('aria-current', 'page');
    return made;
  }));
  session.replaceChildren(element('span', {}, `Catalog ${prefix}${open ? ', open server' : ''}`),
    element('button', { type: 'button', on: { click: () => { signOut(); entrance(); } } }, 'Sign out'));
}

// Goes to a hash; `anew` shows its page also if it is there already.
function go(hash, anew = false) {
  if (location.hash !== hash) {
    location.hash = hash;  // Brings the event that shows it.
  } else if (anew) {
    show();
  }
}

async function show({ keepPlace = false } = {}) {
  const turn = ++shown;
  if (!state().signedIn) return entrance();
  const { name, parameters } = asked();
  frame(name);
  main.setAttribute('aria-busy', 'true');
  let nodes;
  try {
    nodes = await PAGES[name](parameters, go, () => show({ keepPlace: true }));
  } catch (error) {
    if (error.status === undefined) console.error(error);  // A fault of this page's own.
    if (turn !== shown) return undefined;
    if (error.status === 401) {
      signOut();
      return entrance(error);
    }
    nodes = [heading(NAVIGATION[name] ?? 'Not shown'), refusal(error, error.status === 403 ? ADMINISTRATOR : '')];
  }
  if (turn !== shown) return undefined;
  const first = put(...nodes);
  main.removeAttribute('aria-busy');
  frame(name);
  if (!keepPlace) window.scrollTo(0, 0);
  first?.focus({ preventScroll: true });
  return undefined;
}

function entranceForm(legend, button, fields, run) {
  const answer = element('div');
  const submit = element('button', { class: 'main' }, button);
  const enter = async (event) => {
    event.preventDefault();
    submit.disabled = true;
    answer.replaceChildren();
    try {
      await run(...fields.map(([, input]) => input.value));
      announce('');
      await show();
    } catch (error) {
      if (error.status === undefined) throw error;
      answer.replaceChildren(refusal(error));
    } finally {
      submit.disabled = false;
    }
  };
  return element('form', { on: { submit: enter } }, element('fieldset', {}, element('legend', {}, legend),
    element('div', { class: 'fields' }, fields.map(([label, input]) => field(label, input)), submit), answer));
}

function entrance(error = null) {
  ++shown;
  frame('');
  main.removeAttribute('aria-busy');
  const input = (attributes) => element('input', { required: true, spellcheck: 'false', ...attributes });
  const first = put(heading('Sign in'),
    ...(error === null ? [] : [refusal(error)]),
    element('div', { class: 'entrance' },
      entranceForm('With a client of the server', 'Sign in', [['Client id', input({ name: 'client', autocomplete: 'username' })],
        ['Secret', input({ name: 'secret', type: 'password', autocomplete: 'current-password' })]], signIn),
      entranceForm('With a token', 'Use it', [['Bearer token', input({ name: 'token', type: 'password', autocomplete: 'off' })]], usePasted),
      entranceForm('On an open server', 'Go on without a token', [], useNone)),
    note('The token stays in the memory of this page alone. A reload asks for it again.'));
  first.focus({ preventScroll: true });
}

document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener('hashchange', () => show());
show();
