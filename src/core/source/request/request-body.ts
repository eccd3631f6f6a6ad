import { withValueAt } from '../../json/dotted-path.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { textOf } from '../../json/json-text.ts';
import type { RequestTemplate } from '../../spec/schema/http-schema.ts';
import type { Inject } from '../../spec/schema/pagination-schema.ts';
import { queryPairs } from './query-string.ts';

export interface RequestBody {
  readonly text: string;
  readonly contentType: string;
}

/** `null` without a body; a page position is set at its dotted path (or, in a form, under its name). */
export async function renderBody(
  template: RequestTemplate,
  inject: { readonly into: Inject; readonly value: string | number } | null,
  render: (value: unknown) => Promise<unknown>,
): Promise<RequestBody | null> {
  const { body } = template;
  const position = inject?.into.in === 'body' ? inject : null;
  const json = (value: unknown): RequestBody => {
    const content = position === null ? value : withValueAt(value, position.into.name, position.value);
    return { text: JSON.stringify(content), contentType: 'application/json' };
  };
  if (body?.json !== undefined) return json(await render(body.json));
  if (body?.graphql) return json(await render(body.graphql));
  if (body?.text !== undefined) {
    return { text: textOf(await render(body.text)), contentType: 'text/plain; charset=utf-8' };
  }
  if (body?.form) {
    const fields = await render(body.form);
    const form = new URLSearchParams(queryPairs(isJsonObject(fields) ? fields : {}, template.arrayFormat));
    if (position) form.set(position.into.name, String(position.value));
    return { text: form.toString(), contentType: 'application/x-www-form-urlencoded' };
  }
  return position && template.method === 'POST' ? json({}) : null;
}
