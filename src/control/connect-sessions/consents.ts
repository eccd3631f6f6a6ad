/** The consents at a provider that a session needs. */
import type { OrgScope } from '../../../db/scope.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { authorizableOf } from '../../core/spec/connection/grants.ts';
import { expectedGrants, type GrantDeps, missingGrants, openGrants } from '../oauth/grant.ts';
import { type WaitingGrant, waitingGrants } from '../oauth/pending.ts';
import type { OpenedSession } from './open-session.ts';

export interface Consents {
  readonly needed: number;
  /** Resources whose consent is missing, with `null` for the connection. */
  readonly missing: readonly (string | null)[];
  /** Those that wait to be stored, by slot. */
  readonly waiting: ReadonlyMap<string, WaitingGrant>;
}

const none: Consents = { needed: 0, missing: [], waiting: new Map() };

/** Throws conflict when the values do not fit the spec. */
export async function consentsOf(
  deps: GrantDeps,
  scope: OrgScope,
  { session, held, spec, connection, values }: OpenedSession,
): Promise<Consents> {
  const { length: needed } = authorizableOf(spec);
  if (needed === 0) return none;
  if (!connection) return { ...none, needed, missing: authorizableOf(spec).map(({ resourceKey }) => resourceKey) };
  const { id: connectionId } = connection;
  await using grants = await openGrants(deps, scope, connectionId, values);
  const expected = await expectedGrants(grants);
  const codes = Object.values(held.codes).filter((code) => code !== null);
  const waiting = await waitingGrants(deps, scope, { connectionId, codes });
  const stored = new Set(await missingGrants(deps, deps.db, scope, { connectionId, expected }));
  const missing = expected.flatMap(({ resourceKey, madeFor }) => {
    const slot = tokenSlot(resourceKey);
    const isWaiting = madeFor !== null && waiting.get(slot)?.madeFor === madeFor;
    const isStored = !stored.has(resourceKey) && (!(session.authorizes || held.isMoved) || held.codes[slot] === null);
    return isWaiting || isStored ? [] : [resourceKey];
  });
  return { needed, missing, waiting };
}
