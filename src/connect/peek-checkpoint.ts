import { findPinnedConnection } from '../../db/queries/connections/connections.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { LastBatch } from '../core/destinations/destination.ts';
import { noOutbox } from '../core/destinations/webhook/outbox.ts';
import { found } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { LaneKey } from '../core/model/lane-key.ts';
import type { Deps } from '../deps.ts';
import { prepareDestination } from './open-destination.ts';
import { openSecrets } from './secrets.ts';
import { ofResource, setUpConnection } from './setup.ts';

type PeekDeps = Pick<Deps, 'db' | 'egress' | 'evaluators' | 'defaultDestination' | 'secretBox'>;

/**
 * Does not claim the lane; `null` if it has no row there, `not_supported` if the destination cannot be peeked. Throws as
 * `Destination.check` does, and `not_found`, `spec_invalid`.
 */
export async function peekCheckpoint(
  deps: PeekDeps,
  scope: OrgScope,
  { connectionId, resourceKey }: LaneKey,
): Promise<LastBatch | 'not_supported' | null> {
  const connection = found(await findPinnedConnection(deps.db, scope, connectionId), 'Connection');
  const { specJson, specOverridesJson, paramsJson } = connection;
  const secrets = await openSecrets(deps, deps.db, scope, connectionId);
  const setup = ofResource(setUpConnection({ specJson, specOverridesJson, paramsJson, secrets }), resourceKey);
  const { destination, target } = await prepareDestination(deps, scope, setup, {
    id: newId('run'),
    startedAt: new Date(),
    outbox: noOutbox,
    logCall: () => undefined,
    onStrayRejections: () => undefined,
  });
  await using _closed = destination;
  return destination.peek
    ? await destination.peek({ lane: `${connectionId}/${resourceKey}`, target })
    : 'not_supported';
}
