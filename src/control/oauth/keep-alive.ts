/** Refresh tokens lapse at many providers when nothing uses them for long, as in a paused connection. */
import { recordConnectionEvents } from '../../../db/queries/connections/connection-events.ts';
import { lockConnection } from '../../../db/queries/connections/connections.ts';
import { putInError } from '../../../db/queries/connections/retests.ts';
import { type DueToken, endKeepAlive } from '../../../db/queries/connections/tokens.ts';
import { noteStatusChange } from '../../../db/queries/schedules.ts';
import { type OrgScope, orgScope } from '../../../db/scope.ts';
import { createTokenStore, resourceOfSlot } from '../../connect/token-store.ts';
import { AppError } from '../../core/errors.ts';
import { connectionFailed, connectionReauthRequired } from '../../core/events/connection-events.ts';
import { newId } from '../../core/ids.ts';
import { grantKey, refreshGrant } from '../../core/source/auth/authorization-code.ts';
import { createSharedTokens } from '../../core/source/auth/shared-tokens.ts';
import { keepAliveSeconds } from '../../core/spec/connection/grants.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { type GrantDeps, openGrants } from './grant.ts';

export type KeepAliveDeps = GrantDeps & WakeDeps;

/** A run waits as long for its token. */
const refreshMsMax = 60_000;

/**
 * A refused token is not tried again, and an active connection goes to `error`, as after a run. Throws what the provider fails
 * with otherwise; the token is then due again in an hour.
 */
export async function keepTokenAlive(deps: KeepAliveDeps, { orgId, ...key }: DueToken): Promise<void> {
  const scope = orgScope(orgId);
  const { connectionId } = key;
  const resourceKey = resourceOfSlot(key.slot);
  await using grants = await openGrants(deps, scope, connectionId);
  const { context } = grants;
  const auth = grants.all.find((one) => one.resourceKey === resourceKey)?.auth;
  const seconds = auth ? keepAliveSeconds(auth) : null;
  const store = createTokenStore(deps, scope, key, seconds);
  const stored = await store.read();
  if (!auth || seconds === null || !stored || stored.refreshToken === null) {
    await endKeepAlive(deps.db, scope, key);
    return;
  }
  try {
    const madeFor = await grantKey(auth, context.values);
    // A grant of another client is of no use to a run either.
    if (stored.madeFor !== madeFor) {
      await endKeepAlive(deps.db, scope, key);
      return;
    }
    const request: Parameters<typeof createSharedTokens>[0]['request'] = (previous) =>
      refreshGrant(auth, previous, { ...context, resourceKey });
    const { now, values } = context;
    const tokens = createSharedTokens({ store, request, madeFor, bufferMs: 0, mask: (text) => values.mask(text), now });
    await tokens.refresh(AbortSignal.timeout(refreshMsMax), stored);
    deps.log.info('unused token refreshed', { orgId, connectionId, resourceKey });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'auth_failed') throw error;
    const [reader = ''] = grants.readersOf({ resourceKey });
    const { provider } = grants;
    await noteRefusal(deps, scope, { ...key, error, provider, resourceKey: reader, accessToken: stored.accessToken });
  }
}

interface Refusal extends Omit<DueToken, 'orgId'> {
  readonly error: AppError;
  /** Where the customer would authorize again. */
  readonly provider: string;
  /** A resource that is read with the token. */
  readonly resourceKey: string;
  /** The one that was to be replaced. */
  readonly accessToken: string;
}

async function noteRefusal(
  deps: KeepAliveDeps,
  scope: OrgScope,
  { error, provider, resourceKey, accessToken, ...key }: Refusal,
): Promise<void> {
  const { connectionId: id } = key;
  const { code, message, needsConsent } = error;
  const failure = { code, message };
  const isBroken = await deps.db.transaction().execute(async (tx) => {
    // A customer who authorizes again meanwhile holds this lock.
    await lockConnection(tx, scope, id);
    const store = createTokenStore({ ...deps, db: tx }, scope, key);
    if ((await store.read())?.accessToken !== accessToken) return false;
    if (needsConsent) await endKeepAlive(tx, scope, key);
    if (!(await putInError(tx, scope, { id, error: { ...failure, resourceKey }, isTested: !needsConsent })))
      return false;
    await noteStatusChange(tx, scope, { connectionId: id });
    const deduplicationId = newId('evt');
    await recordConnectionEvents(tx, scope, id, (connection) => [
      connectionFailed({ connection, error: failure, deduplicationId }),
      ...(needsConsent ? [connectionReauthRequired({ connection, provider, error: failure, deduplicationId })] : []),
    ]);
    return true;
  });
  deps.log.info('unused token refused by the provider', { orgId: scope.orgId, connectionId: id, isBroken });
  if (isBroken) await wakeEndpoints(deps, scope);
}
