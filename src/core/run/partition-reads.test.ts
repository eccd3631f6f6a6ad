import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../expressions/evaluator-fixture.ts';
import type { HttpClient } from '../model/http.ts';
import type { PartitionPosition } from '../model/run-position.ts';
import { memoryStore } from '../source/lookups/lookup-store-fixture.ts';
import { pagesOf, sourceOf } from '../source/source-fixture.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { openPartitionReads } from './partition-reads.ts';
import { neverRead, type RunStore } from './run-store.ts';

test('no request of a partition that was read ahead outlives the reads', async () => {
  await using evaluator = createTestEvaluator({ size: 1 });
  const asked = new Set<string>();
  let open = 0;
  const allAsked = Promise.withResolvers<void>();
  const send: HttpClient['send'] = async ({ url }, { signal }) => {
    asked.add(url.pathname);
    open += 1;
    if (asked.size === 3) allAsked.resolve();
    try {
      if (url.pathname === '/items/0') return { status: 200, headers: {}, body: Buffer.from('[]'), url };
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => aborted.resolve());
      await aborted.promise;
      await turn();
      throw signal.reason;
    } finally {
      open -= 1;
    }
  };
  const reads = readsOf(evaluator, send, { requestsPerSecond: 1 });
  const { pages } = await reads.take(first);
  expect(await pagesOf(pages)).toHaveLength(1);
  await allAsked.promise;
  await reads[Symbol.asyncDispose]();
  expect([...asked].toSorted()).toEqual(['/items/0', '/items/1', '/items/2']);
  expect(open).toBe(0);
});

test('several requests at once are those of the partition whose turn it is', async () => {
  await using evaluator = createTestEvaluator({ size: 1 });
  const open = new Map<string, number>();
  const openMax = new Map<string, number>();
  const send: HttpClient['send'] = async ({ url }) => {
    const { pathname } = url;
    const now = (open.get(pathname) ?? 0) + 1;
    open.set(pathname, now);
    openMax.set(pathname, Math.max(now, openMax.get(pathname) ?? 0));
    await turn();
    open.set(pathname, now - 1);
    const body = JSON.stringify({ data: [{ id: url.searchParams.get('page') }], pages: 20 });
    return { status: 200, headers: {}, body: Buffer.from(body), url };
  };
  const response = { records: 'data' };
  const pagination = { kind: 'page', totalPages: 'body.pages', inject: { in: 'query', name: 'page' } };
  await using reads = readsOf(evaluator, send, { requestsPerSecond: 1000, response, pagination });
  const { pages } = await reads.take(first);
  expect(await pagesOf(pages)).toHaveLength(20);
  expect(Object.fromEntries(openMax)).toEqual({ '/items/0': 3, '/items/1': 1, '/items/2': 1 });
  const later = await reads.take({ ...first, no: 1 });
  expect(await pagesOf(later.pages)).toHaveLength(20);
  expect(Object.fromEntries(openMax)).toEqual({ '/items/0': 3, '/items/1': 3, '/items/2': 1 });
});

interface ReadResource {
  readonly requestsPerSecond: number;
  readonly response?: object;
  readonly pagination?: object;
}

/** The reads of a resource of three partitions, three requests at once. */
function readsOf(evaluator: TestEvaluator, send: HttpClient['send'], { requestsPerSecond, ...parts }: ReadResource) {
  const client: HttpClient = {
    send,
    logSaved: async () => {},
    logBlocked: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const forEach = [{ as: 'no', values: '{{ [0, 1, 2] }}' }];
  const resource = { forEach, request: { path: '/items/{{ each.no }}' }, ...parts };
  const http = { rateLimit: { requests: requestsPerSecond, perSeconds: 1, maxConcurrent: 3 } };
  const source = sourceOf({ api: { origin: 'https://api.test' }, evaluator, resource, http }, { client });
  const run = {
    // The fixture parses a whole spec; its type shows what reading needs of it.
    resource: source.resource as Resource,
    source,
    store: threeValues,
    lookupStore: memoryStore(),
    force: false,
    shapeOf: () => null,
    findResource: unused,
    openParent: unused,
  };
  return openPartitionReads(run, { signal: new AbortController().signal, delivered: async () => {} });
}

const unused = (): never => {
  throw new Error('not used by this test');
};

const threeValues: RunStore = {
  requeued: unused,
  clearDimension: unused,
  addToDimension: unused,
  dimensionCounts: async () => [3],
  dimensionValue: async (_dimension, no) => ({ key: String(no), value: no }),
  combinations: unused,
  changedPartitions: unused,
  listingInstant: unused,
  parents: unused,
  partition: async () => neverRead,
  isComplete: unused,
  countMissing: unused,
  findMissing: unused,
  hidesMissing: unused,
  countKnown: unused,
  readSoFar: unused,
  countReplaced: unused,
  findDeleted: unused,
  findListed: unused,
  countListed: unused,
  findDue: unused,
  startsOver: async () => false,
  noteReadsBefore: async () => undefined,
  isClean: unused,
};

const first: PartitionPosition = {
  stage: 'partition',
  no: 0,
  step: 'read',
  read: null,
  watermarkBefore: null,
  validators: null,
  gaps: [],
  totals: { count: 3, skipped: 0, gaps: [] },
  listedAt: null,
};
