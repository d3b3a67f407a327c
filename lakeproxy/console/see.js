// What one principal would see of one table, and why: the server's own answer, in words, and some rows of it.

import { announce, code, element, field as labelled, heading, link, note, place, refusal, section, table } from './dom.js';
import { get } from './api.js';

// Source: docs/lake/governance.md, "enforcement".
const OUTCOME = {
  raw: ['good', 'sees the table as it is: no policy binds it.'],
  cooperative: ['bad', 'is told masks and filters with each load, and its engine applies them. Its keys open the raw files.'],
  file_mask: ['bad', 'sees a copy that the masks were put into. It cannot reach a raw file.'],
  refused: ['bad', 'cannot read the table:'],
};

function question({ table: name = '', principal = '', roles = '' }, go) {
  const input = (attributes) => element('input', { autocomplete: 'off', spellcheck: 'false', maxlength: '1000', ...attributes });
  const fields = [['Table: namespace.table', input({ name: 'table', required: true, value: name })],
    ['Principal: the subject of its tokens', input({ name: 'principal', required: true, value: principal })],
    ['Roles of its token, parted by commas', input({ name: 'roles', value: roles })]];
  const ask = (event) => {
    event.preventDefault();
    go(place('see', Object.fromEntries(fields.map(([, field]) => [field.name, field.value.trim()]))), true);
  };
  return element('form', { on: { submit: ask } }, element('fieldset', {}, element('legend', {}, 'What would this principal see?'),
    element('div', { class: 'fields' }, fields.map(([label, field]) => labelled(label, field)), element('button', { class: 'main' }, 'Explain'))));
}

const effect = (policy) => (policy.bypassed ? `does not bind: one of its roles is ${policy['unmasked-roles'].join(' or ')}` : 'binds');

const NOT_YET = 'The server makes the copies in the background. Ask again in a moment.';

const value = (text) => (text === null ? element('span', { class: 'quiet' }, 'null') : text);

function rowsOf(answer) {
  const columns = answer.columns.map((one) => `${one.name}${one.masked ? ', masked' : ''}${one.shown ? '' : ', not shown'}`);
  const all = answer.is_all ? 'It sees no other rows.' : 'It may see more rows.';
  const left = answer.more_columns === 0 ? '' : ` ${answer.more_columns} more columns are left out.`;
  return [table('Its rows', columns, answer.rows.map((row) => row.map(value)), 'No row.'),
    note(`${all}${left} Values longer than 200 characters end in \u2026.`)];
}

// Rows are read once somebody asks for them: each look is in the audit trail.
function preview(query) {
  const box = element('div');
  const button = element('button', { type: 'button', class: 'main', on: { click: () => show() } }, 'Show ten rows');
  const show = async () => {
    button.disabled = true;
    box.replaceChildren();
    try {
      const answer = await get(`governance/preview?${query()}`);
      box.replaceChildren(...(answer.kind === 'refused' ? [note(`No row: ${answer.reason}`)] : rowsOf(answer)));
      announce(`${answer.rows.length} rows are shown.`);
    } catch (error) {
      box.replaceChildren(refusal(error, error.status === 503 ? NOT_YET : ''));
    } finally {
      button.disabled = false;
    }
  };
  return [section('Some of its rows'), note('With its masks and filters. The audit trail notes that you looked, and for whom.'), button, box];
}

function explanation(answer, query) {
  const plan = answer.enforcement;
  const [kind, words] = OUTCOME[plan.kind] ?? ['bad', `has a plan of the kind ${plan.kind}.`];
  const masks = answer.column_masks.flatMap((one) => one.masking_policies.map((policy) => [one.column, policy.name, policy.why, effect(policy),
    plan.masks[one.column] === undefined ? 'the value as it is' : code(plan.masks[one.column])]));
  const filters = answer.row_access_policies.map((policy) => [policy.name, policy.why, effect(policy)]);
  return [element('p', { id: 'outcome', class: kind }, `${answer.principal} ${words} ${plan.reason ?? ''}`),
    note(answer.roles.length === 0 ? 'It has no role.' : `Its roles: ${answer.roles.join(', ')}.`),
    section('Columns'), table('Columns', ['Column', 'Mask', 'Because', 'For this principal', 'It sees'], masks, 'No mask reaches a column.'),
    ...(masks.length === 0 ? [] : [note('All other columns are seen as they are.')]),
    section('Rows'), table('Rows', ['Policy', 'Because', 'For this principal'], filters, 'No policy leaves rows out.'),
    ...(plan.row_filter === null ? [] : [note('It sees the rows where this is true; the filter reads raw values:'), element('pre', {}, plan.row_filter)]),
    ...preview(query),
    ...(plan.view_sql === null ? [] : [section('The same as one query'), element('pre', {}, plan.view_sql)]),
    element('p', {}, link(place('table', { name: answer.table }), 'The table'), ' ', link(place('audit', { principal: answer.principal }), 'What it did'))];
}

export async function seePage(parameters, go) {
  const asked = parameters.table && parameters.principal;
  const query = () => new URLSearchParams({ table: parameters.table, principal: parameters.principal, ...(parameters.roles ? { roles: parameters.roles } : {}) });
  // A form alone would let somebody fill it in who may not ask.
  if (!asked) await get('governance/roles');
  const answer = asked ? explanation(await get(`governance/effective-policies?${query()}`), query) : [];
  return [heading('What would somebody see?'), question(parameters, go), ...answer];
}
