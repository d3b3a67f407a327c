// Elements of the page. Every text of a server's goes in as a text node, never as markup, so a table
// that is called "<script>" is shown by that name. No other file makes elements.

const ATTRIBUTES = new Set([
  'id', 'class', 'type', 'name', 'value', 'for', 'role', 'hidden', 'tabindex', 'required', 'disabled', 'selected',
  'autocomplete', 'spellcheck', 'scope', 'placeholder', 'aria-label', 'aria-current', 'aria-live', 'maxlength',
]);

/// `attributes`: those above; `href`, which leads within the page; `on`, functions by their events.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'on') {
      for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
    } else if (name === 'href' && tag === 'a' && value.startsWith('#/')) {
      made.setAttribute('href', value);
    } else if (!ATTRIBUTES.has(name)) {
      throw new Error(`no attribute ${name} is set on ${tag}`);
    } else if (value !== false) {
      made.setAttribute(name, value === true ? '' : value);
    }
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return made;
}

export const heading = (text) => element('h1', { tabindex: '-1' }, text);
export const section = (text) => element('h2', {}, text);
export const note = (...text) => element('p', { class: 'quiet' }, ...text);
export const link = (href, text) => element('a', { href }, text);
export const code = (text) => element('code', {}, text);

/// A hash of this page: place('see', {table: 'a.b'}) is "#/see?table=a.b".
export function place(page, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== '' && value !== undefined && value !== null);
  const query = new URLSearchParams(given).toString();
  return `#/${page}${query ? `?${query}` : ''}`;
}

/// Rows of texts and nodes, or the words `none`. It scrolls by itself where it is wider than the screen.
export function table(caption, headings, rows, none = 'None.') {
  if (rows.length === 0) return note(none);
  const cell = (content) => element('td', {}, content);
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    element('table', {},
      element('thead', {}, element('tr', {}, headings.map((text) => element('th', { scope: 'col' }, text)))),
      element('tbody', {}, rows.map((row) => element('tr', {}, row.map(cell))))));
}

export function facts(pairs) {
  return element('dl', { class: 'facts' },
    pairs.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))));
}

let fieldsMade = 0;

/// An input with its label.
export function field(text, input) {
  input.id = `field-${++fieldsMade}`;
  return element('div', { class: 'field' }, element('label', { for: input.id }, text), input);
}

/// What went wrong, in words; a refusal of the server's with what can be done about it.
export function refusal(error, advice = '') {
  return element('div', { class: 'refusal', role: 'alert' },
    element('p', {}, error.message), advice === '' ? null : element('p', {}, advice));
}

/// For a screen reader, and in a corner of the page.
export function announce(text) {
  document.getElementById('status').replaceChildren(document.createTextNode(text));
}

/// Asks before something is taken away. Escape is no.
export function confirmed(question, yes) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const dialog = element('dialog', { 'aria-label': question });
    const answer = (value) => () => dialog.close(value);
    dialog.append(element('p', {}, question), element('div', { class: 'pages' },
      element('button', { type: 'button', on: { click: answer('') } }, 'Keep it'),
      element('button', { type: 'button', class: 'main', on: { click: answer('yes') } }, yes)));
    dialog.addEventListener('close', () => {
      dialog.remove();
      if (before !== null && before.isConnected) before.focus();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
