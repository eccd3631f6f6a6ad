import type { Db } from '../../../db/client.ts';
import { recordConnectionEvents } from '../../../db/queries/connections/connection-events.ts';
import { lockConnection } from '../../../db/queries/connections/connections.ts';
import { findVersionOfSpec } from '../../../db/queries/specs.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict, found } from '../../core/errors.ts';
import { connectionSpecUpgraded } from '../../core/events/connection-events.ts';
import { newId } from '../../core/ids.ts';
import type { ChangePlan, SpecUpgrade, SpecVersionRow } from '../../core/resources/spec.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { applyChange, type ChangeDeps, planChange } from '../connections/change.ts';
import { cancelWorkflows } from '../runs/runs.ts';
import { applySchedulesOf } from '../schedules/apply.ts';

interface UpgradeRequest {
  readonly connectionId: string;
  readonly toVersion: string;
  readonly dryRun: boolean;
}

/**
 * Forwards or backwards; planned resets happen when the next run begins. Throws not_found (connection, version), conflict
 * (version not published, or would break the connection), which changes nothing.
 */
export async function upgradeSpec(
  deps: ChangeDeps,
  scope: OrgScope,
  { connectionId, toVersion, dryRun }: UpgradeRequest,
): Promise<SpecUpgrade> {
  const { stopped, ...upgrade } = await deps.db.transaction().execute(async (tx) => {
    const connection = found(await lockConnection(tx, scope, connectionId), 'Connection');
    const version = found(
      await findVersionOfSpec(tx, scope, { specId: connection.specId, version: toVersion }),
      'Spec version',
    );
    refuseUnlessPublished(version);
    const checked = await planChange(deps, tx, scope, { connection, change: { version } });
    const { plan } = checked;
    const facts = { connectionId, from: connection.pinnedSpecVersion, to: toVersion, plan };
    if (dryRun) return { ...facts, applied: false, stopped: [] };
    refuseBroken(plan, toVersion);
    const pin = { id: connectionId, checked, facts: { pinnedSpecVersion: toVersion } };
    const applied = await applyChange(deps, tx, scope, pin);
    await recordUpgrade(tx, scope, facts);
    return { ...facts, applied: true, stopped: applied.stopped };
  });
  void wakeEndpoints(deps, scope);
  await Promise.all([cancelWorkflows(deps, scope, stopped), applySchedulesOf(deps, scope, connectionId)]);
  return upgrade;
}

async function recordUpgrade(
  tx: Db,
  scope: OrgScope,
  { connectionId, from, to }: Pick<SpecUpgrade, 'connectionId' | 'from' | 'to'>,
): Promise<void> {
  if (from === to) return;
  const deduplicationId = newId('evt');
  await recordConnectionEvents(tx, scope, connectionId, (connection) => [
    connectionSpecUpgraded({ connection, from, to, deduplicationId }),
  ]);
}

/** Throws conflict unless a connection may be pinned to the version. */
export function refuseUnlessPublished({ version, status }: SpecVersionRow): void {
  if (status === 'published') return;
  const advice = status === 'draft' ? 'is a draft: publish it first' : 'is deprecated: choose a published one';
  throw conflict(`Version ${version} ${advice}.`);
}

/** A conflict carries no issues on the wire, so its message names the first few. */
function refuseBroken({ issues }: ChangePlan, toVersion: string): void {
  if (issues.length === 0) return;
  const named = issues.slice(0, 3).map(({ path, message }) => `${path} ${message}`);
  const more = issues.length > named.length ? `, and ${issues.length - named.length} more` : '';
  throw conflict(
    `Version ${toVersion} would break the connection: ${named.join('; ')}${more}. Nothing was changed; a dry run shows the whole plan.`,
  );
}
