import { prototypeNames } from '../../json/json-limits.ts';
import { isTableName } from '../../json/property-names.ts';

/** The form in which names are compared: `page[size]`, `pageSize` and `page_size` are equal. */
export const plainName = (name: string): string => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();

/** Words that JSONata does not take for a field. */
const words = new Set(['and', 'or', 'in', 'true', 'false', 'null', 'function']);

/** A field as a step of an expression, quoted if needed; `null` for an unsafe name. */
export function step(name: string): string | null {
  if (prototypeNames.has(name) || name.length > 200 || /["'\\`{}\p{C}]/u.test(name)) return null;
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !words.has(name) ? name : `\`${name}\``;
}

export function pathOf(steps: readonly string[]): string | null {
  const written = steps.map(step);
  return written.some((one) => one === null) ? null : written.join('.');
}

/** A name for a param, a variable or a column from any text: letters, digits and `_`, the first a letter. */
export function identifier(text: string, fallback: string): string {
  const spelled = text
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, lengthMax);
  const name = spelled === '' ? fallback : /^[A-Za-z]/.test(spelled) ? spelled : `${fallback}_${spelled}`;
  return words.has(name) || prototypeNames.has(name) ? `${name}_` : name;
}

/** Below the 63 of the format, to leave room for a number. */
const lengthMax = 50;

/** Taken names in lower case, each with the last number appended to it. */
export type TakenNames = Map<string, number>;

/** The name, or the name with the first free number; taken from then on. Ignores case. */
export function unique(name: string, taken: TakenNames): string {
  const lower = name.toLowerCase();
  for (let number = (taken.get(lower) ?? 0) + 1; ; number += 1) {
    const found = number === 1 ? name : `${name}_${number}`;
    if (taken.has(found.toLowerCase())) continue;
    taken.set(found.toLowerCase(), 1).set(lower, number);
    return found;
  }
}

export const literalsOf = (path: string): readonly string[] =>
  path
    .split('/')
    .filter((segment) => segment !== '' && !segment.includes('{'))
    .map((segment) => segment.replace(/\.json$/i, ''));

export function resourceKey(path: string): string {
  const literals = literalsOf(path);
  const telling = literals.filter((segment) => !/^(api|apis|rest|v\d[\w.-]*)$/i.test(segment));
  const key = identifier((telling.length > 0 ? telling : literals).join('_'), 'resource');
  return isTableName(key) ? key : `${key}_records`;
}

/** `project` for `projects`; English only. */
export function singular(word: string): string {
  if (/ies$/i.test(word)) return `${word.slice(0, -3)}y`;
  if (/(ss|us|is)$/i.test(word)) return word;
  if (/(s|x|z|ch|sh)es$/i.test(word)) return word.slice(0, -2);
  return /s$/i.test(word) ? word.slice(0, -1) : word;
}
