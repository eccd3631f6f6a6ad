import { expect, it } from 'vitest';
import { createLendableSlots } from '../src/temporal/worker-slots.ts';
import { watchMovement } from './movement.ts';

/** A chunk in the only slot of a worker, and its clock in milliseconds. */
function chunk() {
  const slots = createLendableSlots(1);
  let nowMs = 1000;
  const movement = watchMovement(slots, () => nowMs);
  const checkAt = (ms: number): number => {
    nowMs = 1000 + ms;
    movement.check();
    return slots.counts().lent;
  };
  return { slots, movement, checkAt };
}

it('a chunk keeps its slot for 10 s without progress, and lends it then, once', () => {
  const { checkAt } = chunk();
  expect(checkAt(9999)).toBe(0);
  expect(checkAt(10_000)).toBe(1);
  expect(checkAt(60_000)).toBe(1);
});

it('a chunk takes its slot back as soon as it makes progress, and the 10 s begin again', () => {
  const { slots, movement, checkAt } = chunk();
  checkAt(12_000);
  movement.moved();
  expect(slots.counts().lent).toBe(0);
  expect(checkAt(21_999)).toBe(0);
  expect(checkAt(22_000)).toBe(1);
});

it('a chunk that ends while its slot is lent takes it back, so that no slot is counted twice', () => {
  const { slots, movement, checkAt } = chunk();
  checkAt(10_000);
  movement[Symbol.dispose]();
  expect(slots.counts().lent).toBe(0);
  movement[Symbol.dispose]();
  expect(slots.counts().lent).toBe(0);
});
