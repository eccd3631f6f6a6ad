import { json } from './code.ts';
import { type Content, type Html, html } from './html.ts';

/** Characters of a record whose fields are marked; a longer one is shown as it is. */
const markedMax = 50_000;

/**
 * A record as indented JSON with the fields at these paths marked, such as `address.city`. Of a field that it does not have,
 * the nearest one above is marked.
 */
export function markedJson(
  value: unknown,
  { paths, label }: { readonly paths: readonly string[]; readonly label: string },
): Html {
  if ((JSON.stringify(value, null, 2) ?? '').length > markedMax) return json(value, label);
  const marked = new Set(paths.map((path) => nearestOf(value, path)));
  return html`<pre tabindex="0" role="region" aria-label="${label}"><code>${valueText(value, { marked, path: '', indent: '\n' })}</code></pre>`;
}

const isParent = (value: unknown): value is object => typeof value === 'object' && value !== null;
const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** The longest beginning of a path that the record has. */
function nearestOf(record: unknown, path: string): string {
  let [nearest, value] = ['', record];
  for (const name of path.split('.')) {
    if (!isParent(value) || !Object.hasOwn(value, name)) break;
    value = (value as Readonly<Record<string, unknown>>)[name];
    nearest = join(nearest, name);
  }
  return nearest;
}

interface Place {
  readonly marked: ReadonlySet<string>;
  readonly path: string;
  /** A new line, and the spaces at its beginning. */
  readonly indent: string;
}

function valueText(value: unknown, { marked, path, indent }: Place): Content {
  if (!isParent(value) || Object.keys(value).length === 0) return JSON.stringify(value) ?? 'null';
  const isList = Array.isArray(value);
  const fields = Object.entries(value).map(([name, field], index): Content => {
    const place = { marked, path: join(path, name), indent: `${indent}  ` };
    const head = isList ? '' : `${JSON.stringify(name)}: `;
    const text = valueText(field, place);
    const isMarked = marked.has(place.path);
    const content = !isMarked ? [head, text] : isParent(field) ? [mark(head), text] : mark([head, text]);
    return [index === 0 ? '' : ',', place.indent, content];
  });
  return [isList ? '[' : '{', fields, indent, isList ? ']' : '}'];
}

const mark = (content: Content): Html => html`<mark>${content}</mark>`;
