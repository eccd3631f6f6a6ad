/** Grants that wait until the org confirms them: its server knows whose browser came back, the provider does not. */
import { generateRandomState } from 'oauth4webapi';
import type { Db } from '../../../db/client.ts';
import { lockConnection } from '../../../db/queries/connections/connections.ts';
import {
  dropPendingGrant,
  findPendingGrants,
  type PendingGrant,
  putPendingGrant,
  putPendingToken,
  usePendingGrant,
} from '../../../db/queries/connections/pending-grants.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { resourceOfSlot, tokenSlot } from '../../connect/token-store.ts';
import type { SealedSecret } from '../../core/crypto/secret-box.ts';
import { AppError, conflict, found } from '../../core/errors.ts';
import { openToken, sealToken } from '../../core/source/auth/sealed-token.ts';
import type { StoredToken, TokenStore } from '../../core/source/auth/token-store.ts';
import type { Deps } from '../../deps.ts';
import type { ActivationReason } from '../connections/activation.ts';
import type { ApplyDeps } from '../schedules/apply.ts';
import { type ExpectedGrant, type GrantDeps, type Grants, openGrants, orConflict } from './grant.ts';
import { revokeUnconfirmed } from './revocation.ts';
import { type Authorized, type ObtainedGrant, storeGrant } from './store-grant.ts';

const pendingSeconds = 600;

interface Kept extends ObtainedGrant {
  readonly connectionId: string;
  /** The connect session that the grant lives as long as; `null`: an API key began it. */
  readonly sessionId: string | null;
}

/**
 * Keeps a grant apart from the connection's own, replacing an earlier waiting one; returns the code that confirms it. Throws
 * not_found (deleted meanwhile).
 */
export async function keepPending(
  deps: GrantDeps,
  scope: OrgScope,
  { connectionId, sessionId, grant, token, newAccount }: Kept,
): Promise<string> {
  const code = generateRandomState();
  const slot = tokenSlot(grant.resourceKey);
  const owner = { orgId: scope.orgId, ownerId: connectionId };
  const replaced = await deps.db.transaction().execute(async (tx) => {
    found(await lockConnection(tx, scope, connectionId), 'Connection');
    const before = await dropPendingGrant(tx, scope, { connectionId, slot });
    await putPendingGrant(tx, scope, {
      connectionId,
      slot,
      codeFingerprint: deps.secretBox.fingerprint(boundCode(scope, connectionId, code)),
      newAccount,
      sessionId,
      sealed: sealToken(deps.secretBox, token, owner, 'pending-grant'),
      ttlSeconds: pendingSeconds,
    });
    return before;
  });
  if (replaced) void revokeUnconfirmed(deps, scope, { connectionId, slot, sealed: replaced });
  return code;
}

interface AtOnce {
  readonly connectionId: string;
  readonly grants: Grants;
  readonly obtained: ObtainedGrant;
  /** Part of the transaction that stores the grant; what it throws undoes all. */
  readonly also?: (tx: Db) => Promise<void>;
}

/** Stores a grant that needs no confirmation, replacing a waiting one; see {@link storeGrant}. */
export async function storeAtOnce(
  deps: GrantDeps & ApplyDeps,
  scope: OrgScope,
  { connectionId, grants, obtained, also }: AtOnce,
): Promise<Authorized> {
  const key = { connectionId, slot: tokenSlot(obtained.grant.resourceKey) };
  let replaced: SealedSecret | null = null;
  const authorized = await storeGrant(deps, scope, {
    connectionId,
    grants,
    async obtain(tx) {
      replaced = await dropPendingGrant(tx, scope, key);
      await also?.(tx);
      return obtained;
    },
  });
  if (replaced) void revokeUnconfirmed(deps, scope, { ...key, sealed: replaced });
  return authorized;
}

export interface Confirmation {
  readonly connectionId: string;
  readonly code: string;
  /** See {@link storeGrant}. */
  readonly reason?: ActivationReason;
}

/**
 * Throws not_found (also for a code of another connection), plan_limit (the grant is stored all the same). Throws conflict
 * (confirmed before, the connection has changed, or another account that was not agreed to).
 */
export async function confirmAuthorization(
  deps: GrantDeps & ApplyDeps,
  scope: OrgScope,
  { connectionId, code, reason }: Confirmation,
): Promise<Authorized> {
  await using grants = await openGrants(deps, scope, connectionId);
  return await storeGrant(deps, scope, {
    connectionId,
    grants,
    ...(reason && { reason }),
    async obtain(tx, expected) {
      const pending = await takePending(deps, tx, scope, { connectionId, code });
      const grant = await orConflict(async () => grants.of(resourceOfSlot(pending.slot)));
      const owner = { orgId: scope.orgId, ownerId: connectionId };
      const token = openToken(deps.secretBox, pending.sealed, owner, 'pending-grant');
      if (token.madeFor !== madeForNow(expected, grant.resourceKey)) throw changedClient();
      return { grant, token, newAccount: pending.newAccount };
    },
  });
}

interface TakenGrant extends PendingGrant {
  readonly sealed: SealedSecret;
}

/** Uses up the code; the caller has locked the connection. */
async function takePending(
  { secretBox }: Pick<Deps, 'secretBox'>,
  tx: Db,
  scope: OrgScope,
  { connectionId, code }: Pick<Confirmation, 'connectionId' | 'code'>,
): Promise<TakenGrant> {
  const bound = boundCode(scope, connectionId, code);
  const waiting = await findPendingGrants(tx, scope, connectionId);
  const pending = waiting.find(({ codeFingerprint }) => secretBox.isFingerprint(codeFingerprint, bound));
  if (!pending) throw unknownCode();
  const { sealed } = pending;
  if (sealed === null) throw usedCode();
  if (!(await usePendingGrant(tx, scope, pending))) throw unknownCode();
  return { ...pending, sealed };
}

/** Grants of a connection that wait for these codes, by slot; those that are over or confirmed are left out. */
export async function waitingGrants(
  deps: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  { connectionId, codes }: { readonly connectionId: string; readonly codes: readonly string[] },
): Promise<ReadonlyMap<string, WaitingGrant>> {
  const { db, secretBox } = deps;
  const owner = { orgId: scope.orgId, ownerId: connectionId };
  const bound = codes.map((code) => boundCode(scope, connectionId, code));
  const waiting = codes.length === 0 ? [] : await findPendingGrants(db, scope, connectionId);
  return new Map(
    waiting.flatMap(({ slot, codeFingerprint, sealed }) => {
      if (!sealed || !bound.some((code) => secretBox.isFingerprint(codeFingerprint, code))) return [];
      let token = openToken(secretBox, sealed, owner, 'pending-grant');
      const save = async (refreshed: StoredToken): Promise<void> => {
        token = refreshed;
        const resealed = sealToken(secretBox, refreshed, owner, 'pending-grant');
        await putPendingToken(db, scope, { connectionId, slot, codeFingerprint, sealed: resealed });
      };
      const store: TokenStore = {
        read: async () => token,
        lease: async () => ({ stored: token, save, release: async () => undefined }),
      };
      return [[slot, { madeFor: token.madeFor, store }]];
    }),
  );
}

export interface WaitingGrant {
  /** See {@link StoredToken}. */
  readonly madeFor: string;
  /** For a test of the connection before the grant counts. */
  readonly store: TokenStore;
}

const madeForNow = (expected: readonly ExpectedGrant[], resourceKey: string | null) =>
  expected.find((one) => one.resourceKey === resourceKey)?.madeFor;

const boundCode = ({ orgId }: OrgScope, connectionId: string, code: string): string =>
  JSON.stringify(['pending-grant', orgId, connectionId, code]);

const advice = 'Start again: GET /api/v1/oauth/:connectionId/authorize.';

const unknownCode = (): AppError =>
  new AppError(
    'not_found',
    `No grant of this connection waits for that code. It may be unknown, replaced by a later one, or older than ${pendingSeconds / 60} minutes. ${advice}`,
  );

const usedCode = (): AppError =>
  conflict('That code was confirmed already: GET /api/v1/connections/:id shows the status of the connection.');

const changedClient = (): AppError =>
  conflict(`The client or the token URL of the connection has changed since the customer agreed. ${advice}`);
