import { requestOf } from '../../../db/org-turns.ts';
import { createOrgSlots } from '../../core/work/org-slots.ts';
import { workOf } from '../../core/work-ids.ts';
import { HttpRejection } from '../errors.ts';
import { createInProgress } from './in-progress.ts';

/** Runs the requests of each org, in memory per process. */
export interface OrgRequests {
  /**
   * Takes turns with other orgs by statement, and waits while the org is at its limit. Throws an {@link HttpRejection} 429 with
   * `Retry-After` when too many wait.
   */
  run<Result>(orgId: string, work: () => Promise<Result>): Promise<Result>;
}

/** Each may hold a body of 1 MiB that arrives slowly; a waiting one holds none. */
const requestsMax = 200;
/** Each holds some 15 kB. */
const waitingMax = 1000;

export function createOrgRequests(): OrgRequests {
  const slots = createOrgSlots(Number.POSITIVE_INFINITY, requestsMax);
  const all = createInProgress(requestsMax + waitingMax, tooManyWait);
  return {
    async run(orgId, work) {
      const end = all.begin(orgId);
      try {
        return await slots.run(orgId, () => workOf({ orgId }, () => requestOf(orgId, work)));
      } finally {
        end();
      }
    },
  };
}

const tooManyWait = (): HttpRejection =>
  new HttpRejection(
    'rate_limited',
    `Your org has ${requestsMax} requests in progress, and ${waitingMax} more wait for them: send this one again after a second, as Retry-After says.`,
    { headers: { 'retry-after': '1' } },
  );
