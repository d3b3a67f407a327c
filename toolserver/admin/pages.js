// What each page shows, and what a person can do there. A page is a function that answers nodes; `again` shows it
// anew.

import { button, labelled, make, mono, quiet, rows, say, time, wrong } from './page.js';
import { get, post } from './requests.js';

/// A button that does one thing and says so; what goes wrong stands beside it.
function act(text, done, run, again, kind = '') {
  const place = make('span', null);
  const press = button(text, async () => {
    press.disabled = true;
    try {
      await run();
      say(done);
      await again();
    } catch (error) {
      press.disabled = false;
      place.replaceChildren(wrong(error));
    }
  }, kind);
  place.append(press);
  return place;
}

function pin(one, again) {
  const can = one.state === 'new' || one.state === 'changed';
  const lines = one.differences.map((line) => make('span', { class: line.startsWith('+') ? 'plus' : 'minus' }, `${line}\n`));
  return make('section', { class: 'card', 'aria-label': one.tool },
    make('h3', null, one.tool, ' ', make('span', { class: `tag ${one.state}` }, one.state)),
    one.reason ? quiet(one.reason) : '',
    lines.length === 0 ? '' : make('pre', { tabindex: '0', 'aria-label': `What differs in ${one.tool}` }, lines),
    one.left_out > 0 ? quiet(`and ${one.left_out} lines more: securetool pins diff ${one.tool}`) : '',
    make('p', { class: 'row' },
      can ? act(`Approve ${one.tool}`, `${one.tool} is approved`, () => post('pins/approve', { tool: one.tool, pin: one.pin }), again, 'main') : '',
      one.state === 'pinned' || one.state === 'gone' ? act(`Revoke ${one.tool}`, `${one.tool} is revoked`, () => post('pins/revoke', { tool: one.tool }), again) : ''));
}

export async function tools(again) {
  const all = await get('tools');
  const waiting = all.pins.filter((one) => one.state !== 'pinned');
  const pinned = all.pins.filter((one) => one.state === 'pinned');
  return [
    ...(waiting.length > 0 ? [make('h2', null, 'Tools that wait for a decision'), ...waiting.map((one) => pin(one, again))] : []),
    make('h2', null, 'Tools'),
    rows('Tools', ['Tool', 'What it says it does', 'From', 'Consent', 'State'],
      all.tools.map((one) => [mono(one.id), one.description, one.server === '' ? one.origin : `${one.origin} ${one.server}`, one.consent, one.state]), 'There are no tools.'),
    ...(pinned.length > 0 ? [make('h2', null, 'Approved tools of other servers'), ...pinned.map((one) => pin(one, again))] : []),
  ];
}

let before = '';  // The questions that stand on the page.

export async function consents(again, quietly) {
  const { consents: open, agreed } = await get('consents');
  const now = [...open, ...agreed].map((one) => one.id).join();
  if (quietly && now === before) return null;
  if (quietly && open.length > 0) say(open.length === 1 ? 'One question waits.' : `${open.length} questions wait.`);
  before = now;
  const waiting = open.map((one) => {
    const decide = (decision, scope) => () => post('consents/decide', { id: one.id, decision, ...(scope ? { scope } : {}) });
    return make('section', { class: 'card', 'aria-label': one.summary },
      make('h3', null, one.summary, ' ', make('span', { class: `tag ${one.risk}` }, `${one.risk} risk`)),
      make('pre', { tabindex: '0', 'aria-label': 'Arguments' }, one.arguments),
      one.truncated ? quiet(`Not all of it is shown: the arguments have ${one.bytes} bytes.`) : '',
      quiet(`It waits until ${time(one.expires)}. Request ${one.rid}.`),
      make('p', { class: 'row' },
        act('Approve once', 'Approved for this call', decide('approve', 'once'), again, 'main'),
        act('Approve these arguments', 'Approved for these arguments', decide('approve', 'args_hash'), again),
        one.session_scope ? act('Approve for the session', 'Approved for the session', decide('approve', 'session'), again) : '',
        act('Deny', 'Denied', decide('deny'), again)));
  });
  return [
    ...(waiting.length > 0 ? waiting : [quiet('Nobody waits for consent. What comes is shown here by itself.')]),
    make('h2', null, 'What holds for more than one call'),
    rows('Approvals', ['Caller', 'Tool', 'For', 'By', 'Until', ''],
      agreed.map((one) => [one.principal, mono(one.tool), one.scope === 'session' ? 'its session' : 'the same arguments', one.by, time(one.until),
        act('Take back', 'The approval is taken back', () => post('consents/revoke', { id: one.id }), again)]), 'Nothing.'),
  ];
}

let connected = '';  // The sessions that stand on the page. One that is ended goes a moment later.

export async function sessions(again, quietly) {
  const { sessions: open } = await get('sessions');
  const now = open.map((one) => one.session_id).join();
  if (quietly && now === connected) return null;
  connected = now;
  return [rows('Sessions', ['Caller', 'By', 'From', 'Since', 'Session', ''],
    open.map((one) => [one.sub, one.method, one.peer, time(one.since), mono(one.session_id),
      act('End', `The session of ${one.sub} is ended`, () => post('sessions/end', { session_id: one.session_id }), again)]), 'Nobody is connected.')];
}

let asked = { principal: '', tool: '', kind: '', text: '', before: 0 };

function line(one) {
  const result = one.decision ? `${one.decision.verdict}${one.decision.code ? ` ${one.decision.code}` : ''}${one.result ? `, ${one.result.status}` : ''}` : (one.event ?? '');
  return [one.seq, String(one.ts ?? '').slice(0, 19).replace('T', ' '), one.kind, one.principal?.sub ?? one.details?.by ?? '', mono(one.tool ?? ''), result,
    make('details', null, make('summary', null, 'Record'), make('pre', { tabindex: '0' }, JSON.stringify(one, null, 1)))];
}

export async function audit(again) {
  const input = (name, text) => labelled(text, make('input', { name, value: asked[name], autocomplete: 'off', spellcheck: 'false', maxlength: '256' }));
  const form = make('form', {
    class: 'row',
    onsubmit: (event) => {
      event.preventDefault();
      asked = { ...Object.fromEntries(new FormData(event.target)), before: 0 };
      again();
    },
  }, input('principal', 'Caller'), input('tool', 'Tool'), input('kind', 'Kind'), input('text', 'Text'), make('button', { class: 'main' }, 'Search'));
  const found = await get('audit', asked);
  const older = () => { asked.before = found.next; again(); };
  return [form, rows('Audit', ['Line', 'Time, UTC', 'Kind', 'Caller', 'Tool', 'Result', ''], found.lines.map(line), 'There is no such line.'),
    make('p', { class: 'row' }, found.next > 0 ? button('Older', older) : '')];
}
