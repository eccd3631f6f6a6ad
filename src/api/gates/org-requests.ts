import { requestOf } from '../../../db/org-turns.ts';
import { createOrgSlots } from '../../core/work/org-slots.ts';
import { workOf } from '../../core/work-ids.ts';

/** Does the requests of each org. Each process counts for itself, in memory. */
export interface OrgRequests {
  /**
   * Does the work of one request, whose statements take their turn with those of other orgs. It waits while the org has as
   * many requests in progress as it may have.
   */
  run<Result>(orgId: string, work: () => Promise<Result>): Promise<Result>;
}

/** The requests of one org in progress. Each may hold a body of 1 MiB that arrives slowly; one that waits holds none. */
const requestsMax = 200;

/** Starts with no request in progress. */
export function createOrgRequests(): OrgRequests {
  const slots = createOrgSlots(Number.POSITIVE_INFINITY, requestsMax);
  return { run: (orgId, work) => slots.run(orgId, () => workOf({ orgId }, () => requestOf(orgId, work))) };
}
