import * as v from 'valibot';
import type { OrgScope } from '../../db/scope.ts';
import { fingerprintOf } from '../core/crypto/digest.ts';
import type { Destination, TargetTable } from '../core/destinations/destination.ts';
import { type DestinationDeps, openDestination } from '../core/destinations/registry.ts';
import { defaultTarget, hasTables, targetTable } from '../core/destinations/target-table.ts';
import { AppError } from '../core/errors.ts';
import { renderTemplate } from '../core/expressions/template.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import { isJsonObject } from '../core/json/is-json-object.ts';
import type { JsonObject } from '../core/json/json-object.ts';
import { placeRefusal } from '../core/spec/connection/default-place.ts';
import { rootsIn } from '../core/spec/connection/mentions.ts';
import type { DestinationSpec, OnBehind } from '../core/spec/schema/destination-schema.ts';
import type { Resource } from '../core/spec/schema/spec-schema.ts';
import type { Deps } from '../deps.ts';
import { operatorsDestination } from './operators-destination.ts';
import { type ResourceSetup, secretTexts } from './setup.ts';

interface PreparedRun extends Pick<DestinationDeps, 'outbox' | 'logCall' | 'onStrayRejections'> {
  readonly id: string;
  readonly startedAt: Date;
}

export interface PreparedDestination {
  readonly destination: Destination;
  readonly target: TargetTable;
  readonly targetOf: (resource: Resource) => TargetTable;
  /** Stable as long as the rows go to the same place, under the same credentials. */
  readonly fingerprint: string;
  /** Names the table and its database, independent of credentials. */
  readonly place: string;
  /** See DestinationSpec; a webhook is never behind. */
  readonly onBehind: OnBehind;
}

/** Connects to nothing yet; throws `spec_invalid`. */
export async function prepareDestination(
  deps: Pick<Deps, 'egress' | 'evaluators' | 'defaultDestination' | 'secretBox'>,
  scope: OrgScope,
  setup: ResourceSetup,
  { outbox, logCall, onStrayRejections, ...run }: PreparedRun,
): Promise<PreparedDestination> {
  const { spec, resource, params, secrets } = setup;
  const declared = spec.destination ?? operatorsDestination(deps.defaultDestination);
  const roots = { params, secrets, auth: {}, run: { id: run.id, startedAt: run.startedAt.toISOString() } };
  const filled = await renderTemplate(declared, roots, {
    evaluator: deps.evaluators.forOrg(scope.orgId),
    now: run.startedAt,
    missing: 'omit',
  });
  const options = v.parse(v.looseObject({ kind: v.string() }), filled);
  const isOperators = spec.destination === undefined;
  const targetOf = (one: Resource): TargetTable => {
    const refusal = placeRefusal(spec, one, deps.defaultDestination);
    if (refusal !== null) throw new AppError('spec_invalid', refusal);
    const target = targetTable(one, declared);
    const isPlaced = isOperators && hasTables(declared);
    return isPlaced ? defaultTarget(target, deps.defaultDestination, scope.orgId) : target;
  };
  const target = targetOf(resource);
  return {
    destination: openDestination(options, {
      guard: deps.egress,
      orgId: scope.orgId,
      outbox,
      logCall,
      onStrayRejections,
      secrets: secretTexts(setup),
      isOperators,
      receiver: receiverOf(declared, options),
      resource: { orgId: scope.orgId, resourceKey: resource.key, specVersion: spec.metadata.version },
    }),
    target,
    targetOf,
    fingerprint: deps.secretBox.fingerprint(canonicalJson([options, target])),
    place: placeOf(options, target),
    onBehind: 'onBehind' in declared ? declared.onBehind : 'fail',
  };
}

/** Roots and functions whose values are of one run, or may be replaced. */
const changing = ['secrets', 'run', 'now', 'millis', 'random', 'uuid'];

/**
 * The headers that params fill. Those with secrets are credentials: a receiver with a rotated key is still the same.
 * Those with the time or values of the run differ each time.
 */
function receiverOf(declared: DestinationSpec, { headers }: JsonObject): string {
  if (!('headers' in declared) || !isJsonObject(headers)) return '';
  const names = Object.keys(declared.headers).filter((name) => {
    const roots = rootsIn('templates', { path: name, value: declared.headers[name] });
    return roots.has('params') && changing.every((root) => !roots.has(root));
  });
  return names.length === 0
    ? ''
    : canonicalJson(Object.fromEntries(names.map((name) => [name.toLowerCase(), headers[name] ?? null])));
}

function placeOf(options: JsonObject, { schema, table }: TargetTable): string {
  const url = URL.parse(String(options['url']));
  const database = url
    ? [url.hostname, url.port, url.pathname]
    : ['host', 'port', 'database'].map((name) => options[name] ?? null);
  return fingerprintOf(canonicalJson([options['kind'], ...database, schema, table]));
}
