import type { Db } from '../../../db/client.ts';
import {
  lockActiveConnectionsMax,
  lockConnection,
  noteNewAccess,
  putAccounts,
} from '../../../db/queries/connections/connections.ts';
import { replaceToken } from '../../../db/queries/connections/tokens.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { type AppError, conflict, found } from '../../core/errors.ts';
import { sealToken } from '../../core/source/auth/sealed-token.ts';
import type { StoredToken } from '../../core/source/auth/token-store.ts';
import { type Authorizable, keepAliveSeconds } from '../../core/spec/connection/grants.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { type ActivationReason, activateWithin, recordActivation } from '../connections/activation.ts';
import { cancelWorkflows } from '../runs/runs.ts';
import { type ApplyDeps, applySchedulesOf } from '../schedules/apply.ts';
import { forgetAccount, matchAccount, withAccount } from './accounts.ts';
import { type ExpectedGrant, expectedGrants, type GrantDeps, type Grants, missingGrants } from './grant.ts';

export interface Authorized {
  readonly connected: true;
  readonly connectionId: string;
  /** Missing authorizations by resource, with `null` for the connection; absent if complete. */
  readonly awaiting?: (string | null)[];
}

export interface ObtainedGrant {
  readonly grant: Authorizable;
  readonly token: StoredToken;
  /** True if it may be of another account than the stored one. */
  readonly newAccount: boolean;
}

interface StoreOptions {
  readonly connectionId: string;
  readonly grants: Grants;
  /** Reads the grant in the transaction that stores it, after the connection is locked. */
  readonly obtain: (tx: Db, expected: readonly ExpectedGrant[]) => Promise<ObtainedGrant>;
  /** Why the connection becomes active; `oauth` by default. */
  readonly reason?: ActivationReason;
}

/**
 * Activates the connection unless another authorization is missing. Throws conflict (another account, which was not agreed
 * to), plan_limit (the grant is stored all the same), not_found, and errors of `obtain`.
 */
export async function storeGrant(
  deps: GrantDeps & ApplyDeps,
  scope: OrgScope,
  { connectionId, grants, obtain, reason = 'oauth' }: StoreOptions,
): Promise<Authorized> {
  const expected = await expectedGrants(grants);
  const { stopped, resourceKey } = await deps.db.transaction().execute(async (tx) => {
    const { accounts } = found(await lockConnection(tx, scope, connectionId), 'Connection');
    const { grant, token, newAccount } = await obtain(tx, expected);
    const match = await matchAccount(deps, tx, scope, { connectionId, grant, token });
    if (match === 'other' && !newAccount) throw otherAccount();
    const sealed = sealToken(deps.secretBox, token, { orgId: scope.orgId, ownerId: connectionId });
    await replaceToken(tx, scope, {
      connectionId,
      slot: tokenSlot(grant.resourceKey),
      sealed,
      keepAliveSeconds: token.refreshToken === null ? null : keepAliveSeconds(grant.auth),
    });
    await noteNewAccess(tx, scope, connectionId);
    await putAccounts(tx, scope, { id: connectionId, accounts: withAccount(accounts, grant, token, grants.secrets) });
    const { resourceKey: ofResource } = grant;
    if (match === 'same' || !newAccount) return { stopped: [], resourceKey: ofResource };
    const resourceKeys = grants.readersOf(grant);
    return { stopped: await forgetAccount(tx, scope, { connectionId, resourceKeys }), resourceKey: ofResource };
  });
  await cancelWorkflows(deps, scope, stopped);
  // A separate transaction keeps the grant if the plan allows no other active connection.
  const awaiting = await deps.db.transaction().execute(async (tx) => {
    // Locks in the order of an activation. The later of two simultaneous authorizations sees the other's token.
    await lockActiveConnectionsMax(tx, scope);
    found(await lockConnection(tx, scope, connectionId), 'Connection');
    const missing = await missingGrants(deps, tx, scope, { connectionId, expected });
    if (missing.length > 0) return missing;
    const activation = await activateWithin(tx, scope, connectionId);
    await recordActivation(tx, scope, { ...activation, reason });
    return missing;
  });
  deps.log.info('connection authorized', { orgId: scope.orgId, connectionId, resourceKey, awaiting: awaiting.length });
  void wakeEndpoints(deps, scope);
  await applySchedulesOf(deps, scope, connectionId);
  return { connected: true, connectionId, ...(awaiting.length === 0 ? {} : { awaiting }) };
}

const otherAccount = (): AppError =>
  conflict(
    'The customer signed in to another account of the provider than before, so nothing was changed. Authorize again with ?newAccount=true if that is meant: everything is then read from the start.',
  );
