import type { ConnectionParam } from '../../../core/spec/schema/param-schema.ts';
import { checkbox, labelled } from '../../parts/form.ts';
import { type Content, type Html, html } from '../../parts/html.ts';
import { removedSecrets, valueName, valueText } from './sent-values.ts';

interface ValueField {
  /** As it is typed; never that of a secret. */
  readonly text: string;
  readonly error: string | undefined;
  /** Whether the connection exists, so that an empty secret stays as it is. */
  readonly isStored: boolean;
  /** Whether the box is ticked that deletes the stored value. */
  readonly isRemoved: boolean;
}

export function valueField(param: ConnectionParam, { text, error, isStored, isRemoved }: ValueField): Html {
  const { key, label = key, secret, required } = param;
  const isOptional = !required || param.default !== undefined;
  const mayBeEmpty = isOptional || (secret && isStored);
  const control = labelled(
    {
      name: valueName(param),
      label: isOptional ? `${label} (optional)` : label,
      hint: hintOf(param, isStored),
      error,
    },
    (attributes) =>
      secret
        ? secretControl(param, attributes, !mayBeEmpty)
        : paramControl(param, { attributes, text, required: !mayBeEmpty }),
  );
  if (!secret || !isStored || required) return control;
  return html`<div class="with-box">${control}${checkbox(`${removedSecrets}[]`, `Delete the stored value of ${label}`, { value: key, checked: isRemoved })}</div>`;
}

/** A password field has one line, so a longer secret has a text area that hides its letters. */
const secretControl = (param: ConnectionParam, attributes: Html, required: boolean): Html =>
  isLong(param)
    ? html`<textarea ${attributes} class="masked" rows="4" autocomplete="off" spellcheck="false" ${needed(required)}></textarea>`
    : html`<input ${attributes} type="password" autocomplete="new-password" spellcheck="false" ${lengths(param)} ${needed(required)}>`;

interface Typed {
  readonly attributes: Html;
  readonly text: string;
  readonly required: boolean;
}

function paramControl(param: ConnectionParam, typed: Typed): Html {
  const choices = param.type === 'boolean' ? [true, false] : param.type === 'string_list' ? undefined : param.enum;
  if (choices !== undefined) return choiceControl(param, choices, typed);
  const { attributes, text, required } = typed;
  if (isLong(param) || /[\r\n]/.test(text))
    // Browsers drop the first line end.
    return html`<textarea ${attributes} rows="${param.type === 'json' ? 6 : 3}" spellcheck="false" ${needed(required)}>\n${text}</textarea>`;
  return html`<input ${attributes} type="${inputTypes[param.format ?? param.type] ?? 'text'}" value="${text}"
    autocomplete="off" spellcheck="false" ${lengths(param)} ${needed(required)}>`;
}

function choiceControl(param: ConnectionParam, choices: readonly unknown[], typed: Typed): Html {
  const { attributes, text, required } = typed;
  const sent = (choice: unknown) => valueText(choice, param.type);
  const words = (choice: unknown) => (choice === true ? 'Yes' : choice === false ? 'No' : sent(choice));
  return html`<select ${attributes} ${needed(required)}>
    <option value="">${required ? 'Choose one' : param.default === undefined ? 'None' : `Default (${words(param.default)})`}</option>
    ${choices.map((choice) => html`<option value="${sent(choice)}" ${sent(choice) === text ? html`selected` : ''}>${words(choice)}</option>`)}
  </select>`;
}

/** By format or type; the others are texts. */
const inputTypes: Readonly<Record<string, string>> = { date: 'date', email: 'email', url: 'url' };

const needed = (required: boolean): Content => (required ? html`required` : '');

const lengths = ({ minLength, maxLength }: ConnectionParam): Html =>
  html`${minLength === undefined ? '' : html`minlength="${minLength}"`} ${maxLength === undefined ? '' : html`maxlength="${maxLength}"`}`;

/** Whether a value may have several lines: those of keys and certificates are part of them. */
function isLong({ type, key, label = '', description = '' }: ConnectionParam): boolean {
  if (type === 'json' || type === 'string_list') return true;
  const words = `${key.replaceAll(/([a-z])([A-Z])/g, '$1 $2')} ${label} ${description}`;
  return type === 'string' && /\b(?:pem|certificates?|private[ _-]?key|ca)\b/i.test(words);
}

function hintOf(param: ConnectionParam, isStored: boolean): string {
  const { description, secret, type, format } = param;
  const sentences = [
    ...(description ? [description.endsWith('.') ? description : `${description}.`] : []),
    ...(type === 'string_list' ? ['One per line.'] : []),
    ...(type === 'json' ? ['As JSON; a text is in double quotes.'] : []),
    ...(format === 'date-time' ? ['Such as 2026-01-01T00:00:00Z.'] : []),
    ...(param.enum !== undefined && type === 'string_list'
      ? [`Choices: ${param.enum.map((choice) => valueText(choice)).join(', ')}.`]
      : []),
    ...(secret && isStored ? ['Empty: it stays as it is.'] : []),
  ];
  return sentences.join(' ');
}
