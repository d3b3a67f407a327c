// The audit trail: who was allowed or refused what, the newest first, searched and by pages.

import { code, element, field, heading, link, note, place, table } from './dom.js';
import { get } from './api.js';

const ON_A_PAGE = 50;
const FILTERS = { principal: 'Principal', operation: 'Operation', object: 'Object' };

function search(parameters, go) {
  const inputs = Object.entries(FILTERS).map(([name, label]) => [label,
    element('input', { name, value: parameters[name] ?? '', autocomplete: 'off', spellcheck: 'false', maxlength: '1000' })]);
  const ask = (event) => {
    event.preventDefault();
    go(place('audit', Object.fromEntries(inputs.map(([, input]) => [input.name, input.value.trim()]))), true);
  };
  return element('form', { on: { submit: ask } }, element('fieldset', {}, element('legend', {}, 'Search: whole names'),
    element('div', { class: 'fields' }, inputs.map(([label, input]) => field(label, input)), element('button', { class: 'main' }, 'Search'))));
}

function row(entry, parameters) {
  const who = entry.actor === '' ? entry.principal : `${entry.principal}, by ${entry.actor}`;
  const filtered = (name, text) => (text === '' ? '' : link(place('audit', { ...parameters, before: '', [name]: entry[name] }), text));
  const masked = entry.masked_cols.length === 0 ? '' : `masked: ${entry.masked_cols.join(', ')}; `;
  const applied = entry.applied_policies.length === 0 ? '' : `policies: ${entry.applied_policies.join(', ')}; `;
  return [String(entry.id), entry.ts.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'), filtered('principal', who), filtered('operation', entry.operation),
    filtered('object', entry.object), element('span', { class: entry.decision === 'denied' ? 'bad' : '' }, entry.decision),
    element('span', {}, masked, applied, code(JSON.stringify(entry.detail)))];
}

export async function auditPage(parameters, go) {
  const asked = Object.fromEntries(['principal', 'operation', 'object', 'before'].filter((name) => parameters[name]).map((name) => [name, parameters[name]]));
  const { entries } = await get(`governance/audit?${new URLSearchParams({ ...asked, limit: String(ON_A_PAGE + 1) })}`);
  const shown = entries.slice(0, ON_A_PAGE);
  const pages = element('p', { class: 'pages' },
    asked.before === undefined ? null : link(place('audit', { ...asked, before: '' }), 'Newest'),
    entries.length > ON_A_PAGE ? link(place('audit', { ...asked, before: String(shown.at(-1).id) }), 'Older') : null);
  return [heading('Audit trail'), search(parameters, go),
    table('Audit trail', ['Id', 'Time', 'Principal', 'Operation', 'Object', 'Decision', 'More'], shown.map((entry) => row(entry, asked)), 'No entry is like that.'),
    pages, note('Follow a name in the table to see its entries alone.')];
}
