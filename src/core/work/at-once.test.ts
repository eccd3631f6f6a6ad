import { expect, it } from 'vitest';
import { atOnce } from './at-once.ts';

it('runs as many tasks at once as its limit allows, and no more', async () => {
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const all = atOnce([...gates.keys()], 2, async (n) => {
    begun.push(n);
    await gates[n]?.promise;
  });
  await expect.poll(() => begun).toEqual([0, 1]);
  gates[1]?.resolve();
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  for (const { resolve } of gates) resolve();
  await all;
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

it('starts no task after a failure and waits for the running tasks', async () => {
  const slow = Promise.withResolvers<void>();
  const ended: number[] = [];
  const all = atOnce([0, 1, 2], 2, async (n) => {
    if (n === 0) await slow.promise;
    else throw new Error(`no ${n}`);
    ended.push(n);
  });
  slow.resolve();
  await expect(all).rejects.toThrow('no 1');
  expect(ended).toEqual([0]);
});
