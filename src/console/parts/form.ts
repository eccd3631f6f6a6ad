import { formTokenField } from '../form-body.ts';
import type { Visit } from '../route.ts';
import { type Content, type Html, html } from './html.ts';

/** Shows that the form comes from the session. */
export const tokenField = ({ session }: Pick<Visit, 'session'>): Html =>
  html`<input type="hidden" name="${formTokenField}" value="${session.formToken}">`;

interface FormOptions {
  readonly action: string;
  readonly class?: string;
  /** For buttons outside of the form. */
  readonly id?: string;
}

export const form = ({ session }: Pick<Visit, 'session'>, options: FormOptions, content: Content): Html => html`
  <form method="post" action="${options.action}" class="${options.class ?? ''}"${options.id ? html` id="${options.id}"` : ''}>
    ${tokenField({ session })}
    ${content}
  </form>`;

/** `confirm`: the question that the script asks first. */
export const button = (
  visit: Pick<Visit, 'session'>,
  { action, label, look = '', confirm = '', fields = {} }: ButtonOptions,
): Html =>
  form(visit, { action, class: 'inline' }, [
    ...Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`),
    html`<button class="${look}"${confirm ? html` data-confirm="${confirm}"` : ''}>${label}</button>`,
  ]);

interface ButtonOptions {
  readonly action: string;
  readonly label: string;
  readonly look?: 'primary' | 'danger' | '';
  readonly confirm?: string;
  readonly fields?: Readonly<Record<string, string>>;
}

interface Labelled {
  readonly name: string;
  /** Absent: by its name. */
  readonly id?: string;
  readonly label: string;
  readonly hint?: Content;
  /** Why what was sent does not fit. */
  readonly error?: string | undefined;
}

export const fieldId = (name: string): string => `field-${name}`;

/** A control below its label; the control has these attributes. */
export function labelled(
  { name, label, hint, error, id = fieldId(name) }: Labelled,
  control: (attributes: Html) => Html,
): Html {
  const described = [error === undefined ? '' : `${id}-error`, hint ? `${id}-hint` : ''].filter((one) => one !== '');
  const attributes = html`id="${id}" name="${name}"${
    described.length > 0 ? html` aria-describedby="${described.join(' ')}"` : ''
  }${error === undefined ? '' : html` aria-invalid="true"`}`;
  return html`<div class="field">
    <label for="${id}">${label}</label>
    ${control(attributes)}
    ${error === undefined ? '' : html`<p class="error" id="${id}-error">${error}</p>`}
    ${hint ? html`<p class="hint" id="${id}-hint">${hint}</p>` : ''}
  </div>`;
}

interface FieldOptions extends Labelled {
  readonly value?: string;
  readonly type?: 'text' | 'password' | 'url' | 'number' | 'datetime-local' | 'search' | 'date' | 'email';
  readonly required?: boolean;
  readonly placeholder?: string;
  readonly autocomplete?: string;
}

export function field({ value = '', type = 'text', ...options }: FieldOptions): Html {
  const { required = false, placeholder = '', autocomplete = 'off' } = options;
  return labelled(
    options,
    (attributes) => html`<input ${attributes} type="${type}" value="${value}" placeholder="${placeholder}"
      autocomplete="${autocomplete}" spellcheck="false" ${required ? html`required` : ''}>`,
  );
}

interface SelectOptions extends Labelled {
  readonly value?: string | undefined;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly required?: boolean;
}

export const select = ({ value = '', options, required = false, ...named }: SelectOptions): Html =>
  labelled(
    named,
    (attributes) =>
      html`<select ${attributes} ${required ? html`required` : ''}>${options.map(
        ([option, words]) =>
          html`<option value="${option}" ${option === value ? html`selected` : ''}>${words}</option>`,
      )}</select>`,
  );

export const checkbox = (name: string, label: string, { value = 'on', checked = false } = {}): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="${value}" ${checked ? html`checked` : ''}> ${label}</label>`;

/** `more`: fields that are rarely used; open while one of them has a value. */
export const filters = (
  address: string,
  content: Content,
  more?: { readonly open: boolean; readonly content: Content },
): Html => html`
  <form method="get" action="${address}" class="filters">${content}<button>Filter</button>${
    more
      ? html`<details ${more.open ? html`open` : ''}><summary>More filters</summary><div class="filters">${more.content}</div></details>`
      : ''
  }</form>`;
