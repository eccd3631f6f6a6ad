import { expect, test } from 'vitest';
import type { ScheduleRow } from '../../core/resources/schedule.ts';
import { html } from './html.ts';
import { nextTimes } from './schedule-words.ts';

const schedule = { enabled: true, cron: '0 * * * *', timezone: 'UTC' } as ScheduleRow;

test.each([
  ['active', /<time/],
  ['paused', /not until the connection is active/],
  ['error', /not until the connection is active/],
] as const)('the next times of a schedule whose connection is %s', async (status, shown) => {
  expect(String(await html`${nextTimes(schedule, status)}`)).toMatch(shown);
});
