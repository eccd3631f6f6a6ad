import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { byPage, listOf, readMoving } from './moving-list-fixture.ts';
import { readFingerprint } from './read-fingerprint.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const fingerprint = readFingerprint({
  resourceKey: 'items',
  partition: {},
  watermarkBefore: null,
  specChecksum: 'sha256:1',
  backfillFrom: undefined,
  isNumbered: false,
});

test.each([
  ['is discarded where page numbers have to follow each other', byPage, ['position_discarded']],
  ['is continued where the list only grows', { ...byPage, stable: true }, []],
])('a position that proves nothing of the pages before it %s', async (_, pagination, notes) => {
  const options = { evaluator, resource: { pagination } };
  const { pages } = await readMoving(listOf(6), (list) => list, options);
  const position = pages[0]?.positionAfter;
  if (!position) throw new Error('the list has several pages');
  const { trail: _trail, ...old } = position;
  const again = await readMoving(listOf(6), (list) => list, { ...options, position: { ...old, fingerprint } });
  expect(again.notes).toEqual(notes);
});
