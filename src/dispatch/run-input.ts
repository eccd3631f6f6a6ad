import type { AddressedRun } from '../../db/queries/runs/firings.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { SyncRunInput } from '../../workflows/contract.ts';

/** The input of a run's workflow, which determines the workflow id. */
export function runInput(
  { orgId }: OrgScope,
  { id: runId, connectionId, resourceKey, scheduleId, scheduledFor }: AddressedRun,
): SyncRunInput {
  const run = { orgId, connectionId, resourceKey, runId };
  return scheduleId === null || scheduledFor === null ? run : { ...run, firing: { scheduleId, scheduledFor } };
}

export const noFiring = { scheduleId: null, scheduledFor: null } as const;
