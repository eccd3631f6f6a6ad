import { findBegunWith } from '../db/queries/runs/run-setup.ts';
import type { OrgScope } from '../db/scope.ts';
import { openSealed, paramsSecretKind } from '../src/connect/secrets.ts';
import { ofResource, type ResourceSetup, setUpConnection } from '../src/connect/setup.ts';
import { AppError } from '../src/core/errors.ts';
import type { Deps } from '../src/deps.ts';

interface RunKey {
  readonly runId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
}

/**
 * The spec and the connection of a run as they were when it began; secrets as they are now. Throws `spec_invalid` when
 * spec, overrides, values or resource do not fit.
 */
export async function loadSetup(
  deps: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  { runId, connectionId, resourceKey }: RunKey,
): Promise<ResourceSetup> {
  const begun = await findBegunWith(deps.db, scope, { runId, secretKind: paramsSecretKind });
  if (!begun) throw new AppError('spec_invalid', 'The connection or its pinned spec version was deleted.');
  const secrets = openSealed(deps.secretBox, begun.sealed, { orgId: scope.orgId, ownerId: connectionId });
  return ofResource(setUpConnection({ ...begun, secrets }), resourceKey);
}
