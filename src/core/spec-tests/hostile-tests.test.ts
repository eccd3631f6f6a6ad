import { afterAll, expect, it } from 'vitest';
import { createTestEvaluator } from '../expressions/evaluator-fixture.ts';
import { responding, runWith } from './spec-tests-fixture.ts';

const evaluator = createTestEvaluator({ size: 1 });
afterAll(() => evaluator[Symbol.asyncDispose]());
const run = runWith(evaluator);

const nothing = { request: {}, respond: { body: { data: [] } } };
const numbers = (last: number, more = {}) => ({ as: 'n', values: `{{ [1..${last}] }}`, ...more });
const ids = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));
const items = { key: 'items', primaryKey: 'id', response: { records: 'data' } };
const parents = { ...items, key: 'parents', request: { path: '/parents' } };

/** Tests that are small to write and have, make or send more than a process should. */
const hostile: Readonly<Record<string, { readonly parts: Parameters<typeof run>; readonly says: string | null }>> = {
  'ten million combinations to compare': {
    parts: [
      { mocks: [responding('/parents', ids(10)), nothing] },
      {},
      {
        resources: [
          parents,
          {
            ...items,
            request: { path: '/items' },
            forEach: [
              { as: 'parent', resource: 'parents', from: 'store', select: 'changed' },
              numbers(1000),
              numbers(1000, { as: 'm' }),
            ],
          },
        ],
      },
    ],
    says: 'more than 100000 values',
  },
  'groups of 50,000 values': {
    parts: [{ mocks: [nothing] }, { forEach: [numbers(50_000, { group: { size: 10, join: ',' } })] }],
    says: null,
  },
  'requests with large bodies': {
    parts: [
      { mocks: [nothing] },
      {
        forEach: [numbers(20_000)],
        request: { method: 'POST', path: '/items', body: { json: { n: '{{ each.n }}', text: 'x'.repeat(60_000) } } },
      },
    ],
    says: 'The requests of a test have more than 20 MB.',
  },
  'a large body, and two hundred mocks that want another one': {
    parts: [
      {
        mocks: [{ zz: 1 }, [1]].flatMap((body) =>
          Array.from({ length: 100 }, () => ({ ...nothing, request: { method: 'POST', body } })),
        ),
      },
      {
        request: {
          method: 'POST',
          path: '/items',
          body: { json: Object.fromEntries(Array.from({ length: 20 }, (_, nth) => [`k${nth}`, '{{ [1..99000] }}'])) },
        },
      },
    ],
    says: 'no mock matches POST /v2/items',
  },
  'rows that a transform makes large': {
    parts: [{ mocks: [responding('/items', ids(1000))] }, { transform: '{ "id": id, "text": $pad("", 900000, "x") }' }],
    says: 'more than 64 MB',
  },
  'rows of many pages that a transform makes large': {
    parts: [
      { mocks: [responding('/items', ids(20))] },
      {
        forEach: [numbers(100)],
        primaryKey: ['id', 'n'],
        response: { records: 'data', addFields: { n: 'each.n' } },
        transform: '{ "id": id, "n": n, "text": $pad("", 900000, "x") }',
      },
    ],
    says: 'more than 20 MB',
  },
};

it.each(Object.entries(hostile))(
  'holds neither the process nor much memory: %s',
  async (_what, { parts, says }) => {
    let [longestMs, last] = [0, performance.now()];
    const look = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last);
      last = performance.now();
    }, 10);
    const issues = await run(...parts);
    clearInterval(look);
    if (says !== null) expect(issues).toEqual([expect.stringContaining(says)]);
    // Before, lists of this size held it for 8 s, or until its memory was full.
    expect(longestMs).toBeLessThan(3000);
  },
  30_000,
);
