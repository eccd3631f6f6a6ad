import type { Db } from '../../../db/client.ts';
import { recordConnectionEvents } from '../../../db/queries/connections/connection-events.ts';
import {
  countActiveConnections,
  findErrorSince,
  lockActiveConnectionsMax,
  lockConnection,
  setConnectionStatus,
} from '../../../db/queries/connections/connections.ts';
import { requestMissed } from '../../../db/queries/hooks/hook-requests.ts';
import { noteStatusChange } from '../../../db/queries/schedules.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { AppError, found } from '../../core/errors.ts';
import { connectionActivated, connectionRecovered } from '../../core/events/connection-events.ts';
import { newId } from '../../core/ids.ts';
import type { ConnectionRow, ConnectionStatus } from '../../core/resources/connection.ts';

/** As in the event `connection.activated`. */
export type ActivationReason = 'api' | 'oauth' | 'test' | 'connect';

export interface Activation {
  readonly connection: ConnectionRow;
  readonly previousStatus: ConnectionStatus;
  /** `null` if it was not in error, or the time is unknown. */
  readonly failedSince: string | null;
}

/**
 * Also requests the runs that hooks announced meanwhile; an active connection stays unchanged. Call {@link recordActivation}
 * last in the transaction, and apply its schedules after the commit. Throws not_found, plan_limit.
 */
export async function activateWithin(tx: Db, scope: OrgScope, id: string): Promise<Activation> {
  const max = await lockActiveConnectionsMax(tx, scope);
  const connection = found(await lockConnection(tx, scope, id), 'Connection');
  const { status: previousStatus } = connection;
  if (previousStatus === 'active') return { connection, previousStatus, failedSince: null };
  if (max !== null && (await countActiveConnections(tx, scope)) >= max) {
    const allowed = `The plan allows ${max} active connections.`;
    throw new AppError('plan_limit', `${allowed} Pause one, or raise the plan.`);
  }
  const failedSince = await findErrorSince(tx, scope, id);
  const active = found(await setConnectionStatus(tx, scope, { id, status: 'active' }), 'Connection');
  await noteStatusChange(tx, scope, { connectionId: id, resumes: previousStatus !== 'error' });
  if (previousStatus !== 'pending') await requestMissed(tx, scope, id);
  return { connection: active, previousStatus, failedSince };
}

export async function recordActivation(
  tx: Db,
  scope: OrgScope,
  {
    connection: { id, accounts },
    previousStatus,
    failedSince,
    reason,
  }: Activation & { readonly reason: ActivationReason },
): Promise<void> {
  if (previousStatus === 'active') return;
  const deduplicationId = newId('evt');
  await recordConnectionEvents(tx, scope, id, (connection) => [
    connectionActivated({ connection, previousStatus, reason, accounts, deduplicationId }),
    ...(previousStatus === 'error' ? [connectionRecovered({ connection, failedSince, deduplicationId })] : []),
  ]);
}
