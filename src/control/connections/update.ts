import { changeConnection, lockConnection } from '../../../db/queries/connections/connections.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict, firstIssues, found, invalid } from '../../core/errors.ts';
import type { ConnectionUpdate } from '../../core/resources/connection.ts';
import type { ChangePlan } from '../../core/resources/spec.ts';
import { invalidSpec } from '../../core/spec/connection/spec-errors.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { cancelWorkflows } from '../runs/runs.ts';
import { applySchedulesOf } from '../schedules/apply.ts';
import { applyChange, type ChangeDeps, type PlannedChange, planChange, type SettingsChange } from './change.ts';

/** Absent fields stay unchanged. */
interface UpdateRequest extends Omit<SettingsChange, 'version'> {
  readonly id: string;
  readonly displayName?: string | undefined;
  readonly externalCustomerId?: string | null | undefined;
  readonly errorAfterMinutes?: number | undefined;
  readonly dryRun: boolean;
  /** True if later runs may delete rows that they no longer find. */
  readonly allowDeletes: boolean;
}

/**
 * A resource whose overrides change its cursor or key starts over, as in an upgrade. Throws not_found, validation (values or
 * overrides break the spec's rules; issues at `params.…`, `secrets.…`, `specOverridesJson.…`). Throws conflict (the stored
 * overrides are invalid and were not sent; rows may be deleted, which is not allowed).
 */
export async function updateConnection(
  deps: ChangeDeps,
  scope: OrgScope,
  { id, dryRun, allowDeletes, ...update }: UpdateRequest,
): Promise<ConnectionUpdate> {
  const { displayName, externalCustomerId, errorAfterMinutes, specOverridesJson, params, secrets } = update;
  const { stopped, ...updated } = await deps.db.transaction().execute(async (tx) => {
    const locked = found(await lockConnection(tx, scope, id), 'Connection');
    const facts = { displayName, externalCustomerId, errorAfterMinutes, specOverrides: specOverridesJson };
    if (specOverridesJson === undefined && params === undefined && secrets === undefined) {
      const connection = dryRun ? locked : await changeConnection(tx, scope, { ...facts, id });
      return { ...connection, applied: !dryRun, plan: null, stopped: [] };
    }
    const change = { specOverridesJson, params, secrets };
    const checked = await planChange(deps, tx, scope, { connection: locked, change });
    const { plan } = checked;
    if (dryRun) {
      const issues = firstIssues(plan.issues, (issue) => issue);
      return { ...locked, applied: false, plan: { ...plan, issues: [...issues] }, stopped: [] };
    }
    refuseBroken(plan, specOverridesJson !== undefined);
    if (!allowDeletes) refuseDeletes(checked);
    const applied = await applyChange(deps, tx, scope, { id, checked, facts });
    return { ...applied.connection, applied: true, plan, stopped: applied.stopped };
  });
  void wakeEndpoints(deps, scope);
  await Promise.all([cancelWorkflows(deps, scope, stopped), applySchedulesOf(deps, scope, id)]);
  return updated;
}

function refuseBroken({ issues }: ChangePlan, hasOverrides: boolean): void {
  const notSent = hasOverrides ? undefined : issues.find(({ path }) => !/^(?:params|secrets)\b/.test(path));
  if (notSent) throw invalidSpec('conflict', [notSent]);
  if (issues.length > 0) throw invalid('The change breaks the rules of the spec.', issues);
}

/** Resources that never ran have no rows. */
function refuseDeletes({ plan, meanings }: PlannedChange): void {
  const deleting = plan.resources.filter(({ mayDelete, resourceKey }) => mayDelete && meanings.has(resourceKey));
  if (deleting.length === 0) return;
  const names = deleting.map(({ resourceKey }) => `"${resourceKey}"`).join(', ');
  const message = `After this change, runs of ${names} may delete rows that they no longer find.`;
  throw conflict(`${message} Nothing was changed. See the plan with dryRun, and send allowDeletes: true to agree.`);
}
