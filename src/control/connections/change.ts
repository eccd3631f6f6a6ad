/** Shared by a PATCH of a connection and an upgrade of its spec: checks it as a whole, then applies it as a whole. */

import { isDeepStrictEqual } from 'node:util';
import type { Db } from '../../../db/client.ts';
import { type ConnectionChange, changeConnection } from '../../../db/queries/connections/connections.ts';
import { conformKeepAlive } from '../../../db/queries/connections/tokens.ts';
import { requestCancelOfRunning } from '../../../db/queries/runs/cancel.ts';
import { findMeanings, keepMeanings } from '../../../db/queries/runs/lanes/conform-lane.ts';
import { disableSchedulesExcept } from '../../../db/queries/schedules.ts';
import { findPinnedSpec } from '../../../db/queries/specs.ts';
import { recordEvent } from '../../../db/queries/webhooks/events.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { openSecrets } from '../../connect/secrets.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { withRetypedColumns } from '../../core/destinations/retyped-columns.ts';
import { found, type Issue } from '../../core/errors.ts';
import { scheduleUpdated } from '../../core/events/schedule-events.ts';
import { newId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json/json-object.ts';
import type { ConnectionRow } from '../../core/resources/connection.ts';
import type { RunRow } from '../../core/resources/run.ts';
import type { ChangePlan, SpecVersionRow } from '../../core/resources/spec.ts';
import { placeIssues } from '../../core/spec/connection/default-place.ts';
import { authorizableOf, keepAliveSeconds, namedApps } from '../../core/spec/connection/grants.ts';
import { meaningOf, noMeaning, type StoredMeaning } from '../../core/spec/connection/meaning.ts';
import { checkConnectionValues } from '../../core/spec/connection/params.ts';
import { storedSpec } from '../../core/spec/connection/stored-spec.ts';
import { planUpgrade, type SpecInUse } from '../../core/spec/connection/upgrade-plan.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';
import type { RunDeps } from '../runs/runs.ts';
import { checkValues, declaredValues, sealSecrets } from './values.ts';

export type ChangeDeps = RunDeps & Pick<Deps, 'secretBox' | 'egress'>;

/** Absent fields stay unchanged. */
export interface SettingsChange {
  readonly version?: SpecVersionRow | undefined;
  readonly specOverridesJson?: JsonObject | null | undefined;
  /** Replaces all params. */
  readonly params?: JsonObject | undefined;
  /** Merged by key; `null` deletes a secret. */
  readonly secrets?: JsonObject | undefined;
}

/** `plan.issues` says why it cannot be applied. */
export interface PlannedChange {
  readonly plan: ChangePlan;
  readonly resourceKeys: readonly string[];
  /** `null` if it cannot be applied. */
  readonly spec: ConnectorSpec | null;
  readonly params: JsonObject;
  readonly secrets: JsonObject;
  readonly reseals: boolean;
  readonly meanings: ReadonlyMap<string, StoredMeaning>;
}

/** Writes nothing; throws not_found when the pinned version is missing. */
export async function planChange(
  deps: ChangeDeps,
  tx: Db,
  scope: OrgScope,
  { connection, change }: { readonly connection: ConnectionRow; readonly change: SettingsChange },
): Promise<PlannedChange> {
  const pinned = found(await findPinnedSpec(tx, scope, connection.id), 'Pinned spec version');
  const { specOverridesJson: overrides = connection.specOverridesJson, version = pinned } = change;
  const before = storedSpec(pinned.specJson, connection.specOverridesJson);
  const after = validateSpec(version.specJson, overrides);
  const stored = { params: connection.paramsJson, secrets: await openSecrets(deps, tx, scope, connection.id) };
  const values = after.spec ? validateValues(deps, after.spec, { stored, change }) : { ...stored, issues: [] };
  const inUse = before.valid ? specInUse(before.spec, stored) : null;
  const meanings = meaningsOf(await findMeanings(tx, scope, connection.id), inUse);
  const specs = { before: inUse, after: after.spec && { spec: after.spec, params: values.params } };
  const places = after.spec ? placeIssues(after.spec, deps.defaultDestination) : [];
  const issues = [...after.issues, ...places, ...values.issues];
  return {
    plan: withRetypedColumns(planUpgrade({ ...specs, issues, stored: meanings }), {
      before: inUse?.spec ?? null,
      after: after.spec,
    }),
    resourceKeys: after.spec?.resources.map(({ key }) => key) ?? [],
    spec: after.spec,
    meanings,
    params: values.params,
    secrets: values.secrets,
    reseals: change.secrets !== undefined || !isDeepStrictEqual(values.secrets, stored.secrets),
  };
}

function specInUse(spec: ConnectorSpec, stored: Values): SpecInUse {
  const values = checkConnectionValues(spec, stored);
  return { spec, params: values.ok ? values.params : stored.params };
}

/** Facts of a lane without a stored meaning are about the current spec; if that lacks the resource, nothing is known. */
function meaningsOf(
  stored: ReadonlyMap<string, StoredMeaning | null>,
  inUse: SpecInUse | null,
): ReadonlyMap<string, StoredMeaning> {
  const byKey = new Map(inUse?.spec.resources.map((resource) => [resource.key, resource]));
  const entries = [...stored].map(([resourceKey, meaning]): [string, StoredMeaning] => {
    const resource = byKey.get(resourceKey);
    const assumed = inUse && resource ? meaningOf(inUse.spec, resource, inUse.params) : noMeaning;
    return [resourceKey, { ...assumed, ...meaning }];
  });
  return new Map(entries);
}

function validateSpec(
  document: JsonObject,
  overrides: JsonObject | null,
): { readonly spec: ConnectorSpec | null; readonly issues: readonly Issue[] } {
  const checked = storedSpec(document, overrides);
  if (checked.valid) return { spec: checked.spec, issues: [] };
  if (overrides === null) return { spec: null, issues: checked.issues };
  const under = (path: string) => (path === '' ? 'specOverridesJson' : `specOverridesJson.${path}`);
  return { spec: null, issues: checked.issues.map((issue) => ({ ...issue, path: under(issue.path) })) };
}

interface Values {
  readonly params: JsonObject;
  readonly secrets: JsonObject;
}

/** Stored values may be of an earlier spec, so only declared ones are used; sent values must fit. */
function validateValues(
  deps: ChangeDeps,
  spec: ConnectorSpec,
  { stored, change }: { readonly stored: Values; readonly change: SettingsChange },
): Values & { readonly issues: readonly Issue[] } {
  const kept = declaredValues(spec, stored);
  const merged = Object.entries({ ...kept.secrets, ...change.secrets }).filter(([, value]) => value !== null);
  const values = { params: change.params ?? kept.params, secrets: Object.fromEntries(merged) };
  const checked = checkValues(deps, spec, values);
  return checked.ok
    ? { params: checked.params, secrets: checked.secrets, issues: [] }
    : { ...values, issues: checked.issues };
}

const keptAliveSlots = (spec: ConnectorSpec) =>
  authorizableOf(spec).flatMap(({ resourceKey, auth }) => {
    const seconds = keepAliveSeconds(auth);
    return seconds === null ? [] : [{ slot: tokenSlot(resourceKey), seconds }];
  });

/**
 * For a change without issues and a locked connection. Disables schedules of removed resources, and requests the cancel of
 * running runs of those and of resources that start over. Notify Temporal of both after the commit.
 */
export async function applyChange(
  deps: ChangeDeps,
  tx: Db,
  scope: OrgScope,
  { id, checked, facts }: { readonly id: string; readonly checked: PlannedChange; readonly facts: ConnectionChange },
): Promise<{ readonly connection: ConnectionRow; readonly stopped: readonly RunRow[] }> {
  const { plan, params, secrets, reseals, meanings } = checked;
  const oauthApps = checked.spec ? namedApps(checked.spec) : undefined;
  const connection = await changeConnection(tx, scope, { ...facts, id, params, oauthApps });
  if (checked.spec) await conformKeepAlive(tx, scope, { connectionId: id, slots: keptAliveSlots(checked.spec) });
  if (reseals) await sealSecrets(deps, tx, scope, { connectionId: id, secrets });
  const silenced = await disableSchedulesExcept(tx, scope, { connectionId: id, resourceKeys: checked.resourceKeys });
  await keepMeanings(tx, scope, { connectionId: id, meanings });
  const changed = plan.resources.filter((resource) => resource.class !== 'compatible').map((r) => r.resourceKey);
  const stopped = await requestCancelOfRunning(tx, scope, { connectionId: id, resourceKeys: changed });
  const deduplicationId = newId('evt');
  for (const schedule of silenced) {
    const previous = { ...schedule, enabled: true };
    await recordEvent(tx, scope, scheduleUpdated({ schedule, connection, previous, deduplicationId }));
  }
  return { connection, stopped };
}
