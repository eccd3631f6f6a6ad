import type { Issue } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json/json-object.ts';
import type { ConnectionParam } from '../../../core/spec/schema/param-schema.ts';
import type { FormFields } from '../../form-body.ts';
import { details } from '../../parts/code.ts';
import { field } from '../../parts/form.ts';
import { type Content, type Html, html } from '../../parts/html.ts';
import { errorAt, nameLabels } from './found-issues.ts';
import { removedSecrets, textIn, valueName, valueText } from './sent-values.ts';
import { valueField } from './value-fields.ts';

export interface FilledIn {
  /** As they were sent; without any the form is new. */
  readonly fields: FormFields;
  readonly issues: readonly Issue[];
}

interface Stored extends FilledIn {
  /** Shown in fields that were not sent. */
  readonly stored: JsonObject;
}

export const textOf = ({ fields, stored }: Pick<Stored, 'fields' | 'stored'>, name: string): string =>
  Object.hasOwn(fields, name) ? textIn(fields, name) : valueText(stored[name] ?? '');

/** Names of a connection; `first` is a field before them. */
export const nameFields = (filled: Stored, first: Content = null): Html => {
  const named = (name: string) => ({
    name,
    label: nameLabels[name] ?? name,
    value: textOf(filled, name),
    error: errorAt(filled.issues, name),
  });
  return html`<fieldset class="panel"><legend>Connection</legend>
    <div class="row">${field({ ...named('displayName'), required: true, hint: 'As your team calls it.' })}
    ${field({ ...named('externalCustomerId'), label: `${nameLabels['externalCustomerId']} (optional)`, hint: 'It is in events and filters.' })}${first}</div>
    ${details(
      'more-settings',
      'More',
      field({
        ...named('errorAfterMinutes'),
        type: 'number',
        hint: 'How long the API or the destination may refuse runs before the schedules of the connection stop. 0: the first refused run is enough.',
      }),
      errorAt(filled.issues, 'errorAfterMinutes') !== undefined,
    )}</fieldset>`;
};

/** Params and secrets of a spec, in its order. */
export function valueFields(
  connectionParams: readonly ConnectionParam[],
  { fields, issues, stored, isStored }: Stored & { readonly isStored: boolean },
): Content {
  if (connectionParams.length === 0) return null;
  const removed = textIn(fields, removedSecrets).split('\n');
  return html`<fieldset class="panel"><legend>Values of the spec</legend>
    ${connectionParams.map((param) => {
      const name = valueName(param);
      const text = Object.hasOwn(fields, name) ? textIn(fields, name) : valueText(stored[param.key], param.type);
      return valueField(param, {
        text: param.secret ? '' : text,
        error: errorAt(issues, name),
        isStored,
        isRemoved: removed.includes(param.key),
      });
    })}
    ${connectionParams.some(({ secret }) => secret) ? html`<p class="hint">Secrets are stored encrypted. Nobody sees them again, not even here.</p>` : ''}
  </fieldset>`;
}

/** After a form with secrets was sent and is shown again. The script checks it without that. */
export const lostSecrets = (connectionParams: readonly ConnectionParam[], fields: FormFields): Content =>
  connectionParams.some((param) => param.secret && textIn(fields, valueName(param)) !== '')
    ? html`<p class="notice wide">Secrets are not sent back to the browser: enter them again.</p>`
    : null;

/** The values that {@link nameFields} send. */
export function namesIn(fields: FormFields) {
  const minutes = textIn(fields, 'errorAfterMinutes').trim();
  const customer = textIn(fields, 'externalCustomerId').trim();
  return {
    displayName: textIn(fields, 'displayName').trim(),
    externalCustomerId: customer === '' ? null : customer,
    errorAfterMinutes: minutes === '' ? 0 : Number(minutes),
  };
}
