import * as v from 'valibot';
import { JsonObject } from '../json/json-object.ts';
import { ConnectionRow } from './connection.ts';
import { Count, Timestamp } from './values.ts';

export const RunTrigger = v.pipe(v.picklist(['manual', 'schedule', 'webhook', 'backfill']), v.examples(['schedule']));
export type RunTrigger = v.InferOutput<typeof RunTrigger>;

/** All but `queued` and `running` are final; `partial`: not every fetched record was delivered. */
export const RunStatus = v.pipe(
  v.picklist(['queued', 'running', 'succeeded', 'failed', 'partial', 'canceled']),
  v.examples(['succeeded']),
);
export type RunStatus = v.InferOutput<typeof RunStatus>;

/** Record counts of a run: `recordsIn = recordsOut + skipped + quarantined +` records deleted by a flag. */
export const RunStats = v.object({
  recordsIn: v.pipe(
    Count,
    v.description('Records selected from responses, and quarantined ones retried.'),
    v.examples([1200]),
  ),
  recordsOut: v.pipe(Count, v.description('Records acknowledged by the destination.'), v.examples([37])),
  skipped: v.pipe(Count, v.description('Unchanged, filtered, stale or repeated records.'), v.examples([1163])),
  deleted: v.pipe(Count, v.description('Deletions acknowledged by the destination.'), v.examples([0])),
  quarantined: v.pipe(Count, v.description('Records stored as quarantined instead of delivered.'), v.examples([0])),
});
export type RunStats = v.InferOutput<typeof RunStats>;

/** The examples of its fields make up the example run. */
export const RunRow = v.object({
  id: v.pipe(v.string(), v.examples(['run_01kaemm0dce7xb1k4c1m1f2p3q'])),
  connectionId: ConnectionRow.entries.id,
  resourceKey: v.pipe(v.string(), v.examples(['contacts'])),
  trigger: RunTrigger,
  status: RunStatus,
  startedAt: v.pipe(
    v.nullable(Timestamp),
    v.description('Null while queued.'),
    v.examples(['2026-03-01T08:30:00.012Z']),
  ),
  finishedAt: v.pipe(
    v.nullable(Timestamp),
    v.description('Null until the status is final.'),
    v.examples(['2026-03-01T08:30:12.470Z']),
  ),
  statsJson: RunStats,
  watermarkBefore: v.pipe(
    v.nullable(v.string()),
    v.description('Null: no incremental sync has finished yet.'),
    v.examples(['2026-03-01T08:15:00.000Z']),
  ),
  watermarkAfter: v.pipe(v.nullable(v.string()), v.examples(['2026-03-01T08:30:00.000Z'])),
  notes: v.pipe(
    v.record(v.string(), Count),
    v.description(
      'What the counts do not say, each with how often it applies: why the run is partial, why nothing was concluded from absence, what the API did against its spec.',
    ),
    v.examples([{}]),
  ),
  error: v.pipe(
    v.nullable(v.object({ code: v.pipe(v.string(), v.examples(['source_rejected'])), message: v.string() })),
    v.description(
      'Why the run failed, or was canceled by an operator in Temporal, and what to do next. While it runs: why its last attempt failed, which is retried.',
    ),
  ),
});
export type RunRow = v.InferOutput<typeof RunRow>;

export const CallLogRow = v.object({
  id: v.string(),
  runId: v.string(),
  sequence: v.pipe(v.number(), v.description('Position in the run, from 1.')),
  method: v.string(),
  url: v.string(),
  statusCode: v.pipe(v.nullable(v.number()), v.description('Null: no response arrived; `errorCode` says why.')),
  errorCode: v.pipe(
    v.nullable(v.string()),
    v.description(
      'Why no response arrived, or why it was not used: `network`, `timeout`, `egress_blocked`, `source_rejected`, `spec_invalid`; `canceled`: it was given up, as a page that was requested ahead and is behind the last one. Null: nothing went wrong.',
    ),
  ),
  durationMs: v.nullable(v.number()),
  attempt: v.pipe(v.number(), v.description('From 1.')),
  cacheHit: v.boolean(),
  reqHeadersRedacted: JsonObject,
  reqBodyRedacted: v.nullable(v.string()),
  respHeaders: JsonObject,
  respBodyTruncated: v.nullable(v.string()),
});
export type CallLogRow = v.InferOutput<typeof CallLogRow>;
