import type { Freshness, Health, ResourceFreshness } from '../resources/freshness.ts';
import type { RunStatus } from '../resources/run.ts';

export interface ResourceFacts {
  readonly resourceKey: string;
  /** Start of the newest run, or its request while queued; `null` without runs. */
  readonly lastRunAt: string | null;
  readonly lastRunStatus: RunStatus | null;
  readonly inProgress: boolean;
  /** Attempts of the current run have failed since its last progress. */
  readonly attemptsFail: boolean;
  readonly hasQuarantined: boolean;
  /** Result of the newest run that was not canceled, as a cancel says nothing about the connection; `null` if none ended. */
  readonly lastOutcome: 'succeeded' | 'partial' | 'failed' | null;
  /** End of the newest successful run; `null` if none succeeded. */
  readonly lastSuccessAt: string | null;
  /** Records that it delivered. */
  readonly lastRecords: number | null;
  /** Seconds between two firings that the schedules promise; `null` if none is enabled. */
  readonly expectedIntervalSeconds: number | null;
  /** When it becomes overdue unless a run succeeds first; `null` if never, without a success or a schedule. */
  readonly overdueAt: string | null;
}

/** A success older than this many expected intervals is overdue. */
export const overdueIntervals = 2;

/** Whether the last success is older than the schedules allow, with time for another run. */
export const isOverdue = ({ overdueAt }: Pick<ResourceFacts, 'overdueAt'>, nowMs: number): boolean =>
  overdueAt !== null && nowMs > Date.parse(overdueAt);

/** Whole seconds since `at`, 0 if a clock is ahead of ours; `null` if never. */
export const ageSecondsOf = (at: string | null, nowMs: number): number | null =>
  at === null ? null : Math.max(0, Math.floor((nowMs - Date.parse(at)) / 1000));

export function freshnessOf(facts: readonly ResourceFacts[], nowMs: number): Freshness {
  const resources = facts.map((resource) => resourceFreshness(resource, nowMs));
  const successes = resources.flatMap(({ lastSuccessAt }) => lastSuccessAt ?? []);
  // ISO timestamps in UTC sort as text.
  const lastSuccessAt = successes.toSorted().at(-1) ?? null;
  return {
    health: worst(resources.map(({ health }) => health)),
    lastSuccessAt,
    ageSeconds: ageSecondsOf(lastSuccessAt, nowMs),
    overdue: resources.some(({ overdue }) => overdue),
    resources,
  };
}

function resourceFreshness(facts: ResourceFacts, nowMs: number): ResourceFreshness {
  const { inProgress, attemptsFail, hasQuarantined, lastOutcome, overdueAt: _at, ...shown } = facts;
  const overdue = isOverdue(facts, nowMs);
  return {
    ...shown,
    health: healthOf({ inProgress, attemptsFail, hasQuarantined, lastOutcome, overdue }),
    ageSeconds: ageSecondsOf(facts.lastSuccessAt, nowMs),
    overdue,
  };
}

export function healthOf({
  inProgress,
  attemptsFail,
  hasQuarantined,
  lastOutcome,
  overdue,
}: Pick<ResourceFacts, 'inProgress' | 'attemptsFail' | 'hasQuarantined' | 'lastOutcome'> & {
  readonly overdue: boolean;
}): Health {
  if (lastOutcome === 'failed' || attemptsFail) return 'failing';
  if (inProgress) return 'syncing';
  if (lastOutcome === null) return 'pending';
  return overdue || hasQuarantined || lastOutcome === 'partial' ? 'degraded' : 'healthy';
}

const worstFirst: readonly Health[] = ['failing', 'degraded', 'syncing', 'pending', 'healthy'];

/** The worst health of some resources; `pending` without resources, as nothing was synced yet. */
export const worst = (all: readonly Health[]): Health => worstFirst.find((health) => all.includes(health)) ?? 'pending';
