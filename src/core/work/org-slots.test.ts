import { expect, it } from 'vitest';
import { createOrgSlots } from './org-slots.ts';

it('gives out no more places than there are, and whoever waits gets what is given back, orgs in turn', async () => {
  const slots = createOrgSlots(4);
  expect(await slots.take('a', 2)).toBe(2);
  expect(await slots.take('b', 5)).toBe(2);
  const order: string[] = [];
  const waiting = ['c', 'c', 'd'].map((org) => slots.take(org, 1).then(() => order.push(org)));
  await Promise.resolve();
  expect(order).toEqual([]);
  slots.give('a', 1);
  slots.give('a', 1);
  await Promise.all([waiting[0], waiting[2]]);
  expect(order).toEqual(['c', 'd']);
  slots.give('b', 1);
  await waiting[1];
  expect(order).toEqual(['c', 'd', 'c']);
});

it('leaves half of the places to other orgs', async () => {
  const slots = createOrgSlots(4);
  expect(await slots.take('silent', 10)).toBe(2);
  const order: string[] = [];
  const next = slots.take('silent', 10).then((taken) => order.push(`silent ${taken}`));
  expect(await slots.take('other', 1)).toBe(1);
  await Promise.resolve();
  expect(order).toEqual([]);
  slots.give('silent', 1);
  await next;
  expect(order).toEqual(['silent 1']);
});
