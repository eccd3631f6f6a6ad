import { endConnectSessionsOf } from '../../../db/queries/connect-sessions/sessions.ts';
import { recordConnectionEvents } from '../../../db/queries/connections/connection-events.ts';
import {
  insertConnection,
  lockConnection,
  markConnectionDeleted,
  newConnectionId,
  setConnectionStatus,
} from '../../../db/queries/connections/connections.ts';
import { deleteSecrets } from '../../../db/queries/connections/secrets.ts';
import { markHooksDeleted } from '../../../db/queries/hooks/hooks.ts';
import { findWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import { requestCancelOfAll } from '../../../db/queries/runs/cancel.ts';
import { markSchedulesDeleted, noteStatusChange } from '../../../db/queries/schedules.ts';
import { findSpecVersion } from '../../../db/queries/specs.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict, found, invalid } from '../../core/errors.ts';
import { connectionCreated, connectionPaused } from '../../core/events/connection-events.ts';
import { scheduleDeleted } from '../../core/events/schedule-events.ts';
import { newId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json/json-object.ts';
import type { ConnectionRow } from '../../core/resources/connection.ts';
import { destinationRefusal } from '../../core/spec/connection/default-place.ts';
import { namedApps } from '../../core/spec/connection/grants.ts';
import type { ConnectionCheck } from '../../core/spec/connection/params.ts';
import { storedSpec } from '../../core/spec/connection/stored-spec.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import type { GrantDeps } from '../oauth/grant.ts';
import { prepareRevocation } from '../oauth/revocation.ts';
import { requireRoom } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';
import { cancelWorkflows, type RunDeps } from '../runs/runs.ts';
import { type ApplyDeps, applySchedulesOf } from '../schedules/apply.ts';
import { refuseUnlessPublished } from '../specs/upgrade.ts';
import { activateWithin, recordActivation } from './activation.ts';
import { checkValues, sealSecrets } from './values.ts';

export interface ConnectionRequest {
  readonly workspaceId: string;
  readonly specKey: string;
  readonly specVersion: string;
  readonly displayName: string;
  /** The caller's id for the end customer. */
  readonly externalCustomerId: string | null;
  /** See {@link ConnectionRow}. */
  readonly errorAfterMinutes: number;
  /** Keyed merge patch on the spec; `null` without one. */
  readonly specOverrides?: JsonObject | null;
  readonly params: JsonObject;
  readonly secrets: JsonObject;
}

/**
 * Pending; row and sealed secrets in one transaction. Throws not_found (workspace, spec, version), conflict (version not
 * published, or without a destination), and validation (params or secrets break the spec's rules).
 */
export async function createConnection(
  deps: WakeDeps & WriteDeps & Pick<Deps, 'secretBox' | 'egress' | 'defaultDestination'>,
  scope: OrgScope,
  request: ConnectionRequest,
): Promise<ConnectionRow> {
  const { db } = deps;
  const {
    workspaceId,
    specKey: key,
    specVersion: version,
    displayName,
    externalCustomerId,
    errorAfterMinutes,
    specOverrides = null,
  } = request;
  found(await findWorkspace(db, scope, workspaceId), 'Workspace');
  const spec = found(await findSpecVersion(db, scope, { key, version }), 'Spec version');
  refuseUnlessPublished(spec);
  const { spec: checked, values } = checkedValues(deps, spec.specJson, { ...request, specOverrides });

  const id = newConnectionId();
  const names = { displayName, externalCustomerId, errorAfterMinutes };
  const facts = { id, workspaceId, specId: spec.specId, pinnedSpecVersion: version, ...names };
  const made = await write(deps, async (tx) => {
    await requireRoom(tx, scope, 'connections');
    const ofSpec = { specOverrides, params: values.params, oauthApps: namedApps(checked) };
    const row = await insertConnection(tx, scope, { ...facts, ...ofSpec });
    await sealSecrets(deps, tx, scope, { connectionId: id, secrets: values.secrets });
    await recordConnectionEvents(tx, scope, id, (connection) => [connectionCreated(connection)]);
    return row;
  });
  void wakeEndpoints(deps, scope);
  return made;
}

function checkedValues(
  deps: Pick<Deps, 'egress' | 'defaultDestination'>,
  specJson: JsonObject,
  { params, secrets, specOverrides }: Pick<ConnectionRequest, 'params' | 'secrets' | 'specOverrides'>,
): { readonly spec: ConnectorSpec; readonly values: Extract<ConnectionCheck, { ok: true }> } {
  const checked = storedSpec(specJson, specOverrides);
  if (!checked.valid) throw conflict('The published version breaks the current rules: publish a new version.');
  const refusal = destinationRefusal(checked.spec, deps.defaultDestination);
  if (refusal !== null) throw conflict(refusal);
  const values = checkValues(deps, checked.spec, { params, secrets });
  if (!values.ok) throw invalid('The values break the rules of the spec.', values.issues);
  return { spec: checked.spec, values };
}

/** From any status, and lets its schedules fire again; throws not_found, plan_limit. */
export async function activateConnection(deps: ApplyDeps, scope: OrgScope, id: string): Promise<ConnectionRow> {
  const connection = await deps.db.transaction().execute(async (tx) => {
    const activation = await activateWithin(tx, scope, id);
    await recordActivation(tx, scope, { ...activation, reason: 'api' });
    return activation.connection;
  });
  void wakeEndpoints(deps, scope);
  await applySchedulesOf(deps, scope, id);
  return connection;
}

/** From any status; its schedules create no more runs, and its open runs are to be canceled. Throws not_found. */
export async function pauseConnection(deps: RunDeps, scope: OrgScope, id: string): Promise<ConnectionRow> {
  const { connection, runs } = await deps.db.transaction().execute(async (tx) => {
    const { status: previousStatus } = found(await lockConnection(tx, scope, id), 'Connection');
    const paused = found(await setConnectionStatus(tx, scope, { id, status: 'paused' }), 'Connection');
    await noteStatusChange(tx, scope, { connectionId: id });
    const canceled = await requestCancelOfAll(tx, scope, id);
    if (previousStatus !== 'paused') {
      const deduplicationId = newId('evt');
      await recordConnectionEvents(tx, scope, id, (to) => [
        connectionPaused({ connection: to, previousStatus, deduplicationId }),
      ]);
    }
    return { connection: paused, runs: canceled };
  });
  void wakeEndpoints(deps, scope);
  await Promise.all([cancelWorkflows(deps, scope, runs), applySchedulesOf(deps, scope, id)]);
  return connection;
}

/**
 * At once the connection reads as absent, its schedules, hooks and secrets are deleted and its open runs are to be canceled.
 * The sweeper removes the rest once they have ended; delivered records stay with the customer. An OAuth grant is revoked in
 * the background if the spec says how. Throws not_found.
 */
export async function deleteConnection(
  deps: RunDeps & GrantDeps,
  scope: OrgScope,
  id: string,
  { revokes = true }: { readonly revokes?: boolean } = {},
): Promise<void> {
  const revoke = revokes ? await prepareRevocation(deps, scope, id) : null;
  const runs = await deps.db.transaction().execute(async (tx) => {
    found(await markConnectionDeleted(tx, scope, id), 'Connection');
    await deleteSecrets(tx, scope, id);
    await endConnectSessionsOf(tx, scope, id);
    await markHooksDeleted(tx, scope, id);
    const schedules = await markSchedulesDeleted(tx, scope, id);
    const canceled = await requestCancelOfAll(tx, scope, id);
    await recordConnectionEvents(tx, scope, id, (connection) =>
      schedules.map((schedule) => scheduleDeleted({ schedule, connection })),
    );
    return canceled;
  });
  void wakeEndpoints(deps, scope);
  revoke?.();
  await Promise.all([cancelWorkflows(deps, scope, runs), applySchedulesOf(deps, scope, id)]);
}
