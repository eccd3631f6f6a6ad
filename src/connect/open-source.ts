import type { OrgScope } from '../../db/scope.ts';
import type { TokenStore } from '../core/source/auth/token-store.ts';
import { keepAliveSeconds } from '../core/spec/connection/grants.ts';
import type { Deps } from '../deps.ts';
import { assembleSource, type OpenedSource, type SourceOptions, type SourcePorts } from './assemble-source.ts';
import { createDatabaseBuckets } from './database-buckets.ts';
import { appsOf } from './oauth-apps.ts';
import { createTokenStore, tokenSlot } from './token-store.ts';

export type { OpenedSource } from './assemble-source.ts';

/** Takes the place of a stored token, to try one that does not count yet. */
export interface TrialToken {
  /** The resource with its own auth, or `null` for the auth of the spec. */
  readonly resourceKey: string | null;
  readonly store: TokenStore;
}

/** Sends nothing yet; throws `auth_failed` when a secret is empty, and `spec_invalid`. */
export function openSource(
  deps: Pick<Deps, 'db' | 'secretBox' | 'egress' | 'evaluators'> & Pick<SourcePorts, 'socketCache' | 'decodeTurns'>,
  scope: OrgScope,
  { token, ...options }: SourceOptions & { readonly token?: TrialToken },
): Promise<OpenedSource> {
  const { connectionId } = options;
  return assembleSource(
    {
      egress: deps.egress,
      socketCache: deps.socketCache,
      decodeTurns: deps.decodeTurns,
      evaluator: deps.evaluators.forOrg(scope.orgId),
      openBuckets: () => createDatabaseBuckets(deps.db, scope),
      apps: appsOf(deps, deps.db, scope, connectionId),
      openTokenStore: (resourceKey, auth) =>
        token && token.resourceKey === resourceKey
          ? token.store
          : createTokenStore(deps, scope, { connectionId, slot: tokenSlot(resourceKey) }, keepAliveSeconds(auth)),
    },
    options,
  );
}
