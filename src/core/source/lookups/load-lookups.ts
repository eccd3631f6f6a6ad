/** Loads the tables of a run before its first page, at most once per run: its chunks share them through the store. */

import * as v from 'valibot';
import type { JsonObject } from '../../json/json-object.ts';
import { dependenciesOf } from '../../spec/check/step-dependencies.ts';
import type { Lookup } from '../../spec/schema/lookup-schema.ts';
import { ResponseSettings } from '../../spec/schema/resource-schema.ts';
import { authRoot } from '../auth/request-signer.ts';
import { followedBy } from '../read/list-items.ts';
import { firstPage } from '../read/paginate.ts';
import { openResponseCache } from '../request/open-response-cache.ts';
import { buildRequest } from '../request/request.ts';
import type { ReadableResource, Source } from '../source.ts';
import { inDependencyOrder } from './dependency-order.ts';
import { definitionKey } from './lookup-key.ts';
import type { CacheScope, LookupStore } from './lookup-store.ts';
import { type RequestLookup, readTable, TableInterrupted, type TableRead } from './lookup-table.ts';
import { createTableRoom, noteText, type TableRoom, tableDigest } from './table-room.ts';

export interface LoadedLookup extends Pick<TableRead, 'duplicates' | 'withoutKey'> {
  readonly assignTo: string;
  readonly entries: number;
}

interface LoadOptions {
  readonly store: LookupStore;
  readonly signal: AbortSignal;
  readonly onLoaded: (loaded: LoadedLookup) => void;
}

const sharedTtlSeconds = 3600;

/**
 * Fetched tables see the ones they depend on, and use the client and credentials of `source` and the error rules of
 * `http`. Throws `source_rejected` above a table's limits or the common limit, `spec_invalid`, and what the client
 * throws. The next attempt continues with the part that was read.
 */
export async function loadLookups(
  source: Omit<Source, 'watermark'>,
  lookups: readonly Lookup[],
  options: LoadOptions,
): Promise<JsonObject> {
  const tables = new Map<string, unknown>();
  const room = createTableRoom(source.decodeTurns);
  for (const lookup of lookups) if (lookup.kind === 'static') tables.set(lookup.assignTo, lookup.table);
  const fetched = lookups
    .filter((lookup) => lookup.kind === 'request')
    .map((lookup) => ({ lookup, assignTo: lookup.assignTo, dependsOn: dependenciesOf(lookup, 'lookup') }));
  await inDependencyOrder(fetched, async ({ lookup, assignTo, dependsOn }) => {
    const seen = Object.fromEntries([...tables].filter(([name]) => dependsOn.includes(name)));
    tables.set(assignTo, await loadTable({ ...source, lookups: seen }, lookup, { ...options, room }));
  });
  return Object.fromEntries(lookups.map(({ assignTo }) => [assignTo, tables.get(assignTo)]));
}

async function loadTable(
  described: Omit<Source, 'watermark'>,
  lookup: RequestLookup,
  { store, signal, onLoaded, room }: LoadOptions & { readonly room: TableRoom },
): Promise<unknown> {
  const source = sourceOfTable(described, lookup, store);
  const { scope, ttlSeconds = sharedTtlSeconds } = lookup.cache;
  const seen = Object.entries(source.lookups).map(([name, table]) => [name, tableDigest(table)]);
  const key = definitionKey(source, [lookup, seen]);
  const kept = (where: CacheScope): Promise<string | null> =>
    room.alone(async () => {
      room.check(lookup);
      const text = (await store.read(where, [key])).get(key) ?? null;
      room.add(text?.length ?? 0);
      room.check(lookup);
      return text;
    });
  const parsed = async (text: string): Promise<unknown> => {
    const table = await room.parse(text);
    noteText(table, text);
    return table;
  };
  // Each run stores its own copy: its chunks see one table, even if another run changes the shared one.
  const keep = (text: string) => store.write('run', [{ key, text, ttlSeconds: null }]);
  const own = await kept('run');
  if (own !== null) return await parsed(own);
  const shared = scope === 'connection' ? await kept('connection') : null;
  if (shared !== null) {
    await logSaved(source, signal);
    await keep(shared);
    return await parsed(shared);
  }
  const { entries, duplicates, withoutKey } = await readKept(source, lookup, { key, store, signal, room });
  const text = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  await keep(text);
  // An empty table may be a temporary fault, so the next run requests it again.
  if (scope === 'connection' && entries.length > 0) await store.write('connection', [{ key, text, ttlSeconds }]);
  onLoaded({ assignTo: lookup.assignTo, entries: entries.length, duplicates, withoutKey });
  return await parsed(text);
}

/** Stores its progress if interrupted and continues from there, so that a slow API can finish. */
async function readKept(
  source: Source,
  lookup: RequestLookup,
  {
    key,
    store,
    signal,
    room,
  }: Pick<LoadOptions, 'store' | 'signal'> & { readonly key: string; readonly room: TableRoom },
): Promise<TableRead> {
  const partKey = `${key}/part`;
  const part = (await store.read('run', [partKey])).get(partKey);
  const begun = typeof part === 'string' ? ((await room.parse(part)) as TableRead) : null;
  try {
    return await readTable(source, lookup, { begun, signal, room });
  } catch (error) {
    if (!(error instanceof TableInterrupted)) throw error;
    const { read } = error;
    if (read.position !== null) {
      await store.write('run', [{ key: partKey, text: JSON.stringify(read), ttlSeconds: null }]);
    }
    throw error.cause;
  }
}

function sourceOfTable(source: Omit<Source, 'watermark'>, lookup: RequestLookup, store: LookupStore): Source {
  const { assignTo: key, request, records, successWhen } = lookup;
  const { pagination, ...named } = followedBy({ ...lookup, key: lookup.keyBy });
  const response = v.parse(ResponseSettings, { records, ...(successWhen !== undefined && { successWhen }) });
  const resource: ReadableResource = { key, request, response, pagination, errors: [] };
  // An item that the table lacks is null in all records that name it.
  const whole = { ...named, provesEnd: true, validators: null };
  const described = { ...source, resource, each: {}, watermark: null, backfill: null, ...whole };
  return { ...described, responses: openResponseCache(source, request, store) };
}

/** Logs the first request of a table that another run had loaded. */
async function logSaved(source: Source, signal: AbortSignal): Promise<void> {
  const position = firstPage(source.resource.pagination);
  const auth = await authRoot(source, signal);
  const { http } = await buildRequest(source, { position, auth, window: { from: null, to: null }, watermark: null });
  await source.client.logSaved(http);
}
