import { type RawBuilder, sql } from 'kysely';
import type { OrgScope } from '../../../scope.ts';

/** The id of a lane if it is of the org, as SQL. Fingerprints have no org of their own: every query of them uses it. */
export const ownLane = ({ orgId }: OrgScope, laneId: number): RawBuilder<number> =>
  sql<number>`(select id from lanes where org_id = ${orgId} and id = ${laneId})`;
