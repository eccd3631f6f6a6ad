import { isDeepStrictEqual } from 'node:util';
import { type Issue, schemaIssue } from '../../errors.ts';
import type { JsonObject } from '../../json/json-object.ts';
import type { ChangePlan } from '../../resources/spec.ts';
import { destinationKind } from '../schema/destination-kinds.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { concludesAbsence } from './concludes-absence.ts';
import { changedFacets, type Facet, forgetsRecords, meaningOf, type StoredMeaning } from './meaning.ts';
import { mayLosePartitions } from './partition-values.ts';
import { filterDefinition } from './read-definition.ts';
import { readsAll, readsToNow } from './reads-all.ts';
import { resourceFingerprint } from './resource-fingerprint.ts';
import { shapeValues } from './shape-values.ts';
import { storedFieldsOf } from './stored-fields.ts';

type ResourcePlan = ChangePlan['resources'][number];

/** A spec and its params, defaults filled in. */
export interface SpecInUse {
  readonly spec: ConnectorSpec;
  readonly params: JsonObject;
}

export interface PlannedSpecs {
  /** The current effective spec; `null` if it is no longer valid, so no state of earlier runs can be trusted. */
  readonly before: SpecInUse | null;
  /** The future effective spec; `null` if it would not be valid, see `issues`. */
  readonly after: SpecInUse | null;
  readonly issues: readonly Issue[];
  /** Stored meanings by resource; a missing resource may still have facts of `before`. */
  readonly stored?: ReadonlyMap<string, StoredMeaning>;
}

/** Compares the current and the planned reads, resource by resource, in the order of the new spec. */
export function planUpgrade(specs: PlannedSpecs): ChangePlan {
  const { before, after, issues: found } = specs;
  const resources = after === null ? [] : planResources({ ...specs, after });
  const issues = [...authIssues(before?.spec ?? null, after?.spec ?? null), ...found];
  return {
    class: issues.length > 0 ? 'breaking' : worstOf(resources),
    changed:
      before && after ? changedFields(before.spec, after.spec).filter((field) => !comparedElsewhere.has(field)) : [],
    resources,
    backfillRecommended: resources.some((resource) => resource.backfillRecommended),
    issues,
  };
}

const comparedElsewhere: ReadonlySet<string> = new Set(['metadata', 'resources', 'tests']);

function worstOf(resources: readonly ResourcePlan[]): ChangePlan['class'] {
  const classes = new Set(resources.map((resource) => resource.class));
  return (['breaking', 'resets'] as const).find((candidate) => classes.has(candidate)) ?? 'compatible';
}

function authIssues(before: ConnectorSpec | null, after: ConnectorSpec | null): readonly Issue[] {
  if (!before || !after || before.auth.kind === after.auth.kind) return [];
  const message = `changes from ${before.auth.kind} to ${after.auth.kind}: create a new connection`;
  return [schemaIssue('auth.kind', message)];
}

function planResources({ before, after, stored }: PlannedSpecs & { readonly after: SpecInUse }): ResourcePlan[] {
  const known = new Map(before?.spec.resources.map((resource) => [resource.key, { ...before, resource }]));
  const kept = new Set(after.spec.resources.map(({ key }) => key));
  const removed = [...known.keys()].filter((key) => !kept.has(key));
  return [
    ...after.spec.resources.map((resource) => {
      const old = known.get(resource.key) ?? null;
      const meaning = stored?.get(resource.key) ?? (old && meaningOf(old.spec, old.resource, old.params));
      if (meaning) return planResource(old, { ...after, resource }, meaning);
      return before === null ? startOver(resource) : added(resource);
    }),
    ...removed.map((resourceKey) => ({
      ...untouched(resourceKey),
      class: 'breaking' as const,
      effect: 'Removed: it can no longer be synced, and its schedules are disabled; its rows stay at the destination.',
    })),
  ];
}

const noEffect = 'Nothing is read or delivered again.';

const untouched = (resourceKey: string): ResourcePlan => ({
  resourceKey,
  class: 'compatible',
  changed: [],
  resets: 'nothing',
  redelivers: 'nothing',
  mayDelete: false,
  backfillRecommended: false,
  rekeyedTable: null,
  effect: noEffect,
});

export const hasEffect = ({ changed, effect }: ResourcePlan): boolean => changed.length > 0 || effect !== noEffect;

const added = ({ key }: Resource): ResourcePlan => ({
  ...untouched(key),
  effect: 'New: its first run reads everything.',
});

const startOver = ({ key }: Resource): ResourcePlan => ({
  ...untouched(key),
  ...anew,
  effect: 'The earlier spec is no longer valid: the next run reads and delivers everything again.',
});

interface Place extends SpecInUse {
  readonly resource: Resource;
}

/** `old` is the resource as last read; `null` if the current spec does not have it. */
function planResource(old: Place | null, place: Place, stored: StoredMeaning): ResourcePlan {
  const { spec, params, resource } = place;
  const changed = old === null ? [] : changedFields(old.resource, resource);
  const facets = changedFacets(stored, meaningOf(spec, resource, params));
  const lacksSome = old !== null && losesPartitions(old, place);
  const readsOthers = forgetsRecords(facets) || facets.includes('read') || lacksSome;
  const keepsOthers =
    old !== null && resource.filter !== undefined && !isDeepStrictEqual(filterOf(old), filterOf(place));
  const mayDelete =
    (comparesAnew(place) && (readsOthers || (resource.deletes.mode === 'flag' && facets.length > 0))) ||
    (resource.deletes.mode !== 'none' && (lacksSome || keepsOthers || facets.includes('known')));
  const plan = { ...untouched(resource.key), changed, mayDelete };
  if (facets.includes('key')) return rekeyed(plan, place);
  if (facets.includes('known')) return noted(plan);
  const reshaped = old !== null && !isDeepStrictEqual(formOf(old), formOf(place));
  const redelivered = { ...plan, redelivers: reshaped ? ('everything' as const) : ('nothing' as const) };
  if (readsAll(resource)) return { ...redelivered, effect: fullReadEffect(facets, redelivered) };
  if (facets.length > 0) {
    return { ...redelivered, class: 'resets', resets: 'watermark', effect: resetEffect(facets, redelivered) };
  }
  return reshaped ? { ...plan, ...deliversFetched } : plan;
}

/** Whether a read from the start deletes what it no longer finds. Records that say that they are deleted tell no more then. */
function comparesAnew({ spec, resource }: Place): boolean {
  const { deletes, incremental } = resource;
  if (concludesAbsence(resource)) return true;
  const readsAnew = incremental !== undefined && incremental.initial === undefined;
  return deletes.mode === 'flag' && readsAnew && readsToNow(resource, spec.http);
}

const anew = { class: 'resets', resets: 'state', redelivers: 'everything' } as const;

function rekeyed(plan: ResourcePlan, place: Place): ResourcePlan {
  const { table } = place.resource.target;
  const oldRows = `rows of table ${table} under the old keys`;
  // Nobody can ask a receiver which records it has.
  const left = !destinationKind(place.spec).keepsRows
    ? '; the receiver keeps its records under the old keys: delete them there'
    : comparesAnew(place)
      ? `, and deletes ${oldRows}; the brake may hold that back until a backfill with force`
      : `; ${oldRows} stay`;
  const effect = `The primary key changes: the next run reads and delivers everything again${left}.`;
  return { ...plan, ...anew, rekeyedTable: table, effect };
}

function noted(plan: ResourcePlan): ResourcePlan {
  const missing = plan.mayDelete ? `, and ${deletesMissing}` : '';
  const effect = `Delivered records are noted from now on: the next run reads and delivers everything again${missing}.`;
  return { ...plan, ...anew, effect };
}

function resetEffect(
  facets: readonly Facet[],
  { redelivers, mayDelete }: Pick<ResourcePlan, 'redelivers' | 'mayDelete'>,
): string {
  const cause = facets.includes('cursor')
    ? 'The cursor changes'
    : facets.includes('read')
      ? 'Other records than before may be read'
      : 'Resources below it need other fields of its records';
  const delivered = redelivers === 'everything' ? 'everything again' : 'only the records that differ';
  const missing = mayDelete ? `, and ${deletesMissing}` : '';
  return `${cause}: the next run reads from the start and delivers ${delivered}${missing}.`;
}

const deletesMissing = 'deletes those at the destination that it no longer finds';

function fullReadEffect(
  facets: readonly Facet[],
  { effect, redelivers, mayDelete }: Pick<ResourcePlan, 'effect' | 'redelivers' | 'mayDelete'>,
): string {
  const reshaped = redelivers === 'everything';
  if (!mayDelete && !facets.includes('read')) return reshaped ? 'The next run delivers every record again.' : effect;
  const delivered = reshaped ? 'delivers every record again' : 'delivers those that differ';
  const missing = mayDelete ? deletesMissing : 'leaves rows of those that it no longer finds';
  return `Other records than before may be read: the next run ${delivered}, and ${missing}.`;
}

const deliversFetched = {
  redelivers: 'fetched',
  backfillRecommended: true,
  effect: 'Each record is delivered again when it is next fetched; a backfill fetches all of them.',
} as const;

/** Inputs of a record's hash besides the record; a different form changes every record. */
function formOf({ resource, spec, params }: Place): unknown {
  const { versionGuard: _, ...hashed } = resource.changeDetection;
  return [
    resourceFingerprint(resource, storedFieldsOf(spec, resource.key)),
    shapeValues(spec, resource.key, params),
    hashed,
  ];
}

const filterOf = ({ spec, resource, params }: Place): unknown => filterDefinition(spec, resource, params);

const losesPartitions = (old: Place, place: Place): boolean =>
  !(place.resource.deletes.mode === 'full_scan' && place.resource.deletes.scope === 'partition') &&
  mayLosePartitions(old, place);

function changedFields<T extends object>(before: T, after: T): string[] {
  const [old, next] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...next.keys()]);
  return [...names].filter((name) => !isDeepStrictEqual(old.get(name), next.get(name)));
}
