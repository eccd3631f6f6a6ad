/*
 * The evidence for the rules of reading: the real reader and the real change filter against an API in memory that
 * behaves badly. 300 records, an hour of writes at 0.5/s that go on during the syncs, cursor values of one second, a sync
 * every 300 s, pages of 20 at 0.37 s each, then five quiet runs; the destination is keyed by id. What is lost is a record
 * whose last version never arrived; what is redundant, a delivery of a version that was there.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededFractions } from '../../../test/support/random/seeded.ts';
import { createTestEvaluator, type TestEvaluator } from '../expressions/evaluator-fixture.ts';
import type { HttpClient } from '../model/http.ts';
import type { RecordEntry } from '../model/receipt.ts';
import { createKnownRecords } from '../pipeline/known-records.ts';
import { createPipeline } from '../pipeline/process-page.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { readPages } from './read/read-pages.ts';
import type { Source } from './source.ts';
import { sourceOf } from './source-fixture.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const seeds = Array.from({ length: 8 }, (_, seed) => seed + 1);
const { signal } = new AbortController();

async function sumOf(model: Model): Promise<Result> {
  const results: Result[] = [];
  for (const seed of seeds) results.push(await simulate(seed, model));
  const sum = (count: keyof Result) => results.reduce((total, result) => total + result[count], 0);
  return { lost: sum('lost'), redundant: sum('redundant') };
}

describe('nothing is lost and nothing comes twice', () => {
  const nothing = { lost: 0, redundant: 0 };
  const lagging: Model = { lagMsMax: 8000, settle: 'PT10S', clockAheadMs: 0, paging: 'cursor', overlap: 0 };

  test('with records of the boundary value that are committed after the read', async () => {
    expect(await sumOf(lagging)).toEqual(nothing);
  });

  test('with our clock 5 s ahead of that of the API', async () => {
    expect(await sumOf({ ...lagging, clockAheadMs: 5000 })).toEqual(nothing);
  });

  test('with our clock 5 s behind', async () => {
    expect(await sumOf({ ...lagging, clockAheadMs: -5000 })).toEqual(nothing);
  });

  test('with neither lag nor settle', async () => {
    expect(await sumOf({ ...lagging, lagMsMax: 0, settle: 'PT0S' })).toEqual(nothing);
  });

  test('over offset pages of rows that move, with overlap', async () => {
    expect(await sumOf({ ...lagging, paging: 'offset', overlap: 5 })).toEqual(nothing);
  });

  test('over offset pages of rows that move, where the spec says nothing of it', async () => {
    expect(await sumOf({ ...lagging, paging: 'offset' })).toMatchObject({ lost: 0 });
  });
});

describe('the model can lose', () => {
  const plain: Model = { lagMsMax: 8000, settle: 'PT0S', clockAheadMs: 0, paging: 'cursor', overlap: 0 };

  test('with lag and no settle', async () => {
    expect(await sumOf(plain)).toMatchObject({ lost: expect.toSatisfy(isSome), redundant: 0 });
  });

  test('over offset pages of which the spec says that they do not move', async () => {
    const moving: Model = { ...plain, settle: 'PT10S', paging: 'offset', isStable: true };
    expect(await sumOf(moving)).toMatchObject({ lost: expect.toSatisfy(isSome), redundant: 0 });
  });
});

const isSome = (count: unknown): boolean => Number(count) > 0;

interface Model {
  /** How long a write stays invisible at most, ms. */
  readonly lagMsMax: number;
  readonly settle: string;
  /** Our clock against the API's, ms. */
  readonly clockAheadMs: number;
  readonly paging: 'cursor' | 'offset';
  /** Of offset pages. */
  readonly overlap: number;
  /** The spec says that rows do not move; absent: no. */
  readonly isStable?: boolean;
}

interface Result {
  readonly lost: number;
  readonly redundant: number;
}

async function simulate(seed: number, model: Model): Promise<Result> {
  const api = createModelApi(seed, model);
  const base = sourceOf({ api: { origin: 'http://model.test' }, evaluator, resource: resourceOf(model) });
  const stored = new Map<string, RecordEntry>();
  const delivered = new Map<unknown, unknown>();
  let redundant = 0;
  let watermark: string | null = null;
  for (let run = 1; run <= 17; run += 1) {
    api.setClock(start + run * 300_000);
    const select = selectionOf(base.resource as Resource, stored);
    const now = () => new Date(api.now() + model.clockAheadMs);
    const source: Source = { ...base, client: api.client, now, watermark };
    for await (const page of readPages(source, { position: null, signal, lookAhead: 0 })) {
      for (const { id, version } of await select(page.records as readonly Row[])) {
        if (delivered.get(id) === version) redundant += 1;
        delivered.set(id, version);
      }
      watermark = page.watermarkAfter;
    }
  }
  const lost = api.finalRows().filter(({ id, version }) => delivered.get(id) !== version).length;
  return { lost, redundant };
}

const resourceOf = ({ settle, paging, overlap, isStable = false }: Model) => ({
  request: { path: '/items', query: { since: '{{ window.from }}' } },
  response: { records: 'data' },
  pagination:
    paging === 'cursor'
      ? { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'after' } }
      : { kind: 'offset', size: 20, overlap, stable: isStable, inject: { in: 'query', name: 'offset' } },
  incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle },
});

/** The change filter of one run over what earlier runs have delivered; everything it lets through is delivered. */
function selectionOf(resource: Resource, stored: Map<string, RecordEntry>) {
  const known = createKnownRecords(async (ids) => ids.flatMap((id) => stored.get(id) ?? []));
  const pipeline = createPipeline({
    resource,
    params: {},
    lookups: {},
    runId: 'run_1',
    startedAt: new Date(start),
    known,
    storedFields: null,
    enrich: null,
    redeliver: false,
    evaluator,
    redact: (text) => text,
    seal: (text) => text,
  });
  return async (records: readonly Row[]) => {
    const { outcomes } = await pipeline.shape(await pipeline.select({ records, each: {}, origin: 'fetched' }));
    return outcomes.flatMap((outcome) => {
      if (outcome.kind !== 'deliver' || outcome.entry === null) return [];
      stored.set(outcome.entry.externalId, outcome.entry);
      return [outcome.raw as Row];
    });
  };
}

interface Row {
  readonly id: number;
  readonly version: number;
  readonly at: string;
  /** Place in the API's order. */
  readonly key: string;
}

interface Write extends Row {
  readonly visibleAt: number;
}

const start = Date.UTC(2026, 0, 1);

/** An API whose clock goes on by 0.37 s with every request. */
function createModelApi(seed: number, { lagMsMax }: Model) {
  const writes = writesOf(seed, lagMsMax);
  let clock = start;
  const page = ({ searchParams }: URL) => {
    const since = searchParams.get('since') ?? '';
    const rows = visibleRows(writes, clock).filter(({ at }) => at >= since);
    const offset = searchParams.get('offset');
    if (offset !== null) return { data: rows.slice(Number(offset), Number(offset) + 20) };
    const after = searchParams.get('after') ?? '';
    const rest = rows.filter(({ key }) => key > after);
    return { data: rest.slice(0, 20), next: rest.length > 20 ? rest[19]?.key : null };
  };
  const client: HttpClient = {
    async send({ url }) {
      clock += 370;
      const body = new TextEncoder().encode(JSON.stringify(page(url)));
      return { status: 200, headers: { date: new Date(clock).toUTCString() }, body, url };
    },
    logSaved: async () => {},
    logBlocked: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  return {
    client,
    now: () => clock,
    setClock: (now: number) => {
      clock = now;
    },
    finalRows: () => visibleRows(writes, Number.POSITIVE_INFINITY),
  };
}

function writesOf(seed: number, lagMsMax: number): readonly Write[] {
  const random = seededFractions(seed);
  const versions = new Map<number, number>();
  const write = (id: number, at: number): Write => {
    const version = (versions.get(id) ?? 0) + 1;
    versions.set(id, version);
    const second = new Date(Math.floor(at / 1000) * 1000).toISOString();
    const key = `${second}/${String(id).padStart(3, '0')}`;
    return { id, version, at: second, key, visibleAt: at + random() * lagMsMax };
  };
  const initial = Array.from({ length: 300 }, (_, id) => write(id, start - 60_000 - id * 1000));
  const later = Array.from({ length: 1800 }, (_, tick) => write(Math.floor(random() * 300), start + tick * 2000));
  return [...initial, ...later];
}

/** The newest visible version of each record, in the API's order. */
function visibleRows(writes: readonly Write[], now: number): readonly Row[] {
  const rows = new Map<number, Row>();
  for (const write of writes) if (write.visibleAt <= now) rows.set(write.id, write);
  return [...rows.values()].sort((left, right) => (left.key < right.key ? -1 : 1));
}
