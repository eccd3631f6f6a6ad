import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
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
    turns.run(() => {
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
  await expect(turns.run(() => JSON.parse('{'))).rejects.toThrow(SyntaxError);
  expect(await turns.run(() => 'value')).toBe('value');
});

test('work in a thread of its own is done one at a time for an org, too', async () => {
  const { queue } = world();
  const turns = queue.open('org');
  const first = Promise.withResolvers<string>();
  const begun: string[] = [];
  const both = Promise.all([
    turns.run(() => first.promise),
    turns.run(async () => {
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

test('an org takes half of the memory, and all of them no more than there is', async () => {
  const { queue } = world();
  const open = (org: string) => queue.open(org);
  await open('a').takeMemory(300);
  const refused = open('a').takeMemory(300);
  await expect(refused).rejects.toMatchObject({ waitMs: 15_000, reason: 'memory' });
  await open('b').takeMemory(400);
  await expect(open('c').takeMemory(400)).rejects.toThrow('Other large responses take the memory; retrying in 15 s.');
  await open('c').takeMemory(300);
});

test('what is larger than the limits is decoded when nothing else is in memory', async () => {
  const { queue } = world();
  const small = queue.open('a');
  await small.takeMemory(1);
  await expect(queue.open('b').takeMemory(2000)).rejects.toMatchObject({ reason: 'memory' });
  small[Symbol.dispose]();
  await expect(queue.open('b').takeMemory(2000)).resolves.toBeUndefined();
});

test('a chunk waits for a while, and goes on as soon as another one ends', async () => {
  const queue = createDecodeQueue(memoryMax);
  const [first, second] = [queue.open('org'), queue.open('org')];
  await first.takeMemory(500);
  const taken = second.takeMemory(400);
  first[Symbol.dispose]();
  await expect(taken).resolves.toBeUndefined();
});

test('the bodies that wait for their turn count, until they are decoded or the chunk ends', async () => {
  const { queue } = world();
  const [first, second] = [queue.open('org'), queue.open('org')];
  first.hold(300);
  first.hold(100);
  expect(() => second.hold(200)).toThrow('Other large responses take the memory; retrying in 15 s.');
  first.release(300);
  second.hold(200);
  await expect(first.takeMemory(300)).rejects.toMatchObject({ reason: 'memory' });
  second[Symbol.dispose]();
  await expect(first.takeMemory(300)).resolves.toBeUndefined();
});

test('a chunk takes the memory of its largest body', async () => {
  const { queue } = world();
  const chunk = queue.open('org');
  await chunk.takeMemory(400);
  await chunk.takeMemory(200);
  await queue.open('org').takeMemory(100);
  await expect(queue.open('org').takeMemory(100)).rejects.toMatchObject({ reason: 'memory' });
});
