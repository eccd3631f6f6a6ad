import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTaskGroup } from './task-group.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

it('counts work from when it is added until it ends, also when it fails', async () => {
  const group = createTaskGroup();
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  group.add(one.promise);
  group.add(two.promise);
  expect(group.size()).toBe(2);
  one.reject(new Error('receiver closed'));
  await group.next(60_000);
  expect(group.size()).toBe(1);
  two.resolve();
  await group.next(60_000);
  expect(group.size()).toBe(0);
});

it('whoever waits for the next end goes on at the first of several, and leaves no timer', async () => {
  const group = createTaskGroup();
  const { promise: slow } = Promise.withResolvers<void>();
  const fast = Promise.withResolvers<void>();
  group.add(slow);
  group.add(fast.promise);
  const next = group.next(60_000);
  fast.resolve();
  await next;
  expect(group.size()).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

it('an end that was before the wait does not end it', async () => {
  const group = createTaskGroup();
  group.add(Promise.resolve());
  await group.all();
  const ended = vi.fn<() => void>();
  const next = group.next(250).then(ended);
  await vi.advanceTimersByTimeAsync(249);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await next;
});

it('the first failure is thrown once all work has ended, and not before', async () => {
  const group = createTaskGroup();
  const last = Promise.withResolvers<void>();
  group.add(Promise.reject(new Error('first')));
  group.add(Promise.reject(new Error('second')));
  group.add(last.promise);
  const ended = vi.fn<() => void>();
  const all = group.all().finally(ended);
  all.catch(() => undefined);
  await turn();
  expect(group.size()).toBe(1);
  expect(ended).not.toHaveBeenCalled();
  last.resolve();
  await expect(all).rejects.toThrow('first');
});

it('a failure that is no error, such as undefined, is thrown too', async () => {
  const group = createTaskGroup();
  group.add(Promise.reject(undefined));
  await expect(group.all()).rejects.toBeUndefined();
});
