import { type DeadGrant, takeDeadGrants } from '../../db/queries/connections/pending-grants.ts';
import { orgScope } from '../../db/scope.ts';
import type { GrantDeps } from '../control/oauth/grant.ts';
import { revokeUnconfirmed } from '../control/oauth/revocation.ts';
import { createTurns } from '../core/work/turns.ts';

/** Grants removed in one round. */
const rowsMax = 200;
/** Grants that are revoked at the same moment, and those of one org: a provider may be slow. */
const revokedAtOnce = { max: 16, maxEach: 4 };

/**
 * A sweeper that removes grants that nobody confirmed in time, and revokes them at their providers. The round does not
 * wait for those.
 */
export function createGrantSweep(deps: GrantDeps): () => Promise<void> {
  const turns = createTurns(revokedAtOnce);
  const revoke = async ({ orgId, connectionId, slot, sealed }: DeadGrant): Promise<void> => {
    if (!sealed) return;
    const giveBack = await turns.take(orgId);
    await revokeUnconfirmed(deps, orgScope(orgId), { connectionId, slot, sealed });
    giveBack();
  };
  return async () => {
    for (const dead of await takeDeadGrants(deps.db, rowsMax)) void revoke(dead);
  };
}
