import { requestOf } from '../../../db/org-turns.ts';
import { HttpRejection } from '../errors.ts';
import { createInProgress } from './in-progress.ts';

/** Does the requests of each org. Each process counts for itself, in memory. */
export interface OrgRequests {
  /**
   * Does the work of one request, whose statements take their turn with those of other orgs. Throws an
   * {@link HttpRejection} 429 with `Retry-After`, and begins nothing, when the org has reached its limit.
   */
  run<Result>(orgId: string, work: () => Promise<Result>): Promise<Result>;
}

/** The requests of one org at once. Each may hold a body of 1 MiB that arrives slowly. */
const requestsMax = 200;

/** Starts with no request in progress. */
export function createOrgRequests(): OrgRequests {
  const counter = createInProgress(requestsMax, tooManyAtOnce);
  return {
    async run(orgId, work) {
      const end = counter.begin(orgId);
      try {
        return await requestOf(orgId, work);
      } finally {
        end();
      }
    },
  };
}

const tooManyAtOnce = (): HttpRejection =>
  new HttpRejection(
    'rate_limited',
    `Your org has ${requestsMax} requests in progress. Send this one again after a second, as Retry-After says.`,
    { headers: { 'retry-after': '1' } },
  );
