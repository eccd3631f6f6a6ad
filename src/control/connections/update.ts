import { changeConnection, lockConnection } from '../../../db/queries/connections/connections.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { found, invalid } from '../../core/errors.ts';
import type { ConnectionRow } from '../../core/resources/connection.ts';
import { invalidSpec } from '../../core/spec/connection/spec-errors.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { cancelWorkflows } from '../runs/runs.ts';
import { applySchedulesOf } from '../schedules/apply.ts';
import { applyChange, type ChangeDeps, planChange, type SettingsChange } from './change.ts';

/** The changes of a connection by a caller; absent: unchanged. */
export interface ConnectionUpdate extends Omit<SettingsChange, 'version'> {
  readonly displayName?: string | undefined;
  readonly externalCustomerId?: string | null | undefined;
}

/**
 * Changes a connection, all of it in one transaction. Overrides that make a resource read by another cursor or key let
 * it start over, as an upgrade does. Throws not_found, validation (values or overrides break the spec's rules; issues at
 * `params.…`, `secrets.…`, `specOverridesJson.…`), conflict (the stored overrides are invalid and were not sent).
 */
export async function updateConnection(
  deps: ChangeDeps,
  scope: OrgScope,
  { id, ...update }: ConnectionUpdate & { readonly id: string },
): Promise<ConnectionRow> {
  const { displayName, externalCustomerId, specOverridesJson, params, secrets } = update;
  const { connection, stopped } = await deps.db.transaction().execute(async (tx) => {
    const locked = found(await lockConnection(tx, scope, id), 'Connection');
    const facts = { displayName, externalCustomerId, specOverrides: specOverridesJson };
    if (specOverridesJson === undefined && params === undefined && secrets === undefined) {
      return { connection: await changeConnection(tx, scope, { ...facts, id }), stopped: [] };
    }
    const change = { specOverridesJson, params, secrets };
    const checked = await planChange(deps, tx, scope, { connection: locked, change });
    const { issues } = checked.plan;
    const notSent = specOverridesJson === undefined && issues.find(({ path }) => !/^(?:params|secrets)\b/.test(path));
    if (notSent) throw invalidSpec('conflict', [notSent]);
    if (issues.length > 0) throw invalid('The change breaks the rules of the spec.', issues);
    return applyChange(deps, tx, scope, { id, checked, facts });
  });
  void wakeEndpoints(deps, scope);
  await Promise.all([cancelWorkflows(deps, scope, stopped), applySchedulesOf(deps, scope, id)]);
  return connection;
}
