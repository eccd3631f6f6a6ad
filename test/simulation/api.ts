/** The customer's API: records that change while they are read, pages that take long, responses that are bad. */
import { AppError } from '../../src/core/errors.ts';
import type { HttpClient, HttpRequest, SendOptions } from '../../src/core/model/http.ts';
import { ThrottledError } from '../../src/core/model/throttled.ts';
import type { Counts, Effect } from './effects.ts';
import type { ApiRecord, ApiResponse, Collection } from './records.ts';
import { createReports } from './reports.ts';
import type { Scheduler } from './scheduler.ts';
import { groups, initialAt, resourceKeys } from './specs.ts';

/** The group of a record. */
export const groupOf = (id: string): string => groups[Number(id.slice(1)) % groups.length] ?? '';

/** The fields of a record that a request names. */
const partOf = (record: ApiRecord, fields: readonly string[]): object =>
  Object.fromEntries(Object.entries(record).filter(([field]) => fields.includes(field)));

/** Records that a request asks for at most; 0: it does not say. */
const limitOf = (url: URL): number => Number(url.searchParams.get('limit') ?? 0);

/** A page of a list that grows at its end only. */
const numberedPage = (records: readonly ApiRecord[], number: number, size: number): ApiResponse => ({
  status: 200,
  body: { data: records.slice((number - 1) * size, number * size), pages: Math.ceil(records.length / size) },
});

/** Whether records of a resource are deleted: where the service finds that. */
export const isDeletedFrom = (name: string): boolean => name === 'whole' || name === 'parts';

/** The API and its records. */
export interface SimApi {
  readonly collections: Readonly<Record<(typeof resourceKeys)[number], Collection>>;
  readonly client: HttpClient;
  /** Changes a record, adds one, or deletes one where deletes are found. */
  change(): void;
}

interface ApiOptions {
  readonly scheduler: Scheduler;
  readonly effect: Effect;
  readonly counts: Counts;
  readonly isCalm: () => boolean;
}

/** An API with some records. */
export function createApi({ scheduler, effect, counts, isCalm }: ApiOptions): SimApi {
  const { random } = scheduler;
  const collections = {
    changes: new Map<string, ApiRecord>(),
    whole: new Map<string, ApiRecord>(),
    parts: new Map<string, ApiRecord>(),
    grouped: new Map<string, ApiRecord>(),
    reports: new Map<string, ApiRecord>(),
  };
  /** Of `parts`, by group. */
  const deleted: { readonly id: string; readonly group: string }[] = [];
  let at = initialAt;
  let ids = 0;
  /** Of a change that is made now. */
  const tick = (): void => {
    at = Math.max(at + 1, scheduler.now());
  };
  const put = (collection: Collection, id: string): void => {
    const version = (collection.get(id)?.version ?? 0) + 1;
    const name = random.chance(0.06) ? at : `name ${at}`;
    collection.set(id, { id, version, at, name, twin: name });
  };
  const add = (collection: Collection): void => {
    ids += 1;
    put(collection, `r${String(ids).padStart(3, '0')}`);
  };
  const sizes = resourceKeys.map((name) => ({ name, size: random.between(0, 40) }));
  for (let no = 0; no < 40; no += 1) {
    for (const { name, size } of sizes) {
      // Some days have no records.
      const pause = random.between(1, random.chance(0.02) ? 40 * 3_600_000 : 300_000);
      at += at + pause < scheduler.now() ? pause : 1;
      if (no < size) add(collections[name]);
    }
  }
  const pageSize = random.between(2, 8);
  const reports = createReports({ scheduler, counts, isCalm, records: collections.reports, pageSize });

  const pageOf = (url: URL): ApiResponse => {
    const [, name = '', group = ''] = url.pathname.split('/');
    if (name === 'deleted') return { status: 200, body: { data: deleted.filter((one) => one.group === group) } };
    const wanted = group === '' ? url.searchParams.get('groups') : group;
    const fields = url.searchParams.get('fields')?.split(',');
    const after = url.searchParams.get('after') ?? '';
    const since = Number(url.searchParams.get('since') ?? 0);
    const isWhole = name === 'whole';
    const isSorted = url.searchParams.get('order') === 'asc';
    const keyOf = (record: ApiRecord): string =>
      !isSorted ? record.id : `${String(record.at).padStart(16, '0')}/${record.id}`;
    const records = [...collections[name as keyof typeof collections].values()]
      .filter(({ id }) => wanted === null || wanted.split(',').includes(groupOf(id)))
      .filter((record) => (isWhole || record.at >= since) && keyOf(record) > after)
      .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    const number = url.searchParams.get('page');
    if (number !== null) return numberedPage(records, Number(number), limitOf(url));
    const size = Math.min(pageSize, limitOf(url));
    const page = records.slice(0, size);
    const last = page.at(-1);
    const data = fields === undefined ? page : page.map((record) => partOf(record, fields));
    return { status: 200, body: { data, next: last && records.length > size ? keyOf(last) : null } };
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
    const { status, body } = reports.respond(request) ?? pageOf(request.url);
    return page(JSON.stringify(body), status);
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
      tick();
      const known = [...collection.keys()];
      if (known.length === 0 || random.chance(0.3)) return add(collection);
      const id = random.pick(known);
      if (!isDeletedFrom(name) || !random.chance(0.3)) return put(collection, id);
      collection.delete(id);
      if (name === 'parts') deleted.push({ id, group: groupOf(id) });
    },
  };
}
