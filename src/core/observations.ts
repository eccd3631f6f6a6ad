import { channel } from 'node:diagnostics_channel';
import { timeOfId } from './ids.ts';
import { workOf } from './work-ids.ts';

/** Records by their outcome. */
interface Counts {
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly skipped: number;
  readonly quarantined: number;
  readonly deleted: number;
}

/** A run has its final status. Published after the commit: once, and not at all if the process dies between the two. */
export interface RunEnded extends Counts {
  readonly trigger: string;
  readonly status: string;
  /** The code of its error; null: it has none. */
  readonly code: string | null;
  /** The time from its start to its end in milliseconds; null: it never began. */
  readonly durationMs: number | null;
  /** The time from its request to its start in milliseconds; null: it never began. */
  readonly queuedMs: number | null;
}

/** A batch is recorded. Published after the commit, as {@link RunEnded} is. */
export type BatchRecorded = Counts;

/** A request to a customer's API or webhook destination: one on the wire, a blocked one, or one that a cache saved. */
export interface UpstreamCalled {
  readonly method: string;
  /** The status of the response; null: no complete one arrived. */
  readonly statusCode: number | null;
  /** The code of the error; null: a response arrived, or none was needed. */
  readonly errorCode: string | null;
  readonly cacheHit: boolean;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  readonly durationMs: number;
}

/**
 * What a run waits for: `rate_limit`: the limit that its spec sets; `retry_after`: the API requested it; `backoff`: the
 * pause before a retry; `destination`: the destination requested it.
 */
export const waitReasons = ['rate_limit', 'retry_after', 'backoff', 'destination'] as const;
/** One of {@link waitReasons}. */
type WaitReason = (typeof waitReasons)[number];

/** A wait begins. */
export interface WaitBegun {
  readonly reason: WaitReason;
  readonly waitMs: number;
}

/** A destination has applied a batch, or failed to. */
export interface BatchApplied {
  readonly kind: string;
  readonly rows: number;
  readonly tombstones: number;
  readonly durationMs: number;
  readonly failed: boolean;
}

/** One attempt to send an event to an endpoint. */
export interface EventSent {
  /** `delivered`, `http_status`, `timeout` and so on: the code of the delivery's row. */
  readonly result: string;
  /** Null: no response began. */
  readonly statusCode: number | null;
  readonly durationMs: number;
}

/** A sweeper repaired something that was lost. */
export interface Repaired {
  readonly kind: RepairKind;
  readonly count: number;
}

/** What sweepers repair. */
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
/** One of {@link repairKinds}. */
type RepairKind = (typeof repairKinds)[number];

/** Why the child process of an evaluator ended. `timeout`: an expression took too long; `memory`: too much, or it died. */
export const evaluatorEnds = ['timeout', 'memory'] as const;

/** The child process of an evaluator has ended. */
export interface EvaluatorEnded {
  readonly reason: (typeof evaluatorEnds)[number];
}

/** Why the control database refuses a statement or a connection: it has no space left on its disk, or no connection. */
export const refusalReasons = ['disk_full', 'too_many_connections'] as const;

/** The control database refused a statement or a connection for want of something. */
export interface DatabaseRefused {
  readonly reason: (typeof refusalReasons)[number];
}

/** The API has responded to a request. */
export interface RequestServed {
  readonly method: string;
  /** The path as the route declares it, without values: `/api/v1/runs/:id`. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

/** The control database has carried out a statement, or refused it. */
export interface StatementSent {
  /** With placeholders for its values. */
  readonly text: string;
  readonly durationMs: number;
  readonly failed: boolean;
}

/** Something that happens in a process, for whoever counts, traces or logs it. */
export interface Observation<Fact> {
  /** Costs a test of a boolean while nobody subscribes. */
  publish(fact: Fact): void;
  /** Calls `receive` within each {@link publish}; returns what ends that. It must not throw. */
  subscribe(receive: (fact: Fact) => void): () => void;
}

/**
 * What the service publishes about itself. It knows neither metrics, traces nor logs: `src/telemetry` and
 * `src/observed-lines.ts` subscribe. Facts hold counts, times and words of a fixed set; no org, no address, no data. Whose work
 * it is, `idsOfWork` says.
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
} as const;

/** What {@link publishRunEnded} reads of a run. */
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

/** Publishes that a run ended, as work of it; call it after the commit, and only where this commit ended it. */
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
      // Only `publish` writes to the channel, so a message is a fact of this kind.
      const subscriber = (message: unknown) => receive(message as Fact);
      facts.subscribe(subscriber);
      return () => {
        facts.unsubscribe(subscriber);
      };
    },
  };
}
