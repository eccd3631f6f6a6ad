import { expect, it } from 'vitest';
import { loadConfig } from '../../config/config.ts';
import { retryDelayMs } from './retry-delay.ts';

const { webhookRetryScheduleSeconds: usual } = loadConfig({});

it('an event is tried 12 times over 75.6 hours unless the operator says otherwise', () => {
  const delays = Array.from({ length: 12 }, (_, n) => retryDelayMs(n + 1, usual, () => 0.5));
  expect(delays.slice(0, 4)).toEqual([5000, 30_000, 120_000, 300_000]);
  expect(delays.at(-1)).toBeNull();
  expect(delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0)).toBe(272_255_000);
});

it('each delay is up to a fifth shorter or longer', () => {
  expect(retryDelayMs(1, [10], () => 0)).toBe(8000);
  expect(retryDelayMs(1, [10], () => 0.999_999)).toBe(12_000);
});
