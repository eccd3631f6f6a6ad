import { expect, it } from 'vitest';
import type { RunWait } from '../../control/runs/waits.ts';
import { html } from '../parts/html.ts';
import { waitWords } from './run-wait.ts';

const queued: RunWait = {
  ...{ id: 'run_2', connectionId: 'con_1', resourceKey: 'contacts', scheduleId: null, scheduledFor: null },
  ...{ status: 'queued', isDispatched: true, before: null, runsBefore: 0 },
  ...{ ofConnection: 0, concurrentMax: 4, ofOrg: 1, runsAtOnce: 10, watch: null },
};
const before = { id: 'run_1', resourceKey: 'deals' };
const activity = { attempt: 1, isStarted: true, nextTryAt: null };
const running = (watch: RunWait['watch']): RunWait => ({ ...queued, status: 'running', watch });
const soon = new Date(Date.now() + 12_500).toISOString();

it.each([
  ['Waits for a run of deals to end.', { ...queued, before, runsBefore: 1 }],
  ['Waits for a run of deals and 2 others to end.', { ...queued, before, runsBefore: 3 }],
  ['its API allows 4 runs at once.', { ...queued, ofConnection: 4 }],
  ['10 runs of the org may run at once.', { ...queued, ofOrg: 10 }],
  ['Temporal has not taken it yet', { ...queued, isDispatched: false }],
  ['Begins in a moment.', queued],
  ['Waits for a free slot', { ...queued, watch: { isPaused: false, activity: { ...activity, isStarted: false } } }],
  ['Works with the API.', running({ isPaused: false, activity })],
  ['Attempt 3 works with the API.', running({ isPaused: false, activity: { ...activity, attempt: 3 } })],
  [
    'Attempt 2 failed; the next one begins in 12 seconds.',
    running({ isPaused: false, activity: { attempt: 3, isStarted: false, nextTryAt: soon } }),
  ],
  ['Pauses until', running({ isPaused: true, activity: null })],
] as const)('a run says: %s', async (words, wait) => {
  expect(String(await html`${waitWords(wait)}`).replaceAll(/<[^>]+>/g, '')).toContain(words);
});

it('a run of which nothing is known says nothing', () => {
  expect([waitWords(undefined), waitWords(running(null))]).toEqual([null, null]);
});
