/** The customer's API: records that change while they are read, pages that take long, responses that are bad. */
import { AppError } from '../../src/core/errors.ts';
import type { HttpClient, HttpRequest, HttpResponse, SendOptions } from '../../src/core/model/http.ts';
import { ThrottledError } from '../../src/core/model/throttled.ts';
import { type Counts, count, type Effect } from './effects.ts';
import { createEtags } from './etags.ts';
import { createLists, type Deleted, limitOf } from './lists.ts';
import { type ApiRecord, type Collection, groupOf, isLive } from './records.ts';
import { createReports } from './reports.ts';
import type { Scheduler } from './scheduler.ts';
import { initialAt, resourceKeys } from './specs.ts';

/** Whether records of a resource are deleted: where the service finds that. */
export const isDeletedFrom = (name: string): boolean => ['changes', 'whole', 'parts'].includes(name);

/** The API and its records. */
export interface SimApi {
  readonly collections: Readonly<Record<Key, Collection>>;
  readonly client: HttpClient;
  /** Changes a record, adds one, or deletes one where deletes are found. */
  change(): void;
}

type Key = (typeof resourceKeys)[number];

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
  /** Of `parts`. */
  const deleted: Deleted[] = [];
  const respondWithEtag = createEtags({ scheduler, counts, isCalm });
  /** Of records that were deleted, so that one that comes back is another version. */
  const lastVersions = new Map<string, number>();
  let at = initialAt;
  let ids = 0;
  /** Of a change that is made now. */
  const tick = (): void => {
    at = Math.max(at + 1, scheduler.now());
  };
  const put = (name: Key, id: string): void => {
    const collection = collections[name];
    const version = (collection.get(id)?.version ?? lastVersions.get(`${name}/${id}`) ?? 0) + 1;
    const text = random.chance(0.06) ? at : `name ${at}`;
    collection.set(id, { id, version, at, name: text, twin: text });
  };
  const add = (name: Key): void => {
    ids += 1;
    put(name, `r${String(ids).padStart(3, '0')}`);
  };
  /** Creates a record again under the id of one that was deleted; false: none was. */
  const recreate = (name: Key): boolean => {
    const gone = [...lastVersions.keys()].filter((key) => key.startsWith(`${name}/`));
    const id = random.shuffled(gone)[0]?.slice(name.length + 1);
    if (id === undefined || isLive(collections[name].get(id))) return false;
    count(counts, 'records created again');
    const known = deleted.findIndex((one) => one.id === id);
    if (name === 'parts' && known >= 0) deleted.splice(known, 1);
    put(name, id);
    return true;
  };
  const sizes = resourceKeys.map((name) => ({ name, size: random.between(0, 40) }));
  for (let no = 0; no < 40; no += 1) {
    for (const { name, size } of sizes) {
      // Some days have no records.
      const pause = random.between(1, random.chance(0.02) ? 40 * 3_600_000 : 300_000);
      at += at + pause < scheduler.now() ? pause : 1;
      if (no < size) add(name);
    }
  }
  const pageSize = random.between(2, 8);
  const reports = createReports({ scheduler, counts, isCalm, records: collections.reports, pageSize });

  const lists = createLists({ counts, collections, deleted, pageSize });

  const respond = (request: HttpRequest): Pick<HttpResponse, 'status' | 'headers' | 'body'> => {
    const page = (body: string, status = 200, headers = {}) => ({
      status,
      headers,
      body: new TextEncoder().encode(body),
    });
    if (!isCalm()) {
      if (random.chance(0.01)) throw new AppError('source_unavailable', 'The API responded with 503.');
      if (random.chance(0.01)) throw new ThrottledError(random.between(10_001, 60_000));
      if (random.chance(0.002)) return page('<html>');
      if (random.chance(0.01)) return page('{}', 404);
      if (limitOf(request.url) > 2 && random.chance(0.01)) return page('{}', 413);
    }
    const { status, body, headers } = reports.respond(request) ?? respondWithEtag(request, lists.pageOf);
    return page(JSON.stringify(body), status, headers);
  };

  const send = async (request: HttpRequest, { signal, classify, onResponse }: SendOptions) => {
    const { status, headers, body } = await effect(
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
    const response = { status, headers, body, url: request.url };
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
      const known = [...collection.values()].filter(isLive).map(({ id: each }) => each);
      if (isDeletedFrom(name) && random.chance(0.15) && recreate(name)) return;
      if (known.length === 0 || random.chance(0.3)) return add(name);
      const id = random.pick(known);
      if (!isDeletedFrom(name) || !random.chance(0.3)) return put(name, id);
      const { version = 0 } = collection.get(id) ?? {};
      lastVersions.set(`${name}/${id}`, version);
      // It is listed on.
      if (name === 'changes') {
        count(counts, 'records that say that they are deleted');
        collection.set(id, { id, version: version + 1, at, name: '', twin: '', gone: true });
      } else collection.delete(id);
      if (name === 'parts') deleted.push({ id, group: groupOf(id) });
    },
  };
}
