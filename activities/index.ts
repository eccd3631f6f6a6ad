/**
 * The steps of workflows that have effects. An activity gets ids and returns ids and counts, so no record and no secret
 * enters a history. This room belongs to Temporal and the control database; the sync itself is in `src/core`.
 */

import type { Deps } from '../src/deps.ts';
import type { Slots } from '../src/temporal/worker-slots.ts';
import { createInboundHookActivities } from './inbound-hooks.ts';
import { createRunActivities } from './run-lifecycle.ts';
import { createRunOfFiring, createScheduleActivities } from './schedules.ts';
import { createSyncActivities } from './sync-pages.ts';
import { createWebhookActivities } from './webhooks.ts';

/** Each activity is safe to run twice; its comment says why, and which test proves it. */
export const createActivities = (deps: Deps, slots: Slots) => ({
  ...createRunActivities(deps),
  ...createScheduleActivities(deps),
  ...createInboundHookActivities(deps),
  ...createSyncActivities(deps, slots, createRunOfFiring),
  ...createWebhookActivities(deps),
});

export type Activities = ReturnType<typeof createActivities>;
