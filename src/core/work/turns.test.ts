import { expect, it } from 'vitest';
import { createTurns } from './turns.ts';

it('lets an org have its share, and others pass by it while it waits', async () => {
  const turns = createTurns({ max: 3, maxEach: 2 });
  const entered: string[] = [];
  const enter = async (orgId: string, name: string) => {
    const giveBack = await turns.take(orgId);
    entered.push(name);
    return giveBack;
  };
  const [first, second] = [enter('a', 'a1'), enter('a', 'a2')];
  const third = enter('a', 'a3');
  await enter('b', 'b1');
  expect(entered).toEqual(['a1', 'a2', 'b1']);
  const fourth = enter('c', 'c1');
  const giveBack = await first;
  giveBack();
  giveBack();
  await third;
  expect(entered).toEqual(['a1', 'a2', 'b1', 'a3']);
  (await second)();
  await fourth;
  expect(entered.at(-1)).toBe('c1');
});
