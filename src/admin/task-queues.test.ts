import { expect, it } from 'vitest';
import { buildsThatPoll } from './task-queues.ts';

it('workers count while they poll, and no longer when Temporal lists what they did minutes ago', () => {
  const nowMs = Date.parse('2026-03-01T08:30:00Z');
  const polled = (secondsAgo: number, buildId?: string) => ({
    lastAccessTime: { seconds: nowMs / 1000 - secondsAgo },
    deploymentOptions: { buildId },
  });
  expect(buildsThatPoll([polled(1), polled(62, '1.0'), polled(120, '0.9'), {}], nowMs)).toEqual([null, '1.0']);
});
