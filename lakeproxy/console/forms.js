// Forms that write governance. Each says what it did, or why not, where it stands.

import { announce, confirmed, element, field as labelled, refusal } from './dom.js';

/// A field: {name, label, options, required, when, long}. `options` makes a choice of [value, text] pairs, `long` room for
/// several lines. `when`, a function of the form's values, says whether the field is there.
function control(field) {
  const attributes = { name: field.name, required: field.required !== false };
  if (field.long) return element('textarea', { ...attributes, autocomplete: 'off', spellcheck: 'false', maxlength: '8000' });
  if (field.options === undefined) {
    return element('input', { ...attributes, autocomplete: 'off', spellcheck: 'false', maxlength: '1000' });
  }
  return element('select', attributes, field.options.map(([value, text]) => element('option', { value }, text)));
}

const adviceOn = (error, advice) => {
  const words = advice[error.status] ?? '';
  return typeof words === 'function' ? words(error.said) : words;
};

/// `send` makes the request of the values, `done` says it in words; `advice` tells by an error's status what to do about it,
/// as words or as a function of what the server said.
/// `again` shows the page anew, and returns once it is there.
export function form({ legend, fields, button, send, done, advice = {}, again }) {
  const controls = fields.map((field) => ({ field, input: control(field) }));
  const labels = controls.map(({ field, input }) => labelled(field.label, input));
  const values = () => Object.fromEntries(controls.filter(({ input }) => !input.disabled).map(({ field, input }) => [field.name, input.value]));
  const arrange = () => {
    const all = Object.fromEntries(controls.map(({ field, input }) => [field.name, input.value]));
    controls.forEach(({ field, input }, index) => {
      const there = field.when === undefined || field.when(all);
      input.disabled = !there;
      labels[index].hidden = !there;
    });
  };
  const answer = element('div');
  const submit = element('button', { class: 'main' }, button);
  const run = async (event) => {
    event.preventDefault();
    submit.disabled = true;
    answer.replaceChildren();
    try {
      const given = values();
      await send(given);
      await again();  // It is said once it can be seen.
      announce(done(given));
    } catch (error) {
      answer.replaceChildren(refusal(error, adviceOn(error, advice)));
    } finally {
      submit.disabled = false;
    }
  };
  arrange();
  return element('form', { on: { submit: run, change: arrange } },
    element('fieldset', {}, element('legend', {}, legend), element('div', { class: 'fields' }, labels, submit), answer));
}

/// A button that takes something away once its user has said yes. A refusal is shown below `box`.
export function removal({ label, question, send, done, advice = {}, again, box }) {
  const run = async () => {
    if (!await confirmed(question, label)) return;
    try {
      await send();
      await again();
      announce(done);
    } catch (error) {
      box.replaceChildren(refusal(error, adviceOn(error, advice)));
    }
  };
  return element('button', { type: 'button', class: 'small', 'aria-label': question.replace('?', ''), on: { click: run } }, label);
}
