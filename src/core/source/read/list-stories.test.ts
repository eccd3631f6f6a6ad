import { afterAll, beforeAll, expect, test } from 'vitest';
import { seededNumbers } from '../../../../test/support/random/seeded.ts';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import {
  ascending,
  at,
  byOffset,
  byPage,
  type Change,
  listOf,
  type MovingRead,
  type Row,
  readMoving,
  toTheEnd,
  without,
} from './moving-list-fixture.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

/** What happens to a list before the request with a number; behind the last of them it is at rest. */
interface Move {
  readonly request: number;
  readonly kind: 'insert' | 'update' | 'delete';
  /** The place of the record in the list, as it is then. */
  readonly place: number;
}

interface Story {
  /** Records of the list at first. */
  readonly length: number;
  readonly moves: readonly Move[];
  /** Pages behind which another process goes on. */
  readonly stops: readonly number[];
}

type Kind = Omit<MovingRead, 'evaluator'>;

/** When a read begins: what changes meanwhile has later times. */
const begin = 400;

function changeOf({ moves }: Story): Change {
  let made = 0;
  return (list, request) =>
    moves.reduce((rows, { request: no, kind, place }) => {
      const row = rows[place % Math.max(1, rows.length)];
      if (no !== request || row === undefined) return rows;
      made += 1;
      const now = at(begin + made);
      if (kind === 'insert') return [...rows, { id: 1000 + made, at: now }];
      return kind === 'delete' ? without(rows, row.id) : toTheEnd(rows, row.id, now);
    }, list);
}

/** What a story shows to be wrong with the read; null: nothing. */
async function violationOf(story: Story, kind: Kind): Promise<string | null> {
  const first = listOf(story.length);
  const how = { ...kind, evaluator, stops: story.stops, now: () => new Date(at(begin)) };
  const { pages, error, gaps, ids, lists } = await readMoving(first, changeOf(story), how);
  // A page that the API refuses ends the read with an error, unless it is known to be behind the last one.
  if (error !== null && kind.statusBehind === undefined)
    return `fails: ${error instanceof Error ? error.message : 'no error'}`;
  const last = lists.at(-1) ?? first;
  const seen: Row[] = [];
  for (const { records, watermarkAfter: claimed } of pages) {
    seen.push(...(records as readonly Row[]));
    const passed = last.find(
      (row) => row.at < (claimed ?? '') && !kind.hides?.(row) && !seen.some((one) => isSame(one, row)),
    );
    if (passed) return `claims ${claimed} without record ${passed.id} of ${passed.at}`;
  }
  const missed = first.find(
    (one) => !kind.hides?.(one) && lists.every((list) => list.some((row) => row.id === one.id)) && !ids.has(one.id),
  );
  return missed && gaps.length === 0 && error === null ? `misses record ${missed.id} without a word` : null;
}

const isSame = (one: Row, other: Row): boolean => one.id === other.id && one.at === other.at;

function storyOf(seed: number): Story {
  const next = seededNumbers(seed);
  const below = (bound: number): number => next() % bound;
  const kinds = ['delete', 'update', 'insert'] as const;
  const length = 3 + below(14);
  const moves = Array.from({ length: 1 + below(5) }, (): Move => {
    return { request: 2 + below(length + 6), kind: kinds[below(3)] ?? 'delete', place: below(length) };
  });
  return { length, moves, stops: below(2) === 0 ? [] : [1 + below(4), 1 + below(8)] };
}

/** Stories with one thing less. */
function* smaller({ length, moves, stops }: Story): Generator<Story> {
  if (stops.length > 0) yield { length, moves, stops: stops.slice(1) };
  for (const no of moves.keys()) yield { length, moves: moves.toSpliced(no, 1), stops };
  if (length > 1) yield { length: length - 1, moves, stops };
  for (const [no, move] of moves.entries()) {
    if (move.request > 2) yield { length, moves: moves.with(no, { ...move, request: move.request - 1 }), stops };
    if (move.place > 0) yield { length, moves: moves.with(no, { ...move, place: move.place - 1 }), stops };
  }
}

/** The smallest story that can be reached from one by leaving something out while something is wrong. */
async function shrunk(story: Story, kind: Kind): Promise<{ readonly story: Story; readonly violation: string | null }> {
  for (const next of smaller(story)) if ((await violationOf(next, kind)) !== null) return await shrunk(next, kind);
  return { story, violation: await violationOf(story, kind) };
}

/** The smallest story that shows something wrong; null: none does. */
async function smallestViolation(kind: Kind): Promise<Awaited<ReturnType<typeof shrunk>> | null> {
  for (let seed = 1; seed <= 150; seed += 1) {
    const story = storyOf(seed);
    if ((await violationOf(story, kind)) !== null) return await shrunk(story, kind);
  }
  return null;
}

const counted = { response: { records: 'data', total: 'total' } };
const paginations: readonly (readonly [string, object])[] = [
  ['page numbers', { pagination: byPage }],
  ['page numbers with a total', { pagination: byPage, ...counted }],
  ['counted page numbers', { pagination: { ...byPage, totalPages: '$ceil(body.total / 2)' } }],
  ['offsets', { pagination: byOffset }],
  ['counted offsets', { pagination: { ...byOffset, total: 'body.total' } }],
];
const more = { stopWhen: 'body.more = false' };
/** An API that leaves items out of its pages. */
const filtered: readonly (readonly [string, object])[] = [
  ['filtered page numbers', { pagination: { ...byPage, ...more } }],
  ['filtered offsets', { pagination: { ...byOffset, step: 'size', ...more } }],
];
const kinds: readonly (readonly [string, Kind])[] = [...paginations, ...filtered].flatMap(([name, parts]) => [
  [`${name}, whole`, { resource: { ...parts }, provesEnd: true }] as const,
  [`${name}, whole, refused behind the end`, { resource: { ...parts }, provesEnd: true, statusBehind: 404 }] as const,
  [`${name} in ascending order`, { resource: { ...ascending, ...parts } }] as const,
  [
    `${name} in ascending order, without a lower bound`,
    { resource: { ...ascending, request: { path: '/items' }, ...parts } },
  ] as const,
]);
const few = ({ id }: Row): boolean => id % 3 === 0;
const most = ({ id }: Row): boolean => id % 7 > 1;
const allKinds = kinds.flatMap(([name, kind]): readonly (readonly [string, Kind])[] =>
  name.startsWith('filtered')
    ? [
        [name, { ...kind, hides: few }],
        [`${name}, which leave most out`, { ...kind, hides: most }],
      ]
    : [[name, kind]],
);
const capped: readonly (readonly [string, Kind])[] = [
  ['offsets, with pages of one item', { resource: { pagination: { ...byOffset, ...more } }, provesEnd: true }],
  [
    'offsets, with pages of one item, in ascending order',
    { resource: { ...ascending, pagination: { ...byOffset, ...more } } },
  ],
].map(([name, kind]) => [
  name as string,
  { ...(kind as Kind), sizeOf: (request) => (request % 3 === 0 ? 1 : undefined) },
]);

test.each([...allKinds, ...capped])(
  'a list that moves while it is read loses no record without a word, and no watermark passes one: %s',
  async (_, kind) => {
    expect(await smallestViolation(kind)).toBeNull();
  },
  60_000,
);
