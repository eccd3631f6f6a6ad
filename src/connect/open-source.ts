import type { OrgScope } from '../../db/scope.ts';
import type { TokenStore } from '../core/source/auth/token-store.ts';
import { keepAliveSeconds } from '../core/spec/connection/grants.ts';
import type { Deps } from '../deps.ts';
import { assembleSource, type OpenedSource, type SourceOptions, type SourcePorts } from './assemble-source.ts';
import { createDatabaseBuckets } from './database-buckets.ts';
import { appsOf } from './oauth-apps.ts';
import { createTokenStore, tokenSlot } from './token-store.ts';

export type { OpenedSource } from './assemble-source.ts';

/** Sends nothing yet; throws `auth_failed` when a secret is empty, and `spec_invalid`. */
export function openSource(
  deps: Pick<Deps, 'db' | 'secretBox' | 'egress' | 'evaluators'> &
    Pick<SourcePorts, 'socketCache' | 'decodeTurns'> & {
      /** By slot in place of stored ones, to try tokens that do not count yet. */
      readonly tokens?: ReadonlyMap<string, TokenStore>;
    },
  scope: OrgScope,
  options: SourceOptions,
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
      openTokenStore(resourceKey, auth) {
        const slot = tokenSlot(resourceKey);
        const stored = () => createTokenStore(deps, scope, { connectionId, slot }, keepAliveSeconds(auth));
        return deps.tokens?.get(slot) ?? stored();
      },
    },
    options,
  );
}
