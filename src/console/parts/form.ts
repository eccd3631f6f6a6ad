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

interface FieldOptions {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly value?: string;
  readonly type?: 'text' | 'password' | 'url' | 'number' | 'datetime-local' | 'search';
  readonly required?: boolean;
  readonly placeholder?: string;
  readonly autocomplete?: string;
}

export function field({ name, label, hint, value = '', type = 'text', ...more }: FieldOptions): Html {
  const id = `field-${name}`;
  const { required = false, placeholder = '', autocomplete = 'off' } = more;
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input id="${id}" name="${name}" type="${type}" value="${value}" placeholder="${placeholder}"
      autocomplete="${autocomplete}" spellcheck="false" ${required ? html`required` : ''}
      ${hint ? html`aria-describedby="${id}-hint"` : ''}>
    ${hint ? html`<p class="hint" id="${id}-hint">${hint}</p>` : ''}
  </div>`;
}

interface SelectOptions {
  readonly name: string;
  /** Absent: by its name. */
  readonly id?: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly options: readonly (readonly [value: string, label: string])[];
}

export const select = ({
  name,
  label,
  value = '',
  options,
  id = `field-${name}`,
}: SelectOptions): Html => html`<div class="field">
  <label for="${id}">${label}</label>
  <select id="${id}" name="${name}">${options.map(
    ([option, words]) => html`<option value="${option}" ${option === value ? html`selected` : ''}>${words}</option>`,
  )}</select>
</div>`;

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
