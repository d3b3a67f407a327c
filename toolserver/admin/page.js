// Elements of the page. What a server, a tool or a caller wrote goes in as a text node, never as markup. No other
// file makes elements.

const SET = new Set(['id', 'class', 'type', 'for', 'role', 'tabindex', 'scope', 'value', 'name', 'autocomplete', 'spellcheck', 'hidden',
  'aria-label', 'aria-current', 'maxlength', 'required']);

/// `set` has attributes, and functions for events, whose names begin with "on".
export function make(tag, set, ...inside) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(set ?? {})) {
    if (typeof value === 'function' && name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'href' && value.startsWith('#')) node.setAttribute('href', value);
    else if (SET.has(name)) node.setAttribute(name, value);
    else throw new Error(`${tag} gets no ${name}`);
  }
  for (const one of inside.flat()) node.append(one instanceof Node ? one : String(one));
  return node;
}

export const title = (text) => make('h1', { tabindex: '-1' }, text);
export const quiet = (text) => make('p', { class: 'quiet' }, text);
export const mono = (text) => make('code', null, text);
export const button = (text, onclick, kind = '') => make('button', { type: 'button', class: kind, onclick }, text);

/// Rows of cells under their headings; the words `none` where there are no rows.
export function rows(label, headings, all, none) {
  if (all.length === 0) return quiet(none);
  const head = make('tr', null, headings.map((text) => make('th', { scope: 'col' }, text)));
  const body = all.map((cells) => make('tr', null, cells.map((cell) => make('td', null, cell))));
  return make('div', { class: 'wide', role: 'region', tabindex: '0', 'aria-label': label },
    make('table', null, make('thead', null, head), make('tbody', null, body)));
}

let inputs = 0;

export function labelled(text, input) {
  inputs += 1;
  input.id = `input-${inputs}`;
  return make('div', { class: 'input' }, make('label', { for: input.id }, text), input);
}

export const time = (milliseconds) => `${new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

export function wrong(error) {
  return make('div', { class: 'wrong', role: 'alert' }, make('p', null, error.message));
}

/// In a corner of the page, and read out.
export function say(text) {
  document.getElementById('status').replaceChildren(text);
}
