import type { Attempt } from '../db/queries/runs/attempts.ts';
import type { OrgScope } from '../db/scope.ts';
import { appsOf, withAppSecrets } from '../src/connect/oauth-apps.ts';
import { openSealed } from '../src/connect/secrets.ts';
import { ofResource, type ResourceSetup, setUpConnection } from '../src/connect/setup.ts';
import { AppError } from '../src/core/errors.ts';
import type { Deps } from '../src/deps.ts';

/**
 * Spec and connection as they were when the run began, with the secrets of now; throws `spec_invalid` when they do not fit.
 */
export async function setupOf(
  deps: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  { begunWith, connectionId, resourceKey }: Pick<Attempt, 'begunWith' | 'connectionId' | 'resourceKey'>,
): Promise<ResourceSetup> {
  if (!begunWith) throw new AppError('spec_invalid', 'The connection or its pinned spec version was deleted.');
  const secrets = openSealed(deps.secretBox, begunWith.sealed, { orgId: scope.orgId, ownerId: connectionId });
  const setup = ofResource(setUpConnection({ ...begunWith, secrets }), resourceKey);
  return await withAppSecrets(appsOf(deps, deps.db, scope, connectionId), setup);
}
