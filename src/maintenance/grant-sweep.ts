import { type DeadGrant, takeDeadGrants } from '../../db/queries/connections/pending-grants.ts';
import { orgScope } from '../../db/scope.ts';
import type { GrantDeps } from '../control/oauth/grant.ts';
import { revokeUnconfirmed } from '../control/oauth/revocation.ts';
import { createTurns } from '../core/work/turns.ts';

const rowsMax = 200;
/** Concurrent revocations, in all and per org: a provider may be slow. */
const revokedAtOnce = { max: 16, maxEach: 4 };

/** Revokes grants that were not confirmed in time; the round does not wait for the providers. */
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
