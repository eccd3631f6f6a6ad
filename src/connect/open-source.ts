import type { OrgScope } from '../../db/scope.ts';
import type { Deps } from '../deps.ts';
import { assembleSource, type OpenedSource, type SourceOptions, type SourcePorts } from './assemble-source.ts';
import { createDatabaseBuckets } from './database-buckets.ts';
import { createTokenStore, tokenSlot } from './token-store.ts';

export type { OpenedSource } from './assemble-source.ts';

/** Sends nothing yet; throws `auth_failed` when a secret is empty, and `spec_invalid`. */
export function openSource(
  deps: Pick<Deps, 'db' | 'secretBox' | 'egress' | 'evaluators'> & Pick<SourcePorts, 'socketCache' | 'decodeTurns'>,
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
      openTokenStore: (resourceKey) => createTokenStore(deps, scope, { connectionId, slot: tokenSlot(resourceKey) }),
    },
    options,
  );
}
