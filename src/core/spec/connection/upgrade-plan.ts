import { isDeepStrictEqual } from 'node:util';
import { type Issue, schemaIssue } from '../../errors.ts';
import type { SpecUpgrade } from '../../resources/spec.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { readsAll } from './reads-all.ts';
import { resourceFingerprint } from './resource-fingerprint.ts';
import { storedFieldsOf } from './stored-fields.ts';

type UpgradePlan = SpecUpgrade['plan'];
type ResourcePlan = UpgradePlan['resources'][number];

/** What the next run of a resource forgets before it reads; `state`: every known record and the watermark. */
export type Reset = Exclude<ResourcePlan['resets'], 'nothing'>;

interface SpecPair {
  /** The effective spec until now; null: it is no longer valid, so no state of earlier runs can be trusted. */
  readonly before: ConnectorSpec | null;
  /** The effective spec from now on; null: it would not be valid, as `issues` explains. */
  readonly after: ConnectorSpec | null;
  /** Issues in the new spec and in the connection's values under it. */
  readonly issues: readonly Issue[];
}

/** Compares the current and the new spec of a connection, resource by resource, in the order of the new spec. */
export function planUpgrade({ before, after, issues: found }: SpecPair): UpgradePlan {
  const resources = after === null ? [] : planResources(before, after);
  const issues = [...authIssues(before, after), ...found];
  return {
    class: issues.length > 0 ? 'breaking' : worstOf(resources),
    changed: before && after ? changedFields(before, after).filter((field) => !comparedElsewhere.has(field)) : [],
    resources,
    backfillRecommended: resources.some((resource) => resource.backfillRecommended),
    issues,
  };
}

const comparedElsewhere: ReadonlySet<string> = new Set(['metadata', 'resources', 'tests']);

function worstOf(resources: readonly ResourcePlan[]): UpgradePlan['class'] {
  const classes = new Set(resources.map((resource) => resource.class));
  return (['breaking', 'resets'] as const).find((candidate) => classes.has(candidate)) ?? 'compatible';
}

function authIssues(before: ConnectorSpec | null, after: ConnectorSpec | null): readonly Issue[] {
  if (!before || !after || before.auth.kind === after.auth.kind) return [];
  const message = `changes from ${before.auth.kind} to ${after.auth.kind}: create a new connection`;
  return [schemaIssue('auth.kind', message)];
}

function planResources(before: ConnectorSpec | null, after: ConnectorSpec): ResourcePlan[] {
  const known = new Map(before?.resources.map((resource) => [resource.key, { resource, spec: before }]));
  const kept = new Set(after.resources.map(({ key }) => key));
  const removed = [...known.keys()].filter((key) => !kept.has(key));
  return [
    ...after.resources.map((resource) => {
      const old = known.get(resource.key);
      if (old) return planResource(old, { resource, spec: after });
      return before === null ? startOver(resource) : added(resource);
    }),
    ...removed.map((resourceKey) => ({
      ...untouched(resourceKey),
      class: 'breaking' as const,
      effect: 'Removed: it can no longer be synced, and its schedules are disabled; its rows stay at the destination.',
    })),
  ];
}

const untouched = (resourceKey: string): ResourcePlan => ({
  resourceKey,
  class: 'compatible',
  changed: [],
  resets: 'nothing',
  redelivers: 'nothing',
  backfillRecommended: false,
  rekeyedTable: null,
  effect: 'Nothing is read or delivered again.',
});

const added = ({ key }: Resource): ResourcePlan => ({
  ...untouched(key),
  effect: 'New: its first run reads everything.',
});

const startOver = ({ key }: Resource): ResourcePlan => ({
  ...untouched(key),
  class: 'resets',
  resets: 'state',
  redelivers: 'everything',
  effect: 'The earlier spec is no longer valid: the next run reads and delivers everything again.',
});

/** A resource and the spec that it is part of. */
interface Place {
  readonly resource: Resource;
  readonly spec: ConnectorSpec;
}

function planResource(placeBefore: Place, placeAfter: Place): ResourcePlan {
  const [before, after] = [placeBefore.resource, placeAfter.resource];
  const changed = changedFields(before, after);
  const plan = { ...untouched(after.key), changed };
  if (!isDeepStrictEqual(before.primaryKey, after.primaryKey)) return rekeyed(plan, after);
  const reshaped = !isDeepStrictEqual(formOf(placeBefore), formOf(placeAfter));
  if (!isDeepStrictEqual(cursorOf(before), cursorOf(after))) {
    return {
      ...plan,
      class: 'resets',
      resets: 'watermark',
      redelivers: reshaped ? 'everything' : 'nothing',
      effect: `The cursor changes: the next run reads from the start and delivers ${reshaped ? 'everything again' : 'only the records that differ'}.`,
    };
  }
  if (readsAll(after)) return reshaped ? { ...plan, ...deliversAll } : plan;
  const backfillRecommended = reshaped || changed.some((field) => decidesWhatIsRead.has(field));
  return backfillRecommended ? { ...plan, ...(reshaped ? deliversFetched : fetchesOthers(changed)) } : plan;
}

const rekeyed = (plan: ResourcePlan, { target: { table } }: Resource): ResourcePlan => ({
  ...plan,
  class: 'resets',
  resets: 'state',
  redelivers: 'everything',
  rekeyedTable: table,
  effect: `The primary key changes: the next run reads and delivers everything again; rows of table ${table} under the old keys stay.`,
});

const deliversAll = { redelivers: 'everything', effect: 'The next run delivers every record again.' } as const;

const deliversFetched = {
  redelivers: 'fetched',
  backfillRecommended: true,
  effect: 'Each record is delivered again when it is next fetched; a backfill fetches all of them.',
} as const;

const fetchesOthers = (changed: readonly string[]) => ({
  redelivers: 'nothing' as const,
  backfillRecommended: true,
  effect:
    'Other records than before may be read; a backfill fetches those that earlier runs did not.' +
    (changed.includes('forEach') ? ' A partition that is new is read from its beginning.' : ''),
});

/** The inputs of a record's hash besides the record itself; another form is a change of every record. */
function formOf({ resource, spec }: Place): unknown {
  const { versionGuard: _, ...hashed } = resource.changeDetection;
  return [resourceFingerprint(resource, storedFieldsOf(spec, resource.key)), hashed];
}

/**
 * The fields that decide which records are read, besides what shapes a record: a change here may select records that
 * earlier runs skipped.
 */
const decidesWhatIsRead: ReadonlySet<string> = new Set([
  'request',
  'fieldChunks',
  'job',
  'response',
  'forEach',
  'filter',
  'onInvalid',
]);

/** The meaning of a watermark; a watermark with one meaning is useless with another. */
function cursorOf({ incremental }: Resource): unknown {
  if (incremental?.kind !== 'cursor') return incremental && { kind: incremental.kind, next: incremental.next };
  const { field, type, format, timezone } = incremental.cursor;
  return { field, type, format, timezone };
}

function changedFields<T extends object>(before: T, after: T): string[] {
  const [old, next] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...next.keys()]);
  return [...names].filter((name) => !isDeepStrictEqual(old.get(name), next.get(name)));
}
