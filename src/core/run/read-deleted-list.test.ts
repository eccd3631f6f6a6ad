import { expect, test } from 'vitest';
import { createTestEvaluator } from '../expressions/evaluator-fixture.ts';
import type { PartitionPosition } from '../model/run-position.ts';
import { memoryStore } from '../source/lookups/lookup-store-fixture.ts';
import { type ApiReply, inQuery, numberOf, sourceOf, startApi } from '../source/source-fixture.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { readDeletedList } from './read-deleted-list.ts';
import type { RunPage } from './run-page.ts';
import { neverRead, type RunStore } from './run-store.ts';

const watermark = '2026-01-01T00:00:00.000Z';
const partition = { key: '', each: {} };
const position: PartitionPosition = {
  stage: 'partition',
  no: 0,
  step: 'listed',
  read: null,
  watermarkBefore: null,
  validators: null,
  gaps: [],
  totals: { count: 1, skipped: 0, gaps: [], listGaps: [] },
  listedAt: null,
};

/** Only what a list of deleted records asks for. */
const store: Partial<RunStore> = {
  partition: async () => ({ ...neverRead, watermark }),
};

const resource = {
  incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' },
  deletes: {
    ...{ mode: 'endpoint', request: { path: '/deleted' }, records: '$', key: 'id' },
    pagination: { kind: 'page', size: 2, inject: inQuery('page') },
    stopWhen: 'last.at < watermark',
  },
};

/** The ids that a list names as deleted of live records, and up to where it is known from then on. */
async function readList(pages: readonly ApiReply[]) {
  await using evaluator = createTestEvaluator({ size: 1 });
  await using api = await startApi((request) => pages[numberOf(request, 'page', 1) - 1] ?? { body: [] });
  const source = sourceOf({ api, evaluator, resource });
  const completed = { listedAt: null, validators: null };
  const list = { position, partition, next: null, completion: async () => ({ partition: '', watermark, completed }) };
  const options = { signal: new AbortController().signal, delivered: async () => {} };
  const found: RunPage[] = [];
  const findListed: RunStore['findListed'] = async ({ externalIds }) => externalIds.map(knownBefore);
  const run = {
    // The fixture parses a whole spec; its type shows what reading needs of it. No other part of a store is asked.
    ...{ resource: source.resource as Resource, source, store: { ...store, findListed } as RunStore },
    ...{ lookupStore: memoryStore(), force: false, shapeOf: () => null, findResource: unused, openParent: unused },
  };
  for await (const page of readDeletedList(run, list, options)) {
    found.push(page);
  }
  const named = found.flatMap(({ listed }) => listed?.named ?? []);
  const deleted = named.flatMap(({ externalId, state }) => (state === 'due' ? [externalId] : []));
  return { deleted, deletionsTo: found.at(-1)?.partition?.completed?.deletionsTo };
}

const knownBefore = (externalId: string) =>
  ({ externalId, isUndelivered: false, cursor: null, seen: 'before', mark: null }) as const;

const unused = (): never => {
  throw new Error('not used by this test');
};

const item = (id: number) => ({ id, at: watermark });

test('a short page of a list that is known from its end on is no end of it', async () => {
  const pages = [{ body: [item(1)] }, { body: [item(2), item(3)] }, { body: [item(4)] }];
  expect(await readList(pages)).toEqual({ deleted: ['1', '2', '3', '4'], deletionsTo: watermark });
});

test('a list whose end is not clear is read whole again', async () => {
  const pages = [{ body: [item(1)] }, { status: 400 }];
  expect(await readList(pages)).toEqual({ deleted: ['1'], deletionsTo: undefined });
});
