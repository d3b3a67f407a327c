// Tags, policies and grants: what is written, where it applies, and the forms that write it.

import { code, confirmed, element, heading, link, note, place, section, table } from './dom.js';
import { listed, part, post, Refusal, remove } from './api.js';
import { kindText } from './catalog.js';
import { form, removal } from './forms.js';

const ONE_MASK = 'A column has one mask at most. Detach the other mask, or take off the tag that brings it, and try again.';
const STILL_USED = 'Take it away there first, then here.';
const NAMES = 'A schema is named as in the list of namespaces. Names are told apart by upper and lower case.';

const tagText = (one) => `${one['tag-namespace']}.${one['tag-name']}`;
const objectText = (one) => [one.schema, one.object, one.column].filter((name) => name !== undefined).join('.');
const named = (members) => members.map((one) => [one.name, one.name]);

// The value of a choice of tags, and the members that name it.
const tagChoice = (tags) => tags.map((one) => [JSON.stringify([one.namespace, one.name]), `${one.namespace}.${one.name}`]);
const tagMembers = (value) => {
  const [name_space, name] = JSON.parse(value);
  return { 'tag-namespace': name_space, 'tag-name': name };
};

const kinds = (words) => Object.entries(words);
const is = (...wanted) => (values) => wanted.includes(values.kind);
const objectFields = [
  { name: 'schema', label: 'Schema', when: is('schema', 'table', 'view', 'column') },
  { name: 'object', label: 'Table or view', when: is('table', 'view', 'column') },
  { name: 'column', label: 'Column', when: is('column') },
];
const objectMembers = (given) => Object.fromEntries(['schema', 'object', 'column'].filter((name) => given[name] !== undefined).map((name) => [name, given[name]]));
const words = (text) => text.split(',').map((word) => word.trim()).filter((word) => word !== '');

// A table whose rows end in a button each, and the place for what it is told.
function removable(caption, headings, rows, none, again) {
  const box = element('div');
  return [table(caption, [...headings, ''], rows.map(([cells, way]) => [...cells, removal({ ...way, again, box })]), none), box];
}

export async function tagsPage(parameters, go, again) {
  const [tags, assigned] = await Promise.all([listed('tags'), listed('object-tags')]);
  const tagRows = tags.map((one) => [[`${one.namespace}.${one.name}`, (one['allowed-values'] ?? ['any']).join(', ')], {
    label: 'Delete', question: `Delete the tag ${one.namespace}.${one.name}?`, done: 'The tag is deleted.', advice: { 409: STILL_USED },
    send: () => remove(`governance/tags/${part(one.namespace)}/${part(one.name)}`) }]);
  const assignedRows = assigned.map((one) => [[tagText(one), one['object-kind'], objectText(one), one.value ?? ''], {
    label: 'Take off', question: `Take the tag ${tagText(one)} off ${objectText(one)}?`, done: 'The tag is taken off: masks that it brought lapse.',
    send: () => remove('governance/object-tags', one) }]);
  const create = form({
    legend: 'Make a tag', button: 'Make', again,
    fields: [{ name: 'namespace', label: 'Namespace of the tag' }, { name: 'name', label: 'Name' },
      { name: 'allowed', label: 'Allowed values, parted by commas; none: any', required: false }],
    send: (given) => post('governance/tags', { namespace: given.namespace, name: given.name, ...(given.allowed === '' ? {} : { 'allowed-values': words(given.allowed) }) }),
    done: (given) => `The tag ${given.namespace}.${given.name} is there.`,
  });
  const assign = form({
    legend: 'Put a tag on something', button: 'Put on', again, advice: { 409: ONE_MASK, 404: NAMES },
    fields: [{ name: 'tag', label: 'Tag', options: tagChoice(tags) },
      { name: 'kind', label: 'On', options: kinds({ column: 'a column', table: 'a table: all its columns', view: 'a view', schema: 'a schema: all its tables' }) },
      ...objectFields, { name: 'value', label: 'Value, if the tag has some', required: false }],
    send: (given) => post('governance/object-tags', { ...tagMembers(given.tag), 'object-kind': given.kind, ...objectMembers(given),
      ...(given.value === '' ? {} : { value: given.value }) }),
    done: (given) => `The tag is on ${objectText(given)}.`,
  });
  return [heading('Tags'), note('A policy that is attached to a tag applies to all that the tag is on.'),
    ...removable('Tags', ['Tag', 'Allowed values'], tagRows, 'No tag.', again), create,
    section('Where tags are'), ...removable('Where tags are', ['Tag', 'On a', 'Name', 'Value'], assignedRows, 'No tag is on anything.', again), assign];
}

const rolesText = (one) => ((one['unmasked-roles'] ?? []).length === 0 ? 'nobody' : one['unmasked-roles'].join(', '));
const targetText = (one) => (one['target-kind'] === 'tag' ? `tag ${tagText(one)}` : `${one['target-kind']} ${objectText(one)}`);

// What to do about what the engine says to a body. The first that fits; the server's own words stand before it.
const BODY_ADVICE = [
  [/none of the signature's arguments/, 'A body reads its arguments alone, by the names that the signature gives them.'],
  [/one expression|must have no name|of the kind|near "(select|from|;)/i, 'Write one expression over the arguments: no SELECT, no FROM, no second statement, no subquery.'],
  [/is not allowed|without a schema/, 'Use functions of texts, numbers, dates, lists and JSON: none that reads files, settings or the time, or that is random.'],
  [/a million times|the length must be/, 'Keep what it makes short: give repeat and the like a small number.'],
  [/must be BOOLEAN/, 'A row-access policy keeps the rows where its body is true: write a comparison.'],
  [/must have one argument/, 'A mask has one argument, as (v VARCHAR).'],
  [/has no type/, 'Give each argument a name and a type: (region VARCHAR, amount BIGINT).'],
  [/^signature:/, 'Arguments stand in brackets, parted by commas, each with a name and a type: (region VARCHAR, amount BIGINT).'],
  [/syntax error|unterminated/i, 'The SQL breaks off or has a stray sign where the message points: count quotes and brackets. A text stands in single quotes.'],
  [/No function matches|does not exist|cannot (be )?cast|no such/i, 'Check the names of functions and the types: a text becomes a number with TRY_CAST(v AS BIGINT).'],
  [/could not convert|conversion/i, 'A cast that fails would tell the value: write TRY_CAST instead of CAST.'],
];
const bodyAdvice = (said) => (BODY_ADVICE.find(([pattern]) => pattern.test(said)) ?? ['', ''])[1];

// A policy of that name is replaced, wherever it is attached: only once its user has said yes.
async function mayWrite(there, name) {
  if (!there.some((one) => one.name === name)) return;
  const question = `Replace the policy ${name}? Wherever it is attached, the new body is in force from the next request on.`;
  if (!await confirmed(question, 'Replace')) throw new Refusal(0, 'Nothing was changed.');
}

function writing(legend, collection, there, example, more, again) {
  return form({
    legend, button: 'Write', again, advice: { 400: bodyAdvice, 409: 'Its arguments are bound to columns of a table: detach it there first.' },
    fields: [{ name: 'name', label: 'Name' }, { name: 'signature', label: `Arguments, as ${example}` },
      { name: 'body', label: 'Body: one expression over the arguments', long: true },
      { name: 'lifted', label: 'Roles that it does not bind, parted by commas', required: false }, ...more],
    send: async (given) => {
      await mayWrite(there, given.name);
      const files = given.files === undefined ? {} : { 'file-layer-masking': given.files === 'yes' };
      await post(`governance/${collection}`, { name: given.name, signature: given.signature, body: given.body, 'unmasked-roles': words(given.lifted), ...files });
    },
    done: (given) => `The policy ${given.name} is written.`,
  });
}

function deletable(collection, name) {
  return { label: 'Delete', question: `Delete the policy ${name}?`, done: 'The policy is deleted.', advice: { 409: 'Detach it first.' },
    send: () => remove(`governance/${collection}/${part(name)}`) };
}

export async function policiesPage(parameters, go, again) {
  const [masks, filters, attachments, tags] = await Promise.all(['masking-policies', 'row-access-policies', 'policy-attachments', 'tags'].map(listed));
  const attachedRows = attachments.map((one) => [[one['policy-name'], kindText(one['policy-kind']), targetText(one), (one.columns ?? []).join(', ')], {
    label: 'Detach', question: `Detach ${one['policy-name']} from ${targetText(one)}?`, done: 'The policy is detached: it is in force there no more.',
    send: () => remove('governance/policy-attachments', one) }]);
  const attach = (legend, policyKind, policies, targets, fields, more) => form({
    legend, button: 'Attach', again, advice: { 409: ONE_MASK, 404: NAMES },
    fields: [{ name: 'policy', label: 'Policy', options: named(policies) }, { name: 'kind', label: 'To', options: kinds(targets) },
      { name: 'tag', label: 'Tag', options: tagChoice(tags), when: is('tag') }, ...fields],
    send: (given) => post('governance/policy-attachments', { 'policy-kind': policyKind, 'policy-name': given.policy, 'target-kind': given.kind,
      ...(given.tag === undefined ? objectMembers(given) : tagMembers(given.tag)), ...more(given) }),
    done: (given) => `${given.policy} is attached: it is in force from the next request on.`,
  });
  const columns = { name: 'columns', label: 'Columns that are its arguments, in order; none: those of the same names', required: false, when: is('table') };
  return [heading('Policies'),
    section('Masks'), ...removable('Masks', ['Name', 'Arguments', 'Body', 'Does not bind', 'In the files'], masks.map((one) => [[one.name,
      code(one.signature), code(one.body), rolesText(one), one['file-layer-masking'] ? 'yes' : 'no: the reader applies it'],
    deletable('masking-policies', one.name)]), 'No mask.', again),
    writing('Write a mask', 'masking-policies', masks, '(v VARCHAR)', [{ name: 'files', label: 'Where', options: kinds({
      no: 'told to readers, who apply it', yes: 'in the files: nobody reaches a raw value' }) }], again),
    section('Row-access policies'), ...removable('Row-access policies', ['Name', 'Arguments', 'Keeps rows where', 'Does not bind'],
      filters.map((one) => [[one.name, code(one.signature), code(one.body), rolesText(one)], deletable('row-access-policies', one.name)]),
      'No row-access policy.', again),
    writing('Write a row-access policy', 'row-access-policies', filters, '(region VARCHAR)', [], again),
    section('Where they apply'), ...removable('Where they apply', ['Policy', 'Kind', 'Attached to', 'Arguments'], attachedRows, 'No policy is attached.', again),
    attach('Attach a mask', 'masking', masks, { tag: 'a tag', column: 'a column' }, objectFields, () => ({})),
    attach('Attach a row-access policy', 'row_access', filters, { table: 'a table', tag: 'a tag' }, [...objectFields, columns],
      (given) => ((given.columns ?? '') === '' ? {} : { columns: words(given.columns) })),
    note('What follows for one principal: ', link(place('see'), 'What would somebody see?'))];
}

export async function grantsPage(parameters, go, again) {
  const [roles, roleGrants, objectGrants] = await Promise.all(['roles', 'role-grants', 'object-grants'].map(listed));
  const roleRows = roles.map((one) => [[one.name], { label: 'Delete', question: `Delete the role ${one.name}?`, done: 'The role is deleted.',
    advice: { 409: STILL_USED }, send: () => remove(`governance/roles/${part(one.name)}`) }]);
  const holderRows = roleGrants.map((one) => [[one.principal, one.role], { label: 'Revoke', question: `Take the role ${one.role} from ${one.principal}?`,
    done: 'The role is revoked from the next request on.', send: () => remove('governance/role-grants', one) }]);
  const grantRows = objectGrants.map((one) => [[one.role, one.privilege, one['object-kind'], objectText(one)], { label: 'Revoke',
    question: `Revoke ${one.privilege} on ${objectText(one)} from ${one.role}?`, done: 'The grant is revoked.', send: () => remove('governance/object-grants', one) }]);
  const role = form({ legend: 'List a role', button: 'List', again, fields: [{ name: 'name', label: 'Role' }],
    send: (given) => post('governance/roles', given), done: (given) => `The role ${given.name} is listed.` });
  const hold = form({ legend: 'Give somebody a role', button: 'Give', again,
    fields: [{ name: 'principal', label: 'Principal: the subject of its tokens' }, { name: 'role', label: 'Role' }],
    send: (given) => post('governance/role-grants', given), done: (given) => `${given.principal} has the role ${given.role}.` });
  const grant = form({ legend: 'Grant something to a role', button: 'Grant', again, advice: { 404: NAMES },
    fields: [{ name: 'role', label: 'Role' }, { name: 'privilege', label: 'May', options: named(['select', 'insert', 'update', 'delete'].map((name) => ({ name }))) },
      { name: 'kind', label: 'On', options: kinds({ table: 'a table', view: 'a view', schema: 'a schema' }) }, ...objectFields],
    send: (given) => post('governance/object-grants', { role: given.role, privilege: given.privilege, 'object-kind': given.kind, ...objectMembers(given) }),
    done: (given) => `${given.role} may ${given.privilege} ${objectText(given)}.` });
  return [heading('Roles and grants'), note('Roles also come with tokens. What a token may ask the API for is its scope, not a grant.'),
    section('Who has which role'), ...removable('Who has which role', ['Principal', 'Role'], holderRows, 'Nobody was given a role here.', again), hold,
    section('What roles may'), note('Once any select is granted, DuckDB on the lake itself sees only what is granted.'),
    ...removable('What roles may', ['Role', 'May', 'On a', 'Name'], grantRows, 'No grant.', again), grant,
    section('Listed roles'), ...removable('Listed roles', ['Role'], roleRows, 'No role is listed.', again), role];
}
