import { channel } from 'node:diagnostics_channel';
import { timeOfId } from './ids.ts';
import { workOf } from './work-ids.ts';

interface Counts {
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly skipped: number;
  readonly quarantined: number;
  readonly deleted: number;
}

/** Published once after the commit, or not at all if the process dies in between. */
export interface RunEnded extends Counts {
  readonly trigger: string;
  readonly status: string;
  /** Code of its error; `null` without one. */
  readonly code: string | null;
  /** Milliseconds from start to end; `null` if it never began. */
  readonly durationMs: number | null;
  /** Milliseconds from request to start; `null` if it never began. */
  readonly queuedMs: number | null;
}

/** Published after the commit, as {@link RunEnded} is. */
export type BatchRecorded = Counts;

/** A request to a customer's API or webhook destination: sent, blocked, or saved by a cache. */
export interface UpstreamCalled {
  readonly method: string;
  /** Status of the response; `null` if no complete one arrived. */
  readonly statusCode: number | null;
  /** Code of the error; `null` if a response arrived or none was needed. */
  readonly errorCode: string | null;
  readonly cacheHit: boolean;
  /** From 1. */
  readonly attempt: number;
  readonly durationMs: number;
}

/**
 * `rate_limit`: the limit of the spec; `retry_after`: requested by the API; `backoff`: the pause before a retry;
 * `destination`: requested by the destination.
 */
export const waitReasons = ['rate_limit', 'retry_after', 'backoff', 'destination'] as const;
type WaitReason = (typeof waitReasons)[number];

export interface WaitBegun {
  readonly reason: WaitReason;
  readonly waitMs: number;
}

export interface BatchApplied {
  readonly kind: string;
  readonly rows: number;
  readonly tombstones: number;
  readonly durationMs: number;
  readonly failed: boolean;
}

export interface EventSent {
  /** Code of the delivery's row: `delivered`, `http_status`, `timeout` and so on. */
  readonly result: string;
  /** `null` if no response began. */
  readonly statusCode: number | null;
  readonly durationMs: number;
}

export interface Repaired {
  readonly kind: RepairKind;
  readonly count: number;
}

export const repairKinds = [
  'run_started',
  'run_restarted',
  'run_ended',
  'endpoint_woken',
  'hook_woken',
  'schedule_applied',
  'schedule_corrected',
  'schedule_dropped',
  'firing_missed',
] as const;
type RepairKind = (typeof repairKinds)[number];

/** `timeout`: an expression took too long; `memory`: it used too much, or the process died. */
export const evaluatorEnds = ['timeout', 'memory'] as const;

export interface EvaluatorEnded {
  readonly reason: (typeof evaluatorEnds)[number];
}

export const refusalReasons = ['disk_full', 'too_many_connections'] as const;

export interface DatabaseRefused {
  readonly reason: (typeof refusalReasons)[number];
}

export interface RequestServed {
  readonly method: string;
  /** The route as declared, without values: `/api/v1/runs/:id`. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

export interface StatementSent {
  /** With placeholders for values. */
  readonly text: string;
  readonly durationMs: number;
  readonly failed: boolean;
}

/** Published once for each subscriber. */
export interface SubscriberFailed {
  readonly observation: string;
  readonly error: unknown;
}

export interface Observation<Fact> {
  /** Costs one test of a boolean without subscribers. */
  publish(fact: Fact): void;
  /** Calls `receive` within each {@link publish}; returns a function that ends it. What `receive` throws ends nothing. */
  subscribe(receive: (fact: Fact) => void): () => void;
}

/**
 * Facts that the service publishes about itself. `src/telemetry` and `src/observed-lines.ts` subscribe; this module
 * knows neither metrics, traces nor logs. Facts hold counts, times, words of a
 * fixed set and statements with placeholders: no org, address or data.
 * `idsOfWork` tells whose work it is.
 */
export const observations = {
  runEnded: observation<RunEnded>('run-ended'),
  batchRecorded: observation<BatchRecorded>('batch-recorded'),
  batchApplied: observation<BatchApplied>('batch-applied'),
  upstreamCalled: observation<UpstreamCalled>('upstream-called'),
  waitBegun: observation<WaitBegun>('wait-begun'),
  eventSent: observation<EventSent>('event-sent'),
  repaired: observation<Repaired>('repaired'),
  evaluatorEnded: observation<EvaluatorEnded>('evaluator-ended'),
  databaseRefused: observation<DatabaseRefused>('database-refused'),
  requestServed: observation<RequestServed>('request-served'),
  statementSent: observation<StatementSent>('statement-sent'),
  subscriberFailed: observation<SubscriberFailed>('subscriber-failed'),
} as const;

interface EndedRun {
  readonly id: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly trigger: string;
  readonly status: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly statsJson: Counts;
  readonly error: { readonly code: string } | null;
}

/** Call it after the commit, and only if this commit ended the run. */
export function publishRunEnded({ id: runId, connectionId, resourceKey, ...run }: EndedRun): void {
  const { trigger, status, startedAt, finishedAt, statsJson, error } = run;
  const [beganMs, endedMs] = [startedAt, finishedAt].map((time) => (time === null ? null : Date.parse(time)));
  const ended: RunEnded = {
    trigger,
    status,
    code: error?.code ?? null,
    durationMs: beganMs == null || endedMs == null ? null : Math.max(0, endedMs - beganMs),
    queuedMs: beganMs == null ? null : Math.max(0, beganMs - timeOfId(runId).getTime()),
    ...statsJson,
  };
  workOf({ connectionId, resourceKey, runId }, () => observations.runEnded.publish(ended));
}

function observation<Fact>(name: string): Observation<Fact> {
  const facts = channel(`connector-sync:${name}`);
  return {
    publish(fact) {
      if (facts.hasSubscribers) facts.publish(fact);
    },
    subscribe(receive) {
      let hasFailed = false;
      const subscriber = (message: unknown) => {
        try {
          // Only `publish` writes to the channel, so a message is a fact of this kind.
          receive(message as Fact);
        } catch (error) {
          // The channel would throw it as uncaught, which ends the process.
          if (hasFailed) return;
          hasFailed = true;
          observations.subscriberFailed.publish({ observation: name, error });
        }
      };
      facts.subscribe(subscriber);
      return () => {
        facts.unsubscribe(subscriber);
      };
    },
  };
}
