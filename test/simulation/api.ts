/** The customer's API: records that change while they are read, pages that take long, responses that are bad. */
import { AppError } from '../../src/core/errors.ts';
import type { HttpClient, HttpRequest, SendOptions } from '../../src/core/model/http.ts';
import { ThrottledError } from '../../src/core/model/throttled.ts';
import type { Effect } from './effects.ts';
import type { Scheduler } from './scheduler.ts';
import { groups, resourceKeys } from './specs.ts';

/** A record; `at` grows with every change of any record. */
interface ApiRecord {
  readonly id: string;
  readonly version: number;
  readonly at: number;
  /** Text, except in a record that is invalid. */
  readonly name: string | number;
}

/** The partition of a record of `parts`. */
export const groupOf = (id: string): string => groups[Number(id.slice(1)) % groups.length] ?? '';

/** Records that a request asks for at most; 0: it does not say. */
const limitOf = (url: URL): number => Number(url.searchParams.get('limit') ?? 0);

/** One collection of records, by id. */
export type Collection = Map<string, ApiRecord>;

/** The API and its records. */
export interface SimApi {
  readonly collections: Readonly<Record<'changes' | 'whole' | 'parts', Collection>>;
  readonly client: HttpClient;
  /** Changes a record, adds one, or deletes one where deletes are found. */
  change(): void;
}

interface ApiOptions {
  readonly scheduler: Scheduler;
  readonly effect: Effect;
  readonly isCalm: () => boolean;
}

/** An API with some records. */
export function createApi({ scheduler, effect, isCalm }: ApiOptions): SimApi {
  const { random } = scheduler;
  const collections = {
    changes: new Map<string, ApiRecord>(),
    whole: new Map<string, ApiRecord>(),
    parts: new Map<string, ApiRecord>(),
  };
  /** Of `parts`, by group. */
  const deleted: { readonly id: string; readonly group: string }[] = [];
  let at = 0;
  let ids = 0;
  const put = (collection: Collection, id: string): void => {
    at = Math.max(at + 1, scheduler.now());
    const version = (collection.get(id)?.version ?? 0) + 1;
    const name = random.chance(0.06) ? at : `name ${at}`;
    collection.set(id, { id, version, at, name });
  };
  const add = (collection: Collection): void => {
    ids += 1;
    put(collection, `r${String(ids).padStart(3, '0')}`);
  };
  for (const collection of Object.values(collections)) {
    const records = random.between(0, 40);
    for (let index = 0; index < records; index += 1) add(collection);
  }
  const pageSize = random.between(2, 8);

  const pageOf = (url: URL): unknown => {
    const [, name = '', group = ''] = url.pathname.split('/');
    if (name === 'deleted') return { data: deleted.filter((one) => one.group === group) };
    const after = url.searchParams.get('after') ?? '';
    const since = Number(url.searchParams.get('since') ?? 0);
    const isWhole = name === 'whole';
    const isSorted = url.searchParams.get('order') === 'asc';
    const keyOf = (record: ApiRecord): string =>
      !isSorted ? record.id : `${String(record.at).padStart(16, '0')}/${record.id}`;
    const records = [...collections[name as keyof typeof collections].values()]
      .filter((record) => group === '' || groupOf(record.id) === group)
      .filter((record) => (isWhole || record.at >= since) && keyOf(record) > after)
      .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    const size = Math.min(pageSize, limitOf(url));
    const page = records.slice(0, size);
    const last = page.at(-1);
    return { data: page, next: last && records.length > size ? keyOf(last) : null };
  };

  const respond = (request: HttpRequest): { readonly status: number; readonly body: Uint8Array } => {
    const page = (body: string, status = 200) => ({ status, body: new TextEncoder().encode(body) });
    if (!isCalm()) {
      if (random.chance(0.01)) throw new AppError('source_unavailable', 'The API responded with 503.');
      if (random.chance(0.01)) throw new ThrottledError(random.between(10_001, 60_000));
      if (random.chance(0.002)) return page('<html>');
      if (random.chance(0.01)) return page('{}', 404);
      if (limitOf(request.url) > 2 && random.chance(0.01)) return page('{}', 413);
    }
    return page(JSON.stringify(pageOf(request.url)));
  };

  const send = async (request: HttpRequest, { signal, classify, onResponse }: SendOptions) => {
    const { status, body } = await effect(
      {
        name: 'request to the API',
        faults: 0.01,
        latencyMs: [2, 80],
        slow: [0.03, 30_000],
        failure: () => new AppError('source_unavailable', 'The API could not be reached.'),
        signal,
      },
      () => respond(request),
    );
    const response = { status, headers: {}, body, url: request.url };
    await onResponse?.(response);
    const verdict = (await classify?.(response, request)) ?? { action: 'accept' };
    if ('error' in verdict) throw verdict.error;
    return 'meaning' in verdict && verdict.meaning ? { ...response, meaning: verdict.meaning } : response;
  };

  return {
    collections,
    client: { send, logSaved: async () => {}, logBlocked: async () => {}, [Symbol.asyncDispose]: async () => {} },
    change() {
      const name = random.pick(resourceKeys);
      const collection = collections[name];
      const known = [...collection.keys()];
      if (known.length === 0 || random.chance(0.3)) return add(collection);
      const id = random.pick(known);
      if (name === 'changes' || !random.chance(0.3)) return put(collection, id);
      collection.delete(id);
      if (name === 'parts') deleted.push({ id, group: groupOf(id) });
    },
  };
}
