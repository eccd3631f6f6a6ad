import type { AddressedRun } from '../../db/queries/runs/firings.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { SyncRunInput } from '../../workflows/contract.ts';

/** The input of the workflow of a run, from which the id of the workflow follows. */
export function runInput(
  { orgId }: OrgScope,
  { id: runId, connectionId, resourceKey, scheduleId, scheduledFor }: AddressedRun,
): SyncRunInput {
  const run = { orgId, connectionId, resourceKey, runId };
  return scheduleId === null || scheduledFor === null ? run : { ...run, firing: { scheduleId, scheduledFor } };
}

/** The firing of a run that no schedule created. */
export const noFiring = { scheduleId: null, scheduledFor: null } as const;
