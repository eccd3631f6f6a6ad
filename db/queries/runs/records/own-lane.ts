import { type RawBuilder, sql } from 'kysely';
import type { OrgScope } from '../../../scope.ts';

/** Fingerprints have no org of their own, so every query of them finds the lane with this. */
export const ownLane = ({ orgId }: OrgScope, laneId: number): RawBuilder<number> =>
  sql<number>`(select id from lanes where org_id = ${orgId} and id = ${laneId})`;
