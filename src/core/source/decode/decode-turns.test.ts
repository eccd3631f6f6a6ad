import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ThrottledError } from '../../model/throttled.ts';
import { createDecodeQueue, type DecodeTurns } from './decode-turns.ts';

const memoryMax = 1000;

/** A queue with a clock of its own, which goes on when somebody waits and when `take` takes the thread. */
function world() {
  let now = 0;
  const begun: string[] = [];
  const queue = createDecodeQueue(
    memoryMax,
    () => now,
    async (ms) => {
      await nextTurn();
      now += ms;
    },
  );
  const take = (turns: DecodeTurns, name: string, ms: number) =>
    turns.inTurn(() => {
      begun.push(`${name} at ${now}`);
      now += ms;
    });
  return { queue, begun, take, now: () => now };
}

test('an org rests three times as long as it took the thread, while another org has a run', async () => {
  const { queue, begun, take } = world();
  const [mine, other] = [queue.open('org'), queue.open('other')];
  await Promise.all([take(mine, 'first', 10), take(mine, 'second', 10)]);
  await take(other, 'other', 1);
  expect(begun).toEqual(['first at 0', 'second at 40', 'other at 50']);
});

test('the runs of an org share its turns', async () => {
  const { queue, begun, take } = world();
  const [first, second] = [queue.open('org'), queue.open('org')];
  queue.open('other');
  await Promise.all([take(first, 'first', 10), take(second, 'second', 10)]);
  expect(begun).toEqual(['first at 0', 'second at 40']);
});

test('an org that is alone rests only after what takes long', async () => {
  const { queue, begun, take } = world();
  const alone = queue.open('org');
  for (const [name, ms] of [
    ['short', 50],
    ['long', 100],
    ['next', 1],
  ] as const)
    await take(alone, name, ms);
  expect(begun).toEqual(['short at 0', 'long at 50', 'next at 450']);
});

test('a failure of one is none of the next', async () => {
  const { queue } = world();
  const turns = queue.open('org');
  await expect(turns.inTurn(() => JSON.parse('{'))).rejects.toThrow(SyntaxError);
  expect(await turns.inTurn(() => 'value')).toBe('value');
});

test('work in a thread of its own is done one at a time for an org, too', async () => {
  const { queue } = world();
  const turns = queue.open('org');
  const first = Promise.withResolvers<string>();
  const begun: string[] = [];
  const both = Promise.all([
    turns.inTurn(() => first.promise),
    turns.inTurn(async () => {
      begun.push('second');
      return 'second';
    }),
  ]);
  await nextTurn();
  await nextTurn();
  expect(begun).toEqual([]);
  first.resolve('first');
  expect(await both).toEqual(['first', 'second']);
});

/** A response that holds so much. */
function holding(turns: DecodeTurns, bytes: number) {
  const held = turns.open();
  held.hold(bytes);
  return held;
}

const refused = { waitMs: 15_000, reason: 'memory' };
const values = (turns: DecodeTurns, bytes: number) => turns.takeMemory(bytes, undefined);

test('the rest of an org outlives its chunks', async () => {
  const { queue, begun, take } = world();
  queue.open('other');
  const first = queue.open('org');
  await take(first, 'first', 100);
  first[Symbol.dispose]();
  await take(queue.open('org'), 'second', 1);
  expect(begun).toEqual(['first at 0', 'second at 400']);
});

test('an org takes half of the memory, and all of them no more than there is', async () => {
  const { queue } = world();
  const open = (org: string) => queue.open(org);
  await values(open('a'), 300);
  await expect(values(open('a'), 300)).rejects.toMatchObject(refused);
  await values(open('b'), 400);
  await expect(values(open('c'), 400)).rejects.toThrow('Other large responses take the memory; retrying in 15 s.');
  await values(open('c'), 300);
});

test('a response that is larger than the limits is decoded when nothing else is in memory', async () => {
  const { queue } = world();
  const small = queue.open('a');
  await values(small, 1);
  await expect(values(queue.open('b'), 2000)).rejects.toMatchObject(refused);
  small[Symbol.dispose]();
  const large = queue.open('b');
  const held = holding(large, 2000);
  await expect(large.takeMemory(3000, held)).resolves.toBeUndefined();
  expect(() => holding(large, 1)).toThrow(ThrottledError);
});

test('a chunk waits for a while, and goes on as soon as another one ends', async () => {
  const queue = createDecodeQueue(memoryMax);
  const [first, second] = [queue.open('org'), queue.open('org')];
  await values(first, 500);
  const taken = values(second, 400);
  first[Symbol.dispose]();
  await expect(taken).resolves.toBeUndefined();
});

test('the bodies that wait for their turn count, until they are given back or the chunk ends', async () => {
  const { queue } = world();
  const [first, second] = [queue.open('org'), queue.open('org')];
  const body = holding(first, 300);
  holding(first, 100);
  expect(() => holding(second, 200)).toThrow('Other large responses take the memory; retrying in 15 s.');
  body.release();
  body.release();
  holding(second, 200);
  await expect(values(first, 300)).rejects.toMatchObject(refused);
  second[Symbol.dispose]();
  await expect(values(first, 300)).resolves.toBeUndefined();
});

test('of the values of a chunk those of its largest body count', async () => {
  const { queue } = world();
  const chunk = queue.open('org');
  await values(chunk, 400);
  await values(chunk, 200);
  await values(queue.open('org'), 100);
  await expect(values(queue.open('org'), 100)).rejects.toMatchObject(refused);
});
