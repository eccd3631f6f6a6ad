import type { Db } from '../../db/client.ts';
import { emptyBucket } from '../../db/queries/connections/buckets.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { Buckets } from './limits-over-buckets.ts';
import { createPrefetchedTokens } from './prefetched-tokens.ts';

/** In the database, so that they hold across processes; for one client of a run. */
export function createDatabaseBuckets(db: Db, scope: OrgScope): Buckets {
  const tokens = createPrefetchedTokens(db, scope);
  return {
    take: (rate, waitMsMax) => tokens.take(rate, waitMsMax),
    async empty(rate, waitMs) {
      tokens.clear();
      await emptyBucket(db, scope, { rate, waitMs });
    },
  };
}
