import { AppError } from '../../errors.ts';
import { storableJson } from '../../json/storable-json.ts';
import type { Gap } from '../../model/coverage.ts';
import type { ReadPosition } from '../../model/read-position.ts';
import type { Lookup } from '../../spec/schema/lookup-schema.ts';
import { mapWithPauses } from '../../work/map-with-pauses.ts';
import { readPages } from '../read/read-pages.ts';
import { createEvaluateEach, type EvaluateEach } from '../request/evaluate-each.ts';
import type { Source } from '../source.ts';
import { lookupKeyText } from './lookup-key-text.ts';
import type { TableRoom } from './table-room.ts';

export type RequestLookup = Extract<Lookup, { kind: 'request' }>;

export interface TableRead {
  /** Where reading continues, or `null` if the table is complete. */
  readonly position: ReadPosition | null;
  readonly entries: readonly (readonly [key: string, text: string])[];
  /** Items whose key an earlier item had. */
  readonly duplicates: number;
  /** Items without a key, which are in no table. */
  readonly withoutKey: number;
}

export class TableInterrupted extends Error {
  override readonly name = 'TableInterrupted';
  readonly read: TableRead;

  constructor(read: TableRead, cause: unknown) {
    super('The table was not read to its end', { cause });
    this.read = read;
  }
}

/** Throws {@link TableInterrupted}, whose cause is an `AppError` or what the client throws. */
export async function readTable(
  source: Source,
  lookup: RequestLookup,
  options: { readonly begun: TableRead | null; readonly signal: AbortSignal; readonly room: TableRoom },
): Promise<TableRead> {
  const { begun, signal, room } = options;
  const table = createTable(lookup, { begun, room });
  const evaluateEach = createEvaluateEach(source);
  let position = begun?.position ?? null;
  try {
    for await (const page of readPages(source, { position, signal, lookAhead: 1 })) {
      if (page.skipped !== null) throw rejected(lookup, `could not be read: ${page.skipped}.`);
      if (page.gaps.some(isPartial))
        throw rejected(lookup, `was not read whole (${page.gaps.join(', ')}). Try again later.`);
      await addItems(table, page.records, { lookup, evaluateEach });
      position = page.positionAfter;
    }
  } catch (cause) {
    throw new TableInterrupted(table.read(position), cause);
  }
  return wholeTable(lookup, table.read(null));
}

/** Gaps by which entries may be missing: `list_missing` occurs only where a rule of the spec takes the list for empty. */
const isPartial = (gap: Gap): boolean => gap !== 'page_short' && gap !== 'list_missing';

/** Throws {@link TableInterrupted} if no item has a key: the response was something else, such as an error. */
function wholeTable(lookup: RequestLookup, read: TableRead): TableRead {
  if (read.entries.length > 0 || read.withoutKey === 0) return read;
  const advice = 'Correct keyBy or records in the spec, or see the calls of the run for what the API sent.';
  throw new TableInterrupted({ ...read, position: null }, rejected(lookup, `has no item with a key. ${advice}`));
}

interface Table {
  add(key: unknown, value: unknown): void;
  /** Throws `source_rejected` above a limit. */
  check(): void;
  read(position: ReadPosition | null): TableRead;
}

/** Quotes, colon and comma of an entry. */
const entryMarks = 4;

function createTable(
  lookup: RequestLookup,
  { begun, room }: { readonly begun: TableRead | null; readonly room: TableRoom },
): Table {
  const entries = new Map(begun?.entries);
  for (const [key, text] of entries) room.add(key.length + text.length + entryMarks);
  let { duplicates, withoutKey } = begun ?? { duplicates: 0, withoutKey: 0 };
  return {
    add(rawKey, value) {
      const key = lookupKeyText(rawKey);
      if (key === null) withoutKey += 1;
      else {
        const text = storableJson(value ?? null);
        const before = entries.get(key);
        if (before !== undefined) duplicates += 1;
        room.add(text.length - (before?.length ?? -key.length - entryMarks));
        entries.set(key, text);
      }
    },
    check() {
      const { maxEntries } = lookup;
      if (entries.size > maxEntries) {
        const advice = 'Narrow its request, or raise maxEntries.';
        throw rejected(lookup, `has more than ${maxEntries} entries. ${advice}`);
      }
      room.check(lookup);
    },
    read: (position) => ({ position, entries: [...entries], duplicates, withoutKey }),
  };
}

async function addItems(
  table: Table,
  items: readonly unknown[],
  { lookup, evaluateEach }: { readonly lookup: RequestLookup; readonly evaluateEach: EvaluateEach },
): Promise<void> {
  const [keys, values] = await Promise.all([evaluateEach(lookup.keyBy, items), evaluateEach(lookup.value, items)]);
  await mapWithPauses([...keys.entries()], ([index, key]) => {
    const value = values[index];
    if (!key.ok) throw failing(lookup, 'keyBy', key.message);
    if (!value?.ok) throw failing(lookup, 'value', value?.message ?? 'no result');
    table.add(key.value, value.value);
  });
  table.check();
}

const rejected = ({ assignTo }: RequestLookup, message: string): AppError =>
  new AppError('source_rejected', `The lookup "${assignTo}" ${message}`);

const failing = ({ assignTo }: RequestLookup, part: string, message: string): AppError =>
  new AppError('spec_invalid', `${part} of the lookup "${assignTo}" fails on an item: ${message}`);
