/** Names, ids and inputs sent to Temporal. Schedules and histories hold them, so they never change meaning. */

/** Workflows and short bookkeeping. */
export const controlQueue = 'css-control';
/** Chunks of runs: long activities. */
export const syncQueue = 'css-sync';
/** Webhook deliveries: slow receivers take no slots from syncs. */
export const webhookQueue = 'css-webhooks';

/** The workflow that executes one run. */
export const syncRunType = 'syncRun';
/** Tells a waiting run that its lane may be free. */
export const laneFreeSignal = 'laneFree';
/** The progress of a run, for operators. */
export const progressQuery = 'progress';

/** Tells a run how far its chunk is, with {@link ChunkProgress}. */
export const progressSignal = 'chunkProgress';

/**
 * The second order of steps of a run's workflow: a {@link FirstStep} in the task of the workflow itself, then chunks on their
 * queue. The first order has chunks only; its inputs have no number, because they are older than the field.
 */
export const withFirstStep = 2;

/** Ids only: nothing else of a run may enter a history. */
export interface SyncRunInput {
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly runId: string;
  /** The firing that created the run; absent: no schedule did. */
  readonly firing?: Firing;
  /** The order of steps that the workflow follows; absent: the first one, without a {@link FirstStep}. */
  readonly steps?: typeof withFirstStep;
}

/** A firing of a schedule. */
export interface Firing {
  readonly scheduleId: string;
  /** When it was to fire, before jitter; ISO. */
  readonly scheduledFor: string;
}

/**
 * Says in the list of the Temporal UI which connection and resource it is, and which run: a scheduled one by its firing,
 * since Temporal starts its workflow before there is a run.
 */
export const syncRunId = ({ connectionId, resourceKey, runId, firing }: Omit<SyncRunInput, 'orgId'>): string =>
  firing === undefined
    ? `sync:${connectionId}:${resourceKey}:${runId}`
    : `${scheduledRunId({ connectionId, resourceKey, scheduleId: firing.scheduleId })}-${toSeconds(firing.scheduledFor)}`;

/** The form in which Temporal appends a time to a workflow's id. */
export const toSeconds = (time: string): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

/** The workflow that a schedule starts each time it fires: it creates the run of the firing and executes it. */
export const scheduledRunType = 'scheduledRun';

/** Ids only. */
export interface ScheduledRunInput {
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly scheduleId: string;
}

/** Temporal appends the time of the firing. */
export const scheduledRunId = ({ connectionId, resourceKey, scheduleId }: Omit<ScheduledRunInput, 'orgId'>): string =>
  `sync:${connectionId}:${resourceKey}:${scheduleId}`;

/** The workflow that schedules started in earlier versions: it only creates the run. */
export const scheduledTickType = 'scheduledTick';

/** Ids only. */
export interface ScheduledTickInput {
  readonly orgId: string;
  readonly scheduleId: string;
}

/** The result of a firing, as the Temporal UI shows it. */
export interface FiringOutcome {
  /** `started`, or `skipped: ` and why. */
  readonly outcome: string;
  /** The run; null: the firing is skipped. */
  readonly runId: string | null;
}

const temporalSchedulePrefix = 'sched:';
/** The id of Temporal's schedule. */
export const temporalScheduleId = (scheduleId: string): string => `${temporalSchedulePrefix}${scheduleId}`;
/** The id of our schedule, from the id of Temporal's; null: it is not one of ours. */
export const scheduleIdOf = (id: string): string | null =>
  id.startsWith(temporalSchedulePrefix) ? id.slice(temporalSchedulePrefix.length) : null;

/** The workflow that sends the events of one endpoint, while there are any. */
export const webhookEndpointType = 'webhookEndpoint';
/** Tells it that there may be something to send. */
export const wakeSignal = 'wake';
/** Tells it to begin anew once its check has ended: its history is under a key that is to be removed. */
export const renewSignal = 'renew';

/** Ids only. */
export interface WebhookEndpointInput {
  readonly orgId: string;
  readonly endpointId: string;
}

/** The result of one check of an endpoint: totals and states, no event data. */
export interface DrainResult {
  readonly state: 'ok' | 'probing' | 'paused' | 'disabled' | 'deleted';
  /** Milliseconds until the next check; null: nothing waits. */
  readonly nextDueMs: number | null;
  readonly sent: number;
  readonly failed: number;
}

/** The id of the workflow of an endpoint: one at a time per endpoint. */
export const webhookEndpointId = ({ endpointId }: WebhookEndpointInput): string => `webhook:${endpointId}`;

/** The workflow that turns the requests to the hooks of a connection and resource into runs, while there are any. */
export const inboundHookType = 'inboundHook';
/** Tells it that a request was accepted. */
export const notedSignal = 'noted';

/** Ids only. */
export interface InboundHookInput {
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
}

/** The result of a check for waiting requests. */
export interface InboundStep {
  /** Milliseconds until a run is due; 0: a run was created or joined, or none may be created; null: no request waits. */
  readonly waitMs: number | null;
  /** The outcome as the Temporal UI shows it. */
  readonly outcome: string;
  /** The run that was created or joined; null: there is none. */
  readonly runId: string | null;
}

/** The id of the workflow of hooks: one at a time per connection and resource. */
export const inboundHookId = ({ connectionId, resourceKey }: Omit<InboundHookInput, 'orgId'>): string =>
  `inbound:${connectionId}:${resourceKey}`;

/** Custom search attributes, all of type Keyword; registered at the start of a worker. */
export const searchAttributes = {
  orgId: 'CssOrgId',
  connectionId: 'CssConnectionId',
  resourceKey: 'CssResourceKey',
  runId: 'CssRunId',
  trigger: 'CssTrigger',
  stage: 'CssStage',
} as const;

/** Values of the search attribute `CssStage`. */
export type Stage = 'waiting' | 'running' | 'throttled' | 'finishing';

/** The progress of a chunk while it works. */
export interface ChunkProgress {
  /** Totals of the run so far. */
  readonly pages: number;
  readonly records: number;
  /** What the run has waited for since the last report; null: it makes progress. */
  readonly waitsFor: 'source' | 'rate_limit' | 'destination' | null;
}

/** The result of one chunk. */
export interface ChunkResult {
  /** The read is complete and everything of it is recorded, or the run is no longer running. */
  readonly done: boolean;
  /** A limit of the spec ended the read before its natural end: the run is `partial`. */
  readonly limited: boolean;
  /** Milliseconds to wait before the next chunk; 0: continue at once. */
  readonly waitMs: number;
  /** What the wait is for; absent: a rate limit. */
  readonly waitsFor?: 'report' | 'memory' | 'destination';
  /** Totals of the run so far, for the operator's view. */
  readonly pages: number;
  readonly records: number;
  /** Set when it is not the run's turn; absent: it is. */
  readonly waiting?: true;
  /** The result of the run, if the chunk has ended it; absent: it has not. */
  readonly totals?: RunTotals;
}

/** The result of a chunk before the first page. */
export const nothingRead: ChunkResult = { done: false, limited: false, waitMs: 0, pages: 0, records: 0 };

/** The result of the first step of a run, which is part of the workflow task itself. */
export interface FirstStep {
  /** The run; null: the firing creates none. */
  readonly runId: string | null;
  /** The outcome of a firing, for operators. */
  readonly outcome: string;
  /** What was read; null: nothing yet, the activity does it. */
  readonly chunk: ChunkResult | null;
  /** Why the run fails; null: it does not. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The result of a run's workflow: what the run row says at its end. `deleted`: there is no such row any more. */
export type RunTotals = { readonly status: string } & Readonly<Record<string, number | string>>;
