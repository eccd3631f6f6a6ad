import type { OrgScope } from '../../db/scope.ts';

/** A run as its row has it; nulls: no schedule made it. */
export interface AddressedRun {
  readonly id: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly scheduleId: string | null;
  readonly scheduledFor: string | null;
}

/** The firing that made the run; `scheduledFor` is ISO 8601. */
export interface FiringOfRun {
  readonly scheduleId: string;
  readonly scheduledFor: string;
}

/** The input of the workflow of a run, from which its id follows. */
interface RunInput {
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly runId: string;
  readonly firing?: FiringOfRun;
}

/** Addresses the workflow of a run. */
export function runInput(
  { orgId }: OrgScope,
  { id: runId, connectionId, resourceKey, scheduleId, scheduledFor }: AddressedRun,
): RunInput {
  const run = { orgId, connectionId, resourceKey, runId };
  return scheduleId === null || scheduledFor === null ? run : { ...run, firing: { scheduleId, scheduledFor } };
}

/** The firing of a run that no schedule made. */
export const noFiring = { scheduleId: null, scheduledFor: null } as const;
