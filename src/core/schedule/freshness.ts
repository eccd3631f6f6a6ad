/** How well a connection is kept up to date: checked from its runs and schedules. */

import type { Freshness, Health, ResourceFreshness } from '../resources/freshness.ts';
import type { RunStatus } from '../resources/run.ts';

/** What is known of one resource of a connection. */
export interface ResourceFacts {
  readonly resourceKey: string;
  /** When the newest run started or, while it is queued, was requested; null: there is none. */
  readonly lastRunAt: string | null;
  readonly lastRunStatus: RunStatus | null;
  /** A run is queued or running. */
  readonly inProgress: boolean;
  /** The attempts of the run that goes on have failed since it last got further. */
  readonly attemptsFail: boolean;
  /** Records of it are in quarantine. */
  readonly hasQuarantined: boolean;
  /** How the newest run ended that was not canceled: a canceled one says nothing of the connection. Null: none ended. */
  readonly lastOutcome: 'succeeded' | 'partial' | 'failed' | null;
  /** When the newest run that succeeded ended; null: none did. */
  readonly lastSuccessAt: string | null;
  /** Records that it delivered. */
  readonly lastRecords: number | null;
  /** The seconds between two firings that the schedules promise; null: none is enabled. */
  readonly expectedIntervalSeconds: number | null;
  /** When it is overdue unless a run succeeds before; null: never, without a success or a schedule. */
  readonly overdueAt: string | null;
}

/** A success older than this many expected intervals is overdue. */
export const overdueIntervals = 2;

/** Whether the last success is longer ago than the schedules allow, which have had the time for another one. */
export const isOverdue = ({ overdueAt }: Pick<ResourceFacts, 'overdueAt'>, nowMs: number): boolean =>
  overdueAt !== null && nowMs > Date.parse(overdueAt);

/** The whole seconds since `at`; null: never. A clock ahead of ours makes no negative age. */
export const ageSecondsOf = (at: string | null, nowMs: number): number | null =>
  at === null ? null : Math.max(0, Math.floor((nowMs - Date.parse(at)) / 1000));

/** The freshness of a connection with these resources. */
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

/** The health of one resource. */
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

/** The health of a connection with resources of these; one without resources was not synced yet. */
export const worst = (all: readonly Health[]): Health => worstFirst.find((health) => all.includes(health)) ?? 'pending';
