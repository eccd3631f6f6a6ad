import { AppError } from '../../errors.ts';
import type { Evaluator } from '../../expressions/evaluation.ts';
import { arrayOnPath, compilePlainPath } from '../../expressions/plain-path.ts';
import { valueAt } from '../../json/dotted-path.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { elementsOf, type StarredPath, starredPath, visitSteps } from '../../json/starred-path.ts';
import { externalIdOf } from '../../model/external-id.ts';
import type { ResponseSettings } from '../../spec/schema/resource-schema.ts';
import { mapWithPauses } from '../../work/map-with-pauses.ts';
import type { Evaluate } from '../request/evaluate.ts';
import type { RequestRoots } from '../request/request.ts';
import { pageRecordsMax, tooManyRecords } from './page-size.ts';

export interface SelectedItems {
  readonly items: readonly unknown[];
  /** The body lacked an expected list, so the read proves no deletion. */
  readonly missing: boolean;
}

/**
 * An object is one item, as is an XML element that holds only text; an empty XML element counts as missing. With `*` in
 * the path, each value found is an item. `primaryKey` is that of the raw items, if they have one. Throws
 * `source_rejected` for missing or too many items, and for an object that is neither a record nor a list.
 */
export function selectItems(
  body: unknown,
  response: ResponseSettings,
  primaryKey: readonly string[] | null = null,
): SelectedItems {
  const starred = starredPath(response.records);
  return starred === null ? itemsAt(body, response, primaryKey) : itemsOfStars(body, starred, response);
}

/** Elements that an API pages by: the items, or for a path with `*` the elements of its first `*`. */
export function pagedElements(
  body: unknown,
  { records }: Pick<ResponseSettings, 'records'>,
  items: readonly unknown[],
): readonly unknown[] {
  const starred = starredPath(records);
  return starred === null ? items : elementsOf(starred.prefix === '' ? body : valueAt(body, starred.prefix));
}

function itemsAt(body: unknown, response: ResponseSettings, primaryKey: readonly string[] | null): SelectedItems {
  const value = response.records === '$' ? body : valueAt(body, response.records);
  const found = response.decoder === 'xml' && typeof value === 'string' ? itemsOfText(value) : value;
  if (Array.isArray(found)) {
    if (found.length > pageRecordsMax) throw tooManyRecords();
    return { items: found, missing: false };
  }
  if (isJsonObject(found)) return { items: itemsOfObject(found, response, primaryKey), missing: false };
  const absent = found === undefined || found === null;
  if (absent && response.recordsMissing === 'empty') return { items: [], missing: true };
  const what = absent ? 'missing or null' : 'neither a list nor an object';
  const advice =
    'If the API reports a fault like this, say so with successWhen; otherwise correct response.records, or set recordsMissing to "empty" if the API leaves out empty lists.';
  throw new AppError(
    'source_rejected',
    `The response has no records: "${response.records}" is ${what}${insteadOf(body)}. ${advice}`,
  );
}

const elementName = /^(?:0|[1-9]\d*)$/;

/**
 * The object as a record, or its elements: PHP makes `{"0": …, "2": …}` of a list from which an element was removed.
 * Throws `source_rejected` for anything else, such as a body that reports a fault with the status of a success.
 */
function itemsOfObject(
  found: Readonly<Record<string, unknown>>,
  response: ResponseSettings,
  primaryKey: readonly string[] | null,
): readonly unknown[] {
  if (primaryKey !== null && externalIdOf(found, primaryKey).ok) return [found];
  const names = Object.keys(found);
  const numbered = names.filter((name) => elementName.test(name) && isJsonObject(found[name]));
  // Whole-number names are in numeric order.
  if (numbered.length > 0 && numbered.length === names.length) return names.map((name) => found[name]);
  const isWholeBody = response.records === '$' && response.decoder === 'json';
  if (numbered.length === 0 && (primaryKey === null || !isWholeBody)) return [found];
  const what =
    numbered.length > 0 ? 'neither a record nor a list' : `an object without the primary key ${primaryKey?.join(', ')}`;
  throw new AppError(
    'source_rejected',
    `The response has no records: "${response.records}" is ${what}${insteadOf(found)}. If the API reports a fault like this, say so with successWhen; otherwise correct response.records or primaryKey.`,
  );
}

/** A place that lacks its list counts as a response without one: it fails the read, or the read proves no deletion. */
function itemsOfStars(body: unknown, { prefix, steps }: StarredPath, response: ResponseSettings): SelectedItems {
  const at = prefix === '' ? '$' : prefix;
  const whole = at === '$' ? body : valueAt(body, at);
  // Throws unless the elements of the first `*` are there, or may be missing.
  const isThere = Array.isArray(whole) || isJsonObject(whole);
  const { missing: isAbsent } = isThere ? present : itemsAt(body, { ...response, records: at }, null);
  if (isAbsent) return { items: [], missing: true };
  const items: unknown[] = [];
  let missing = false;
  visitSteps(whole, steps, {
    found: (item) => {
      if (items.length === pageRecordsMax) throw tooManyRecords();
      items.push(item);
    },
    absent: () => {
      missing = true;
      if (response.recordsMissing === 'empty') return;
      throw new AppError(
        'source_rejected',
        `The response lacks records: "${response.records}" is missing or null at one of its places. Correct response.records, or set recordsMissing to "empty" if the API leaves out values or empty lists there.`,
      );
    },
  });
  return { items, missing };
}

const present = { missing: false };
const [namesMax, nameMax] = [5, 40];

/** Describes a body without records, as an API may report an error with the status of a success. */
function insteadOf(body: unknown): string {
  if (!isJsonObject(body)) return '';
  const names = Object.keys(body);
  const shown = names.slice(0, namesMax).map((name) => `"${name.slice(0, nameMax)}"`);
  const rest = names.length - shown.length;
  return shown.length === 0 ? '; it is empty' : `; it has ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** XML has no lists: a single `<id>1</id>` leaves only its text, where two would be a list. */
const itemsOfText = (text: string): readonly string[] | null => (text === '' ? null : [text]);

export type RecordRoots = {
  readonly params: Readonly<Record<string, unknown>>;
  readonly each: Readonly<Record<string, unknown>>;
  readonly lookups: Readonly<Record<string, unknown>>;
  readonly run: Readonly<Record<string, unknown>>;
};

/** Throws `spec_invalid` if `map` fails, as a key to quarantine the record under is missing then. */
export async function shapeRecords(
  items: readonly unknown[],
  response: ResponseSettings,
  options: {
    readonly roots: RecordRoots;
    readonly request: RequestRoots;
    readonly evaluator: Evaluator;
    readonly evaluate: Evaluate;
    readonly now: Date;
  },
): Promise<readonly unknown[]> {
  const mapped = response.map === undefined ? items : await mapItems(items, response.map, options);
  const names = Object.entries(response.addFields);
  if (names.length === 0 || mapped.length === 0) return mapped;
  const roots = { ...options.roots, ...options.request };
  const added: [string, unknown][] = [];
  for (const [name, expression] of names) added.push([name, await options.evaluate(expression, roots)]);
  const fields = Object.fromEntries(added.filter(([, value]) => value !== undefined));
  if (JSON.stringify(fields).length * mapped.length > addedCharsMax) throw tooMuchAdded();
  return await mapWithPauses(mapped, (record) => (isJsonObject(record) ? { ...record, ...fields } : record));
}

/** In characters as JSON, as each record is delivered with its own. */
const addedCharsMax = 64_000_000;

const tooMuchAdded = (): AppError =>
  new AppError(
    'spec_invalid',
    `response.addFields adds more than ${addedCharsMax / 1_000_000} MB to the records of one page. Add shorter values, or request smaller pages.`,
  );

async function mapItems(
  items: readonly unknown[],
  expression: string,
  options: { readonly roots: RecordRoots; readonly evaluator: Evaluator; readonly now: Date },
): Promise<readonly unknown[]> {
  const plainPath = compilePlainPath(expression);
  const plain = plainPath === null ? [arrayOnPath] : await mapWithPauses(items, plainPath);
  if (!plain.includes(arrayOnPath)) return plain;
  const { evaluator, roots, now } = options;
  const bindings = { ...roots };
  const results = await evaluator.transform({ expression, records: items, bindings, now, nulls: 'keep' });
  return results.map((result, index) => {
    if (result.ok) return result.value;
    const { message } = result.failure;
    throw new AppError('spec_invalid', `response.map fails on item ${index + 1} of a page: ${message}`);
  });
}
