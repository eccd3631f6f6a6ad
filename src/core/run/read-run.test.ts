import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../expressions/evaluator-fixture.ts';
import type { RunPosition } from '../model/run-position.ts';
import { memoryStore } from '../source/lookups/lookup-store-fixture.ts';
import { sourceOf } from '../source/source-fixture.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { readRun } from './read-run.ts';
import type { RunStore } from './run-store.ts';

const evaluator = createTestEvaluator({ size: 1 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const unused = (): never => {
  throw new Error('not used by this test');
};

/** What the last stages of a run ask for. */
const store: Partial<RunStore> = {
  readSoFar: async () => ({ recordsIn: 3, recordsOut: 3 }),
  isClean: async () => true,
  countReplaced: async () => 3,
  countMissing: async () => ({ missing: 0, flagged: 0, due: 0 }),
  hidesMissing: async () => true,
};

async function pagesFrom(start: object, resource: object) {
  const source = sourceOf({ api: { origin: 'https://api.test' }, evaluator, resource: { ...resource } });
  const run = {
    // The fixture parses a whole spec; its type shows what reading needs of it. No other part of a store is asked.
    ...{ resource: source.resource as Resource, source, store: store as RunStore },
    ...{ lookupStore: memoryStore(), force: false, shapeOf: () => null, findResource: unused, openParent: unused },
  };
  const options = { signal: new AbortController().signal, delivered: async () => {} };
  return await Array.fromAsync(readRun(run, start as RunPosition, options));
}

describe('a run goes on from a position that knows only whether there was a gap', () => {
  test.each([
    [false, { completesGeneration: true, incomplete: false, notes: [] }],
    [true, { completesGeneration: false, incomplete: true, notes: ['list_missing'] }],
    [undefined, { completesGeneration: false, incomplete: true, notes: ['list_missing'] }],
  ])('before it replaces a table: %s', async (gaps, page) => {
    const pages = await pagesFrom({ stage: 'switch', gaps }, { target: { table: 't', mode: 'replace' } });
    expect(pages).toMatchObject([page]);
  });

  test.each([
    [false, { incomplete: false, notes: [] }],
    [true, { incomplete: true, notes: ['list_missing'] }],
  ])('before it deletes what is missing: %s', async (gaps, page) => {
    const totals = { count: 1, skipped: 0, gaps, listGaps: gaps };
    const pages = await pagesFrom({ stage: 'sweep', totals }, { deletes: { mode: 'full_scan' } });
    expect(pages).toMatchObject([page]);
  });
});
