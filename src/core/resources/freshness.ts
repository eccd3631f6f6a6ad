import * as v from 'valibot';
import { ConnectionRow } from './connection.ts';
import { RunRow, RunStats, RunStatus } from './run.ts';
import { Timestamp } from './values.ts';

export const Health = v.pipe(
  v.picklist(['healthy', 'degraded', 'failing', 'syncing', 'pending']),
  v.description(
    'failing: the last run failed, or the attempts of the run that goes on do. degraded: overdue, the last run was partial, or records are in quarantine. syncing: a run is queued or running. pending: no run yet. Of a connection, the worst of its resources.',
  ),
);
export type Health = v.InferOutput<typeof Health>;

const Overdue = v.pipe(v.boolean(), v.description('The last success is more than two expected intervals ago.'));
const AgeSeconds = v.pipe(
  v.nullable(v.number()),
  v.description('Seconds since the last success; null: there was none.'),
);
const LastSuccessAt = v.pipe(v.nullable(Timestamp), v.description('Null: no run has succeeded yet.'));

export const ResourceFreshness = v.object({
  resourceKey: v.pipe(v.string(), v.examples(['contacts'])),
  health: Health,
  lastSuccessAt: LastSuccessAt,
  lastRecords: v.pipe(v.nullable(v.number()), v.description('Records that the last success delivered.')),
  lastRunAt: v.pipe(v.nullable(Timestamp), v.description('Null: no run yet.')),
  lastRunStatus: v.nullable(RunStatus),
  ageSeconds: AgeSeconds,
  expectedIntervalSeconds: v.pipe(
    v.nullable(v.number()),
    v.description('The longest interval between two firings of its enabled schedules; null: it has none.'),
  ),
  overdue: Overdue,
});
export type ResourceFreshness = v.InferOutput<typeof ResourceFreshness>;

export const Freshness = v.object({
  health: Health,
  lastSuccessAt: LastSuccessAt,
  ageSeconds: AgeSeconds,
  overdue: Overdue,
  resources: v.array(ResourceFreshness),
});
export type Freshness = v.InferOutput<typeof Freshness>;

/** A customer's view of a connection: no params, errors or records. */
export const FreshnessView = v.object({
  connection: v.pick(ConnectionRow, ['id', 'displayName', 'status']),
  freshness: Freshness,
  recentRuns: v.pipe(
    v.array(v.object({ ...v.pick(RunRow, ['id', 'status', 'resourceKey', 'startedAt']).entries, stats: RunStats })),
    v.description('Up to 10, newest first.'),
  ),
});
export type FreshnessView = v.InferOutput<typeof FreshnessView>;
