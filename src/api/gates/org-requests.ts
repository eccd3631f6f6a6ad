import { requestOf } from '../../../db/org-turns.ts';
import { createOrgSlots } from '../../core/work/org-slots.ts';
import { workOf } from '../../core/work-ids.ts';

/** Runs the requests of each org, in memory per process. */
export interface OrgRequests {
  /** Takes turns with other orgs by statement, and waits while the org is at its limit. */
  run<Result>(orgId: string, work: () => Promise<Result>): Promise<Result>;
}

/** Each may hold a body of 1 MiB that arrives slowly; a waiting one holds none. */
const requestsMax = 200;

export function createOrgRequests(): OrgRequests {
  const slots = createOrgSlots(Number.POSITIVE_INFINITY, requestsMax);
  return { run: (orgId, work) => slots.run(orgId, () => workOf({ orgId }, () => requestOf(orgId, work))) };
}
