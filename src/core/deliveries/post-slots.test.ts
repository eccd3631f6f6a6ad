import { expect, it } from 'vitest';
import { createPostSlots } from './post-slots.ts';

it('gives out no more places than there are, and whoever waits gets what is given back', async () => {
  const slots = createPostSlots(3);
  expect(await slots.take(2)).toBe(2);
  expect(await slots.take(5)).toBe(1);
  const order: string[] = [];
  const first = slots.take(2).then((taken) => order.push(`first ${taken}`));
  const second = slots.take(1).then((taken) => order.push(`second ${taken}`));
  await Promise.resolve();
  expect(order).toEqual([]);
  slots.give(1);
  await first;
  expect(order).toEqual(['first 1']);
  slots.give(1);
  await second;
  expect(order).toEqual(['first 1', 'second 1']);
});
