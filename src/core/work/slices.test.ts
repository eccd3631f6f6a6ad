import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { workOf } from '../work-ids.ts';
import { nextSlice } from './slices.ts';

test('one slice of all long work runs in a turn of the event loop, in the order of arrival', async () => {
  const begun: string[] = [];
  const work = async (name: string) => {
    for (let slice = 1; slice <= 2; slice += 1) {
      await nextSlice();
      begun.push(`${name}${slice}`);
    }
  };
  const turns: number[] = [];
  const all = Promise.all(['a', 'b', 'c'].map(work));
  for (let turn = 1; turn <= 6; turn += 1) {
    await nextTurn();
    turns.push(begun.length);
  }
  await all;
  expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
  for (const [index, count] of turns.entries()) expect(count).toBeLessThanOrEqual(index + 1);
});

test('the orgs have their turns, however much one of them does', async () => {
  const begun: string[] = [];
  const work = (name: string) =>
    workOf({ orgId: name.slice(0, 1) }, async () => {
      for (let slice = 1; slice <= 2; slice += 1) {
        await nextSlice();
        begun.push(`${name}.${slice}`);
      }
    });
  await Promise.all(['a1', 'a2', 'a3', 'b1'].map(work));
  expect(begun.slice(0, 4)).toEqual(['a1.1', 'b1.1', 'a2.1', 'b1.2']);
});
