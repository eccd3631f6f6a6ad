/**
 * The form: a control for each value, which is checked as it is typed; the service has the last word.
 *
 * @import { ConnectField } from '../core/resources/connect-session.ts'
 * @typedef {keyof Words['invalid']} Mistake
 * @typedef {object} Control
 * @property {ConnectField} field
 * @property {HTMLElement} row
 * @property {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} input
 * @property {(text: string) => void} say shows what is wrong; empty: nothing is
 */

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const hostname = new RegExp(`^${label}(?:\\.${label})*$`);

/** @type {Record<string, (text: string) => boolean>} */
const formats = {
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  'date-time': (text) => /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}.*(?:Z|[+-]\d{2}:\d{2})$/i.test(text),
  email: (text) => /^[^\s@"<>]+@[^\s@"<>]+$/.test(text),
  uuid: (text) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
  hostname: (text) => hostname.test(text),
  subdomain: (text) => new RegExp(`^${label}$`).test(text),
};

/** @param {ConnectField} field */
const isList = ({ type }) => type === 'string_list';

/** Keys and certificates have several lines. @param {ConnectField} field */
const isLong = ({ type, key, label: shown, description }) =>
  type === 'json' ||
  type === 'string_list' ||
  /\b(?:pem|certificates?|private[ _-]?key)\b/i.test(
    `${key.replaceAll(/([a-z])([A-Z])/g, '$1 $2')} ${shown} ${description ?? ''}`,
  );

/** The value as it is sent; `undefined`: none. @param {ConnectField} field @param {string} text */
function valueOf(field, text) {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  if (field.choices !== null && !isList(field)) return field.choices[Number(trimmed)];
  switch (field.type) {
    case 'integer':
    case 'number':
      return Number(trimmed);
    case 'boolean':
      return trimmed === 'true';
    case 'json':
      return JSON.parse(trimmed);
    case 'string_list':
      return trimmed.split('\n').flatMap((line) => line.trim() || []);
    case 'string':
    case 'url':
      return trimmed;
  }
}

/** What is wrong, and the limit that its words name. @param {ConnectField} field @param {string} text @returns {[Mistake, number?] | null} */
function mistakeIn(field, text) {
  const trimmed = text.trim();
  const { type, min, max, minLength, maxLength, format, pattern } = field;
  if (trimmed === '') return field.required && !(field.secret && field.isStored) ? ['required'] : null;
  if (field.choices !== null || type === 'boolean') return null;
  if (type === 'integer' || type === 'number') {
    const number = Number(trimmed);
    if (!Number.isFinite(number)) return ['number'];
    if (type === 'integer' && !Number.isSafeInteger(number)) return ['integer'];
    if (min !== null && number < min) return ['min', min];
    return max !== null && number > max ? ['max', max] : null;
  }
  if (type === 'json') return isJson(trimmed) ? null : ['json'];
  for (const one of isList(field) ? trimmed.split('\n').map((line) => line.trim()) : [trimmed]) {
    if (minLength !== null && one.length < minLength) return ['minLength', minLength];
    if (maxLength !== null && one.length > maxLength) return ['maxLength', maxLength];
    if (type === 'url' && !/^https?:\/\/[^\s/@]+(?:[/?#]\S*)?$/i.test(one)) return ['url'];
    if (format !== null && formats[format]?.(one) === false) return [/** @type {Mistake} */ (format)];
    if (pattern !== null && !matches(pattern, one)) return ['pattern'];
  }
  return null;
}

/** @param {string} text */
function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A pattern that browsers do not know is left to the service. @param {string} pattern @param {string} text */
function matches(pattern, text) {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}

/** @param {ConnectField} field @param {Words} text @returns {Control} */
function controlOf(field, text) {
  const id = `value-${field.key}`;
  const error = element('p', { id: `${id}-error`, class: 'error', hidden: '' });
  const hint = hintOf(field, text);
  const described = [...(hint.textContent === '' ? [] : [`${id}-hint`]), `${id}-error`].join(' ');
  const input = inputOf(field, text, { id, name: field.key, 'aria-describedby': described });
  hint.id = `${id}-hint`;
  const isOptional = !field.required;
  const name = element(
    'label',
    { for: id },
    field.label,
    ...(isOptional ? [' ', element('span', { class: 'muted' }, text.optional)] : []),
  );
  const box = element('div', { class: 'box' }, input);
  if (input instanceof HTMLInputElement && field.secret) box.append(revealOf(input, text));
  if (!isOptional && !field.isStored) input.required = true;
  const row = element('div', { class: 'row' }, name, box, hint, error);
  let isTouched = false;
  /** @param {string} words */
  const say = (words) => {
    error.textContent = words;
    error.hidden = words === '';
    input.setAttribute('aria-invalid', String(words !== ''));
    isTouched ||= words !== '';
  };
  const check = () => say(mistakeWords(field, input.value, text));
  input.addEventListener('input', () => isTouched && check());
  input.addEventListener('change', () => {
    isTouched = true;
    check();
  });
  return { field, row, input, say };
}

/** @param {ConnectField} field @param {string} given @param {Words} text */
function mistakeWords(field, given, text) {
  const mistake = mistakeIn(field, given);
  return mistake === null ? '' : fill(text.invalid[mistake[0]], mistake[1] ?? '');
}

/** @param {ConnectField} field @param {Words} text */
function hintOf({ description, example, helpUrl, type, secret, isStored }, text) {
  const sentences = [
    ...(description ? [description] : []),
    ...(example ? [`${fill(text.example, example)}.`] : []),
    ...(type === 'string_list' ? [text.onePerLine] : []),
    ...(secret && isStored ? [text.keeps] : []),
  ];
  const hint = element('p', { class: 'muted' }, sentences.join(' '));
  if (helpUrl)
    hint.append(' ', element('a', { href: helpUrl, target: '_blank', rel: 'noopener noreferrer' }, text.help));
  return hint;
}

/** @param {ConnectField} field @param {Words} text @param {Record<string, string>} attributes */
function inputOf(field, text, attributes) {
  const { type, value, secret, choices } = field;
  if (type === 'boolean' || (choices !== null && !isList(field) && !secret)) return choiceOf(field, text, attributes);
  const shown = value === null ? '' : shownText(value);
  const plain = { ...attributes, autocomplete: secret ? 'new-password' : 'off', spellcheck: 'false' };
  if (isLong(field)) {
    const area = element('textarea', { ...plain, rows: '4', ...(secret ? { class: 'masked' } : {}) });
    area.value = shown;
    return area;
  }
  /** @type {Record<string, string>} */
  const modes = { integer: 'numeric', number: 'decimal', url: 'url', email: 'email' };
  const mode = modes[field.format ?? type] ?? 'text';
  const input = element('input', {
    ...plain,
    type: secret ? 'password' : field.format === 'date' ? 'date' : 'text',
    inputmode: mode,
  });
  input.value = shown;
  return input;
}

/** @param {unknown} value */
const shownText = (value) =>
  Array.isArray(value) ? value.join('\n') : typeof value === 'string' ? value : JSON.stringify(value);

/** @param {ConnectField} field @param {Words} text @param {Record<string, string>} attributes */
function choiceOf({ choices, value, required, type }, text, attributes) {
  const all =
    type === 'boolean'
      ? [
          ['true', text.yes, true],
          ['false', text.no, false],
        ]
      : (choices ?? []).map((choice, index) => [String(index), shownText(choice), choice]);
  const select = element('select', attributes, element('option', { value: '' }, required ? text.choose : text.none));
  for (const [sent, shown, choice] of all) {
    const option = element('option', { value: String(sent) }, String(shown));
    option.selected = value !== null && JSON.stringify(choice) === JSON.stringify(value);
    select.append(option);
  }
  return select;
}

/** @param {HTMLInputElement} input @param {Words} text */
function revealOf(input, text) {
  const reveal = button(
    text.show,
    () => {
      const isShown = input.type === 'text';
      input.type = isShown ? 'password' : 'text';
      reveal.textContent = isShown ? text.show : text.hide;
      reveal.setAttribute('aria-pressed', String(!isShown));
    },
    'quiet',
  );
  reveal.setAttribute('aria-pressed', 'false');
  reveal.setAttribute('aria-controls', input.id);
  return reveal;
}
