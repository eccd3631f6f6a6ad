import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { AppError } from '../src/core/errors.ts';
import type { Deps } from '../src/deps.ts';
import { createLog } from '../src/log.ts';
import { createSyncActivities } from './sync-pages.ts';

const input = { orgId: 'org_1', connectionId: 'con_1', resourceKey: 'items', scheduleId: 'sch_1' };
const scheduledFor = '2026-01-01T00:01:00.000Z';

/** What the first step of a firing throws and logs whose run cannot be created for this reason. */
async function firingThatFails(reason: Error) {
  const lines: string[] = [];
  const log = createLog({ level: 'info', name: 'test', destination: { write: (line) => void lines.push(line) } });
  // Nothing else of them is reached without a run.
  const deps = { log } satisfies Partial<Deps> as unknown as Deps;
  const slots = { lend: () => () => undefined, tryTake: () => null };
  const { fireHere } = createSyncActivities(deps, slots, () => Promise.reject(reason));
  const thrown: unknown = await fireHere(input, scheduledFor, 0).catch((error: unknown) => error);
  return { thrown, lines };
}

it.each([
  {
    what: 'an error of this service',
    reason: new AppError('spec_invalid', 'The spec has no resource "items".'),
    failure: { type: 'spec_invalid', message: 'The spec has no resource "items".', nonRetryable: true },
  },
  {
    what: 'an error of the database',
    reason: new TypeError('duplicate key (email)=(a@b.c)'),
    failure: { type: 'internal', message: 'Unexpected error; see the log of the worker.', nonRetryable: false },
  },
])('a firing whose run cannot be created logs $what and throws it in the form of a history', async (given) => {
  const { thrown, lines } = await firingThatFails(given.reason);
  expect(thrown).toBeInstanceOf(ApplicationFailure);
  expect(thrown).toMatchObject(given.failure);
  expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
    {
      level: 'error',
      message: 'scheduled run not created',
      ...input,
      scheduledFor,
      error: { type: given.reason.name },
    },
  ]);
  expect(lines.join('') + JSON.stringify(thrown)).not.toContain('a@b.c');
});

it('a firing that is canceled throws the cancel itself and logs nothing', async () => {
  const cancel = new CancelledFailure('CANCELLED');
  expect(await firingThatFails(cancel)).toEqual({ thrown: cancel, lines: [] });
});
