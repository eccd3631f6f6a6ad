/**
 * The customer's receivers of a webhook. Each drops the ids that it knows, and remembers whatever else shows that the
 * service breaks a promise: other bytes under an id, a version under two ids, versions and requests out of order.
 */
import { AppError } from '../../src/core/errors.ts';
import type { HttpResponse } from '../../src/core/model/http.ts';
import type { DestinationRow } from './destination.ts';
import { type Counts, count, type Effect } from './effects.ts';
import type { Posted, PostedBody, PostedRecord } from './posted.ts';
import { createFates, type Fate } from './receiver-fates.ts';
import { createSentRequests } from './receiver-requests.ts';
import type { Scheduler } from './scheduler.ts';

/** What receivers have of a lane. */
interface ReceiverLane {
  /** What the current one has, by external id. */
  readonly rows: ReadonlyMap<string, DestinationRow>;
  /** Every version that any of them has acknowledged: `id/version`, and `id/hash`. */
  readonly applied: ReadonlySet<string>;
  /** Every version that any of them has refused for good: `id/version`. */
  readonly refused: ReadonlySet<string>;
}

/** Receivers, one for each address. */
export interface SimReceiver {
  /** Of the destination of this seed. */
  readonly options: Readonly<Record<'batchSize' | 'maxBatchBytes' | 'timeoutMs' | 'parallelism', number>>;
  /** What must never happen and did. */
  readonly violations: readonly string[];
  /** Of a resource. */
  laneOf(resourceKey: string): ReceiverLane;
  /** Where the requests of a resource go now. */
  urlOf(resourceKey: string): string;
  /** The customer gives a resource the address of another receiver, which has nothing. */
  move(resourceKey: string): void;
  post(posted: Posted, signal: AbortSignal): Promise<HttpResponse>;
}

interface Lane {
  readonly applied: Set<string>;
  readonly refused: Set<string>;
  moves: number;
}

interface Target {
  readonly rows: Map<string, DestinationRow>;
  /** Results of the requests that were taken, by id. */
  readonly taken: Map<string, readonly object[]>;
}

interface ReceiverOptions {
  readonly scheduler: Scheduler;
  readonly effect: Effect;
  readonly counts: Counts;
  readonly isCalm: () => boolean;
  /** Takes a line for each request. */
  readonly say: (line: string) => void;
}

/** Receivers that have nothing. */
export function createReceiver({ scheduler, effect, counts, isCalm, say }: ReceiverOptions): SimReceiver {
  const { random } = scheduler;
  const violations: string[] = [];
  const lanes = new Map<string, Lane>();
  const targets = new Map<string, Target>();
  const parallelism = random.pick([1, 2, 3, 4]);
  /** A request of several records that has more bytes is too large. */
  const bytesMax = random.pick([null, 600, 800, 1000, 1500]);
  const sent = createSentRequests({ parallelism, onViolation: (line) => violations.push(line) });
  const fateOf = createFates(random, isCalm);
  const laneOf = (name: string): Lane => {
    const lane = lanes.get(name) ?? { applied: new Set(), refused: new Set(), moves: 0 };
    lanes.set(name, lane);
    return lane;
  };
  const targetOf = (url: string): Target => {
    const target = targets.get(url) ?? { rows: new Map(), taken: new Map() };
    targets.set(url, target);
    return target;
  };
  const urlOf = (name: string): string => `https://receiver.test/${laneOf(name).moves}/${name}`;

  const take = ({ rows }: Target, lane: Lane, { externalId, hash, data }: PostedRecord): void => {
    if (!data) return void rows.delete(externalId);
    rows.set(externalId, { version: data.version, hash: hash ?? null });
    lane.applied.add(`${externalId}/${data.version}`).add(`${externalId}/${hash}`);
  };

  const respond = ({ url, id, body }: Posted): HttpResponse => {
    const respondWith = (status: number, content: object = {}, headers: HttpResponse['headers'] = {}) => {
      if (status >= 400) count(counts, `responses with ${status}`);
      return { status, headers, body: new TextEncoder().encode(JSON.stringify(content)), url: new URL(url) };
    };
    const request = JSON.parse(body) as PostedBody;
    const { records } = request;
    const lane = laneOf(request.resourceKey);
    const target = targetOf(url);
    sent.arrive({ url, id, body }, request);
    const trouble = isCalm() ? undefined : troubles.find(({ probability }) => random.chance(probability));
    if (trouble) return respondWith(trouble.status, {}, trouble.waits ? { 'retry-after': waitOf() } : {});
    const before = target.taken.get(id);
    if (before) {
      count(counts, 'requests dropped as known');
      return before.length === 0 && random.chance(0.5)
        ? respondWith(409, { duplicate: true })
        : respondWith(200, { rejected: before });
    }
    if (bytesMax !== null && records.length > 1 && Buffer.byteLength(body) > bytesMax) return respondWith(413);
    const isLast = request.batch.part.endsWith('r');
    const fates = records.map((record) => ({ record, fate: fateOf(record, isLast) }));
    if (fates.some(({ fate }) => fate === 'poison')) {
      const [only, ...others] = records;
      if (only && others.length === 0) refuse(lane, only);
      return respondWith(random.pick([400, 422]));
    }
    const rejected = fates.filter(({ fate }) => fate !== 'accept');
    for (const { record, fate } of rejected) if (fate === 'reject' || isLast) refuse(lane, record);
    const accepted = fates.filter(({ fate }) => fate === 'accept').map(({ record }) => record);
    for (const record of accepted) take(target, lane, record);
    sent.acknowledge({ url, id, body }, accepted);
    count(counts, 'requests taken');
    const results = rejected.map(rejectionOf);
    target.taken.set(id, results);
    // Whether an error means that nothing was done, its receiver cannot know.
    return !isCalm() && random.chance(0.01)
      ? respondWith(500)
      : respondWith(200, { rejected: [...results, ...strays()] });
  };
  const refuse = ({ refused }: Lane, { externalId, data }: PostedRecord): void => {
    count(counts, 'records refused by the receiver');
    refused.add(`${externalId}/${data?.version}`);
  };
  const waitOf = (): string => String(random.between(0, 40));
  const strays = (): readonly object[] =>
    !isCalm() && random.chance(0.01) ? [{ externalId: 'nobody', retryable: true }] : [];

  return {
    options: { parallelism, batchSize: random.between(1, 20), maxBatchBytes: 1_000_000, timeoutMs: 10_000 },
    violations,
    laneOf: (name) => ({ ...laneOf(name), rows: targetOf(urlOf(name)).rows }),
    urlOf,
    move(name) {
      laneOf(name).moves += 1;
      count(counts, 'receivers replaced');
    },
    post: (posted, signal) =>
      effect({ ...route, signal }, () => {
        const response = respond(posted);
        say(`${lineOf(posted)}: ${response.status} ${new TextDecoder().decode(response.body)}`);
        return response;
      }),
  };
}

/** For a trace. */
function lineOf({ body, id }: Posted): string {
  const { resourceKey, runId, batch, records } = JSON.parse(body) as PostedBody;
  const sent = records.map(({ externalId, data }) => `${externalId}/${data?.version ?? 'deleted'}`);
  return `${id.slice(0, 8)} ${resourceKey} of ${runId}, place ${batch.sequence}.${batch.part}: ${sent.join(' ')}`;
}

const route = {
  name: 'request to the receiver',
  faults: 0.04,
  latencyMs: [1, 60],
  slow: [0.03, 25_000],
  failure: () => new AppError('source_unavailable', 'The receiver could not be reached.'),
} as const;

/** Responses of a receiver that has done nothing. */
const troubles = [
  { status: 500, probability: 0.02, waits: false },
  { status: 503, probability: 0.01, waits: true },
  { status: 429, probability: 0.01, waits: true },
  { status: 429, probability: 0.005, waits: false },
  { status: 403, probability: 0.001, waits: false },
  { status: 410, probability: 0.001, waits: false },
] as const;

const rejectionOf = ({ record, fate }: { readonly record: PostedRecord; readonly fate: Fate }) => ({
  externalId: record.externalId,
  code: 'refused',
  retryable: fate === 'retry',
});
