// Catalogs, namespaces and tables: what is there, as the signed-in principal may see it.

import { announce, code, element, facts, field, heading, link, note, place, refusal, section, table } from './dom.js';
import { SEPARATOR, get, levelsOf, listed, namespacePath, openCatalog, pageOf, part, schemaText, serverGet, state } from './api.js';

const NEWEST = 50;  // Snapshots that are shown at once.

export const ADMINISTRATOR = 'Tags, policies, grants and the audit trail are for the administrator: a token with the scope *.';

/// What `make` gives, or why it was refused; a part that a reader may not see does not take the page from them.
export async function orRefusal(make) {
  try {
    return await make();
  } catch (error) {
    if (error.status === undefined || error.status === 401) throw error;
    return [refusal(error, error.status === 403 ? ADMINISTRATOR : '')];
  }
}

/// A table that grows by pages: `row` makes the cells of a member.
async function growing(caption, headings, none, path, key, row, ask = get) {
  const shown = [];
  const box = element('div');
  const more = async (next) => {
    const [members, after] = await pageOf(path, key, next, ask);
    shown.push(...members.map(row));
    const button = element('button', { type: 'button', on: { click: () => more(after).catch((error) => box.append(refusal(error))) } }, 'Show more');
    box.replaceChildren(table(caption, headings, shown, none), ...(after === '' ? [] : [element('p', { class: 'pages' }, button)]));
    if (next !== '') announce(`${shown.length} shown`);
  };
  await more('');
  return box;
}

const namespaceLink = (levels) => link(place('namespace', { name: schemaText(levels) }), schemaText(levels));
const namespaces = (path) => growing('Namespaces', ['Namespace'], 'No namespace that you may see.', path, 'namespaces', (levels) => [namespaceLink(levels)]);

export async function catalogPage(parameters, go) {
  const switchTo = async (id) => {
    await openCatalog(id);
    announce(`This is the catalog ${state().prefix} now.`);
    go(place('catalog'), true);
  };
  const other = element('input', { name: 'catalog', required: true, autocomplete: 'off', spellcheck: 'false', maxlength: '255' });
  const answer = element('div');
  const open = (id) => switchTo(id).catch((error) => answer.replaceChildren(refusal(error)));
  const form = element('form', { on: { submit: (event) => { event.preventDefault(); open(other.value); } } },
    element('fieldset', {}, element('legend', {}, 'Open another catalog'), element('div', { class: 'fields' },
      field('Catalog id', other), element('button', { class: 'main' }, 'Open')), answer));
  const registered = () => growing('Catalogs', ['Catalog', 'Schema in PostgreSQL', 'Prefix in the store', 'Account', ''], 'None beside the default one.',
    'v1/catalogs', 'catalogs', (one) => [one.catalog_id, code(one.metadata_schema), code(one.data_prefix), one.account_id ?? '',
      element('button', { type: 'button', class: 'small', 'aria-label': `Open ${one.catalog_id}`, on: { click: () => open(one.catalog_id) } }, 'Open')],
    serverGet);
  return [heading(`Catalog ${state().prefix}`), section('Namespaces'), ...[await orRefusal(() => namespaces('namespaces'))].flat(),
    section('Catalogs of this server'), ...[await orRefusal(registered)].flat(), form];
}

export async function namespacePage({ name = '' }) {
  const levels = levelsOf(name);
  const path = namespacePath(levels);
  const tableRow = (one) => [link(place('table', { name: schemaText([...levels, one.name]) }), one.name)];
  const { properties } = await get(path);
  return [heading(`Namespace ${name}`),
    section('Tables'), await growing('Tables', ['Table'], 'No tables.', `${path}/tables`, 'identifiers', tableRow),
    section('Views'), await growing('Views', ['View'], 'No views.', `${path}/views`, 'identifiers', (one) => [one.name]),
    section('Namespaces in it'), await namespaces(`namespaces?${new URLSearchParams({ parent: levels.join(SEPARATOR) })}`),
    section('Properties'), table('Properties', ['Key', 'Value'], Object.entries(properties ?? {}).map(([key, value]) => [code(key), value]), 'None.')];
}

/// "2.4 MB" of 2400000.
export function bytes(count) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let value = Number(count);
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; ++unit) value /= 1000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

const count = (text, none = 'not told') => (text === undefined ? none : Number(text).toLocaleString('en'));
const time = (milliseconds) => `${new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/// A type of Iceberg's in one line: "list<long>", "struct<a: string>".
export function typeText(type) {
  if (typeof type === 'string') return type;
  if (type.type === 'list') return `list<${typeText(type.element)}>`;
  if (type.type === 'map') return `map<${typeText(type.key)}, ${typeText(type.value)}>`;
  return `struct<${type.fields.map((field) => `${field.name}: ${typeText(field.type)}`).join(', ')}>`;
}

const tag = (one) => `${one['tag-namespace']}.${one['tag-name']}`;

// What is said of this table: [what, where, how it comes there].
async function governanceOf(schema, name) {
  const [tags, attachments] = await Promise.all([listed('object-tags'), listed('policy-attachments')]);
  const here = tags.filter((one) => one.schema === schema && (one['object-kind'] === 'schema' || one.object === name));
  const where = (one) => one.column ?? (one.object === undefined ? `schema ${schema}` : 'the table');
  const onTags = new Map(here.map((one) => [tag(one), where(one)]));
  const policies = attachments.filter((one) => (one['target-kind'] === 'tag' ? onTags.has(tag(one)) : one.schema === schema && one.object === name));
  return [section('Tags'),
    table('Tags', ['Tag', 'On', 'Value'], here.map((one) => [tag(one), where(one), one.value ?? '']), 'No tag reaches this table.'),
    section('Policies'),
    table('Policies', ['Policy', 'Kind', 'On', 'Because'], policies.map((one) => [one['policy-name'], kindText(one['policy-kind']),
      one['target-kind'] === 'tag' ? onTags.get(tag(one)) : where(one),
      one['target-kind'] === 'tag' ? `tag ${tag(one)}` : 'attached to it']), 'No policy reaches this table.')];
}

export const kindText = (kind) => (kind === 'masking' ? 'mask' : 'row access');

export async function tablePage({ name = '' }) {
  const levels = levelsOf(name);
  const own = levels.pop();
  const { metadata } = await get(`${namespacePath(levels)}/tables/${part(own)}`);
  const schema = metadata.schemas.find((one) => one['schema-id'] === metadata['current-schema-id']);
  const snapshots = [...(metadata.snapshots ?? [])].sort((a, b) => b['timestamp-ms'] - a['timestamp-ms']);
  const current = snapshots.find((one) => one['snapshot-id'] === metadata['current-snapshot-id']);
  const summary = current?.summary ?? {};
  const masked = metadata.properties?.['lakeproxy.masked-columns'];
  const columns = schema.fields.map((field) => [String(field.id), field.name, code(typeText(field.type)), field.required ? 'required' : '', field.doc ?? '']);
  const history = snapshots.slice(0, NEWEST).map((one) => [String(one['snapshot-id']), time(one['timestamp-ms']), one.summary?.operation ?? '',
    ...['added-records', 'deleted-records', 'total-records'].map((key) => count(one.summary?.[key], '0'))]);
  return [element('p', { class: 'path' }, link(place('namespace', { name: schemaText(levels) }), `Namespace ${schemaText(levels)}`)),
    heading(`Table ${own}`),
    facts([['Rows', count(summary['total-records'])], ['Data files', count(summary['total-data-files'])],
      ['Size of the data files', summary['total-files-size'] === undefined ? 'not told' : bytes(summary['total-files-size'])],
      ['Snapshots', count(snapshots.length)], ['Format version', metadata['format-version']]]),
    element('p', { class: 'path' }, code(metadata.location)),
    ...(masked === undefined ? [] : [element('p', { class: 'bad' }, `Masked for you: ${masked}.`)]),
    element('p', {}, link(place('see', { table: name }), 'What would somebody see of this table?')),
    section('Columns'), table('Columns', ['Id', 'Name', 'Type', '', 'Comment'], columns),
    section('Snapshots'), table('Snapshots', ['Id', 'Time', 'Operation', 'Rows added', 'Rows deleted', 'Rows'], history, 'No snapshot: the table is empty.'),
    ...(snapshots.length > NEWEST ? [note(`The newest ${NEWEST} of ${snapshots.length}.`)] : []),
    ...(await orRefusal(() => governanceOf(schemaText(levels), own)))];
}
