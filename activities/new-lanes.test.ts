import { expect, it } from 'vitest';
import { createNewLanes } from './new-lanes.ts';

const attempt = (laneId: number, fence: number, fenceBefore = fence - 1) => ({ laneId, fence, fenceBefore });

it('keeps the noted ids of a new lane from chunk to chunk', () => {
  const lanes = createNewLanes();
  const ids = lanes.take(attempt(1, 10), true);
  expect(ids?.note('a')).toBe(false);
  expect(lanes.take(attempt(1, 11), false)).toBe(ids);
  expect(lanes.take(attempt(1, 15, 11), false)).toBe(ids);
});

it('leaves it to the database once another attempt may have stored something', () => {
  const lanes = createNewLanes();
  lanes.take(attempt(1, 10), true);
  expect(lanes.take(attempt(1, 12, 11), false)).toBeNull();
  expect(lanes.take(attempt(1, 13), false)).toBeNull();
});

it('leaves it to the database where the lane was not new, or the run was read to its end', () => {
  const lanes = createNewLanes();
  expect(lanes.take(attempt(1, 10), false)).toBeNull();
  lanes.take(attempt(2, 10), true);
  lanes.leave(2);
  expect(lanes.take(attempt(2, 11), false)).toBeNull();
});

it('begins anew with a lane that is new again', () => {
  const lanes = createNewLanes();
  lanes.take(attempt(1, 10), true)?.note('a');
  expect(lanes.take(attempt(1, 11), true)?.note('a')).toBe(false);
});

it('keeps the latest eight', () => {
  const lanes = createNewLanes();
  for (let laneId = 1; laneId <= 9; laneId += 1) lanes.take(attempt(laneId, 10), true);
  expect(lanes.take(attempt(1, 11), false)).toBeNull();
  expect(lanes.take(attempt(2, 11), false)).not.toBeNull();
});
