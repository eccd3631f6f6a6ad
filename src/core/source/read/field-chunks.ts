import { AppError } from '../../errors.ts';
import { valueAt } from '../../json/dotted-path.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { textOf } from '../../json/json-text.ts';
import type { ReadableResource } from '../source.ts';
import type { SelectedItems } from './select-records.ts';

type FieldChunks = NonNullable<ReadableResource['fieldChunks']>;

const chunksMax = 100;

/** `chunk.fields` of each request of a page, or `[undefined]` for one request without a chunk. */
export async function chunksOf(
  { fieldChunks }: Pick<ReadableResource, 'fieldChunks'>,
  render: (template: string) => Promise<unknown>,
): Promise<readonly unknown[]> {
  if (fieldChunks === undefined) return [undefined];
  const { fields, always, join } = fieldChunks;
  const given = typeof fields === 'string' ? await render(fields) : fields;
  if (!Array.isArray(given)) {
    throw new AppError('spec_invalid', 'fieldChunks.fields does not return a list. Correct it in the spec.');
  }
  const own = [...new Set(given.map(textOf))].filter((name) => !always.includes(name));
  const chunks = splitFields(own, fieldChunks);
  if (chunks.length > chunksMax) {
    const message = `fieldChunks makes ${chunks.length} requests for each page, more than ${chunksMax}.`;
    throw new AppError('spec_invalid', `${message} Use larger chunks or fewer fields.`);
  }
  return chunks.map((names) => (join === undefined ? names : names.join(join)));
}

/** The names of `always` come first in each chunk; throws `spec_invalid` for a name that fits in none. */
function splitFields(own: readonly string[], { always, size, maxLength }: FieldChunks): readonly (readonly string[])[] {
  const lengthOf = (names: readonly string[]) => names.reduce((sum, name) => sum + name.length + 1, -1);
  const lengthMax = maxLength ?? Number.POSITIVE_INFINITY;
  const chunks: string[][] = [[...always]];
  let count = 0;
  let length = lengthOf(always);
  for (const name of own) {
    const isFull = count === (size ?? Number.POSITIVE_INFINITY) || length + 1 + name.length > lengthMax;
    if (isFull && count > 0) {
      chunks.push([...always]);
      count = 0;
      length = lengthOf(always);
    }
    if (length + 1 + name.length > lengthMax) {
      const message = 'A name of fieldChunks.fields is longer than maxLength, together with those of `always`';
      throw new AppError('spec_invalid', `${message}: "${name.slice(0, 100)}".`);
    }
    chunks.at(-1)?.push(name);
    count += 1;
    length += 1 + name.length;
  }
  return chunks;
}

interface Merged {
  readonly item: unknown;
  /** Number of chunks that have the record, and the last of them. */
  readonly parts: number;
  readonly last: number;
}

/** Levels of a record that are merged; below them the first chunk's value stays. */
const depthMax = 20;

/**
 * Order and values are those of the first chunk that has them. If a record changes between two requests, its cursor
 * value is therefore the older one, and the next run reads it again.
 *
 * Throws `source_rejected` for an item without a key and for two of one chunk with the same key. Throws
 * `source_unavailable` if a record is not in every chunk, unless `onMissing` keeps it.
 */
export function mergeChunks(chunks: readonly SelectedItems[], { mergeBy, onMissing }: FieldChunks): SelectedItems {
  const merged = new Map<string, Merged>();
  for (const [no, { items }] of chunks.entries()) {
    for (const item of items) {
      const key = keyOf(item, mergeBy);
      const found = merged.get(key);
      if (found === undefined) merged.set(key, { item, parts: 1, last: no });
      else if (found.last === no) throw sameKey(mergeBy);
      else merged.set(key, { item: mergedValue(found.item, item, depthMax), parts: found.parts + 1, last: no });
    }
  }
  const records = [...merged.values()];
  if (onMissing === 'fail' && records.some(({ parts }) => parts !== chunks.length)) {
    const message = 'A record is not in all chunks of its page: it changed while it was read';
    const advice = 'or set fieldChunks.onMissing to "keep" if the API leaves out records without any of the fields.';
    throw new AppError('source_unavailable', `${message}. Start the run again, ${advice}`);
  }
  return { items: records.map(({ item }) => item), missing: chunks.some(({ missing }) => missing) };
}

const sameKey = (mergeBy: readonly string[]): AppError =>
  new AppError(
    'source_rejected',
    `Two items of one response have the same ${mergeBy.join(', ')}, so the parts of a record cannot be told apart. Name in fieldChunks.mergeBy all fields that identify an item.`,
  );

function keyOf(item: unknown, mergeBy: readonly string[]): string {
  const values = mergeBy.map((path) => valueAt(item, path));
  const missing = mergeBy.find((_path, index) => values[index] === undefined || values[index] === null);
  if (missing === undefined) return JSON.stringify(values);
  const advice = 'Correct fieldChunks.mergeBy, or add the field to fieldChunks.always.';
  throw new AppError(
    'source_rejected',
    `An item of a page has no value at "${missing}", so its parts cannot be merged. ${advice}`,
  );
}

function mergedValue(first: unknown, later: unknown, depth: number): unknown {
  if (depth === 0 || !isJsonObject(first) || !isJsonObject(later)) return first;
  const shared = Object.entries(later).map(([key, value]) => [
    key,
    Object.hasOwn(first, key) ? mergedValue(first[key], value, depth - 1) : value,
  ]);
  return { ...first, ...Object.fromEntries(shared) };
}
