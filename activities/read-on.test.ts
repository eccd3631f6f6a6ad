import { CancelledFailure } from '@temporalio/common';
import * as v from 'valibot';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { AppError } from '../src/core/errors.ts';
import { createTestEvaluator, type TestEvaluator } from '../src/core/expressions/evaluator-fixture.ts';
import { createMemoryLedger } from '../src/core/memory-run/memory-ledger.ts';
import { createMemoryStore } from '../src/core/memory-run/memory-store.ts';
import type { HttpClient } from '../src/core/model/http.ts';
import { ThrottledError } from '../src/core/model/throttled.ts';
import { createInvalidLimit } from '../src/core/pipeline/invalid-limit.ts';
import { createKnownRecords } from '../src/core/pipeline/known-records.ts';
import { createDelivery } from '../src/core/run/delivery.ts';
import { createEngine } from '../src/core/run/engine.ts';
import { DestinationMovedError } from '../src/core/run/lazy-destination.ts';
import type { RunLedger } from '../src/core/run/run-ledger.ts';
import { memoryStore } from '../src/core/source/lookups/lookup-store-fixture.ts';
import { sourceOf } from '../src/core/source/source-fixture.ts';
import { ConnectorSpec } from '../src/core/spec/schema/spec-schema.ts';
import { createLog } from '../src/log.ts';
import { createLendableSlots } from '../src/temporal/worker-slots.ts';
import { watchMovement } from './movement.ts';
import { type ReadDeps, readOn } from './read-on.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());
afterEach(() => void vi.useRealTimers());

describe('a chunk of a run of five pages with two records each', () => {
  it('is done once every page is delivered and recorded', async () => {
    const { result, recorded } = await chunk();
    expect(result).toEqual({ done: true, limited: false, waitMs: 0, pages: 5, records: 10 });
    expect(recorded).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
  });

  it('requests nothing once its time is over, and is not done', async () => {
    const { result, requested } = await chunk({ msMax: -1 });
    expect(result).toEqual({ done: false, limited: false, waitMs: 0, pages: 0, records: 0 });
    expect(requested).toEqual([]);
  });

  it('ends the run as limited with the page that reaches limits.maxRecords, which is delivered whole', async () => {
    const { result, recorded } = await chunk({ limits: { maxRecords: 3 } });
    expect(result).toEqual({ done: true, limited: true, waitMs: 0, pages: 2, records: 4 });
    expect(recorded).toEqual(['1', '2', '3', '4']);
  });

  it('counts the records of earlier chunks towards limits.maxRecords', async () => {
    const { result } = await chunk({ limits: { maxRecords: 3 }, before: { pageNo: 1, records: 2 } });
    expect(result).toEqual({ done: true, limited: true, waitMs: 0, pages: 2, records: 4 });
  });

  it('ends the run as limited once limits.maxDurationSeconds are over, with what was read until then', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { result, recorded } = await chunk({ onRequest: (page) => page === 3 && vi.setSystemTime(endsAtMs()) });
    expect(result).toMatchObject({ done: true, limited: true, waitMs: 0 });
    expect(recorded).toHaveLength(result.records);
    expect(result.pages).toBeLessThan(5);
  });

  it('fails when limits.maxDurationSeconds end before the first page, and says where to look', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(endsAtMs());
    await expect(chunk()).rejects.toMatchObject({
      code: 'source_rejected',
      message: expect.stringContaining('limits.maxDurationSeconds (60 s)'),
    });
  });
});

describe('an API that asks to wait', () => {
  const throttled = (error: ThrottledError) => (page: number) => {
    if (page === 3) throw error;
  };

  it('ends the chunk with its wait, after what was read before is recorded', async () => {
    const { result, recorded } = await chunk({ onRequest: throttled(new ThrottledError(30_000)) });
    expect(result).toEqual({ done: false, limited: false, waitMs: 30_000, pages: 2, records: 4 });
    expect(recorded).toEqual(['1', '2', '3', '4']);
  });

  it('ends the run as limited when the wait would outlast limits.maxDurationSeconds', async () => {
    const { result } = await chunk({ onRequest: throttled(new ThrottledError(61_000)) });
    expect(result).toMatchObject({ done: true, limited: true, pages: 2 });
  });

  it('for a report that is not ready names the report as what the run waits for', async () => {
    const { result } = await chunk({ onRequest: throttled(new ThrottledError(5000, { reason: 'report' })) });
    expect(result).toMatchObject({ done: false, waitMs: 5000, waitsFor: 'report' });
  });
});

describe('a destination', () => {
  it('that asks to wait is no wait of the API: the chunk throws it, although every page may be read', async () => {
    const otherwise = new AppError('destination_unavailable', 'The receiver is busy.');
    const pause = new ThrottledError(30_000, { otherwise });
    await expect(chunk({ onApply: () => Promise.reject(pause) })).rejects.toBe(pause);
  });

  it('that is not where the ledger says ends the chunk, which is never done, even at the last page', async () => {
    const { result, recorded } = await chunk({ onApply: () => Promise.reject(new DestinationMovedError()) });
    expect(result).toMatchObject({ done: false, limited: false, waitMs: 0 });
    expect(recorded).toEqual([]);
  });

  it('that took a batch of a run which was asked to stop ends the run before the rest is read', async () => {
    const first = Promise.withResolvers<void>();
    const { result, recorded } = await chunk({
      stops: first.resolve,
      onRequest: (page) => (page === 1 ? undefined : first.promise),
      body: (page) => ({ data: [{ id: page }], pages: 50 }),
    });
    expect(result).toMatchObject({ done: true, limited: false });
    expect(result.pages).toBeLessThan(50);
    expect(recorded).toHaveLength(result.records);
  });
});

describe('a chunk that is canceled', () => {
  it('does not wait for a destination that never responds', async () => {
    const controller = new AbortController();
    const { promise: never } = Promise.withResolvers<never>();
    const onApply = () => {
      controller.abort(new CancelledFailure('CANCELLED'));
      return never;
    };
    const { recorded } = await chunk({ canceled: controller.signal, onApply });
    expect(recorded).toEqual([]);
  });

  it('leaves its requests, waits for the batch in progress, and sends none behind it', async () => {
    const controller = new AbortController();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const { promise: later, resolve: applyLater } = Promise.withResolvers<void>();
    const { recorded } = await chunk({
      canceled: controller.signal,
      async onRequest(page, signal) {
        if (page !== 3) return;
        signal.addEventListener('abort', () => {
          leave();
          setImmediate(applyLater);
        });
        await left;
      },
      onApply() {
        controller.abort(new CancelledFailure('CANCELLED'));
        return later;
      },
    });
    expect(recorded).toEqual(['1', '2']);
  });
});

describe('a chunk whose worker stops', () => {
  it('requests no page more, and delivers those that arrive within ten seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const controller = new AbortController();
    const { result, recorded } = await chunk({
      canceled: controller.signal,
      onRequest(page) {
        if (page !== 2) return;
        controller.abort(new CancelledFailure('WORKER_SHUTDOWN'));
        vi.advanceTimersByTime(9999);
      },
    });
    expect(result).toMatchObject({ done: false, limited: false });
    expect(result.pages).toBeGreaterThanOrEqual(2);
    expect(result.pages).toBeLessThan(5);
    expect(recorded).toHaveLength(result.records);
  });
});

it('a deviation of the API from the spec is logged with the page that has it', async () => {
  const { logged } = await chunk({ body: () => ({ data: [{ id: 1 }], pages: 5 }) });
  expect(logged).toMatchObject([
    { level: 'warn', message: 'the API deviates from the spec', pageNo: 2, notes: ['page_repeated'] },
  ]);
});

const startedAtMs = Date.now();
/** A minute after the run began. */
const endsAtMs = (): number => startedAtMs + 60_000;

interface Given {
  readonly msMax?: number;
  readonly limits?: Readonly<Record<string, unknown>>;
  readonly before?: { readonly pageNo: number; readonly records: number };
  /** Called before the API responds with a page. */
  readonly onRequest?: (page: number, signal: AbortSignal) => unknown;
  readonly body?: (page: number) => unknown;
  /** Called before the destination takes a batch. */
  readonly onApply?: () => Promise<void>;
  /** Called when a batch is recorded, for a run that was asked to stop. */
  readonly stops?: () => void;
  readonly canceled?: AbortSignal;
}

/** Reads from the beginning of the run, with the real engine, pipeline and delivery. */
async function chunk({
  msMax = 60_000,
  limits = {},
  before = { pageNo: 0, records: 0 },
  onRequest = () => undefined,
  body = (page) => ({ data: [{ id: page * 2 - 1 }, { id: page * 2 }], pages: 5 }),
  onApply = async () => undefined,
  stops,
  canceled = new AbortController().signal,
}: Given = {}) {
  const requested: number[] = [];
  const client: HttpClient = {
    async send({ url }, { signal }) {
      const page = Number(url.searchParams.get('page'));
      requested.push(page);
      await onRequest(page, signal);
      signal.throwIfAborted();
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(body(page))), url };
    },
    logSaved: async () => {},
    logBlocked: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const { spec, resource } = specOf(limits);
  const source = sourceOf({ api: { origin: 'https://api.test' }, evaluator, resource: {} }, { client, resource });
  const startedAt = new Date(startedAtMs);
  const ledger = createMemoryLedger({ watermark: null, known: [] });
  const known = createKnownRecords(async (externalIds) => ledger.records.load(externalIds));
  const engine = createEngine({
    runId: 'run_1',
    startedAt,
    spec,
    resource,
    params: {},
    redeliver: false,
    force: false,
    openSource: async () => source,
    store: createMemoryStore({
      ledger,
      now: startedAt,
      parentsOf: async () => [],
      valuesMax: Number.POSITIVE_INFINITY,
    }),
    lookupStore: memoryStore(),
    known,
    evaluator,
    redact: (text) => text,
    seal: (text) => text,
  });
  const recorded: string[] = [];
  const runLedger: RunLedger = {
    written: { find: async () => null, add: async () => undefined },
    behindSince: async () => null,
    noteLeftovers: async () => true,
    prepare: () => undefined,
    async record(receipt) {
      ledger.record([], receipt);
      recorded.push(...receipt.records.map(({ externalId }) => externalId));
      stops?.();
      return { outcome: 'recorded', stop: stops !== undefined };
    },
    leaveToEnd: (receipt) => ledger.record([], receipt),
    recordCarried: unused,
    passOver: unused,
    clearRecordedWith: unused,
    noteCompared: unused,
    noteRestored: unused,
    forget: unused,
  };
  const delivery = createDelivery({
    ledger: runLedger,
    runId: 'run_1',
    resource,
    destination: {
      prepare: () => undefined,
      async apply() {
        await onApply();
        return [];
      },
    },
    known,
    callsStored: async () => undefined,
    redact: (text) => text,
    seal: (text) => text,
    batchNo: 0,
    appliesFirst: false,
    invalidLimit: createInvalidLimit(resource, { recordsIn: 0, invalid: 0 }),
  });
  const start = {
    ...before,
    batchNo: 0,
    position: null,
    readCompleted: false,
    invalid: 0,
    fresh: false,
    isBehind: false,
    leftovers: 0,
    carried: [],
  };
  const lines: string[] = [];
  const deps: ReadDeps = {
    movement: watchMovement(createLendableSlots(1)),
    progress: { show: () => undefined },
    log: createLog({ level: 'warn', name: 'test', destination: { write: (line) => void lines.push(line) } }),
  };
  const result = await readOn(
    deps,
    { start, engine, delivery },
    { limits: resource.limits, endsAtMs: endsAtMs(), isRateLimited: () => false, canceled, msMax },
  );
  return { result, requested, recorded, logged: lines.map((line): unknown => JSON.parse(line)) };
}

const unused = (): never => {
  throw new Error('not used by this test');
};

function specOf(limits: Readonly<Record<string, unknown>>) {
  const spec = v.parse(ConnectorSpec, {
    metadata: { key: 'test', name: 'Test', version: '1.0.0' },
    auth: { kind: 'none' },
    http: { baseUrl: 'https://api.test' },
    resources: [
      {
        key: 'items',
        primaryKey: 'id',
        request: { path: '/items' },
        response: { records: 'data' },
        pagination: { kind: 'page', totalPages: 'body.pages', onRepeat: 'stop', inject: { in: 'query', name: 'page' } },
        limits: { maxDurationSeconds: 60, ...limits },
      },
    ],
  });
  const [resource] = spec.resources;
  if (!resource) throw new Error('the spec has one resource');
  return { spec, resource };
}
