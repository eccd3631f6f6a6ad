/** What is said to Temporal: names, ids and inputs. Schedules and histories hold them, so they never change meaning. */

/** Workflows and short bookkeeping. */
export const controlQueue = 'css-control';
/** Chunks of runs: long activities. */
export const syncQueue = 'css-sync';
/** Webhook deliveries: slow receivers occupy nothing that syncs need. */
export const webhookQueue = 'css-webhooks';

/** The workflow that executes one run. */
export const syncRunType = 'syncRun';
/** Tells a waiting run that its lane may be free. */
export const laneFreeSignal = 'laneFree';
/** How far a run is, as an operator asks for it. */
export const progressQuery = 'progress';

/** Tells a run how far its chunk is, with {@link ChunkProgress}. */
export const progressSignal = 'chunkProgress';

/** Ids only: nothing else of a run may enter a history. */
export interface SyncRunInput {
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly runId: string;
}

/** Says in the list of the Temporal UI which connection, resource and run it is. */
export const syncRunId = ({ connectionId, resourceKey, runId }: Omit<SyncRunInput, 'orgId'>): string =>
  `sync:${connectionId}:${resourceKey}:${runId}`;

/** The workflow that a schedule starts each time it fires. */
export const scheduledTickType = 'scheduledTick';

/** Ids only. */
export interface ScheduledTickInput {
  readonly orgId: string;
  readonly scheduleId: string;
}

/** What came of a firing, in the words of the Temporal UI. */
export interface TickOutcome {
  /** `started`, or `skipped: ` and why. */
  readonly outcome: string;
  /** Null: skipped. */
  readonly runId: string | null;
}

const temporalSchedulePrefix = 'sched:';
/** The id of Temporal's schedule. */
export const temporalScheduleId = (scheduleId: string): string => `${temporalSchedulePrefix}${scheduleId}`;
/** The schedule that Temporal's is of; null: it is not one of ours. */
export const scheduleIdOf = (id: string): string | null =>
  id.startsWith(temporalSchedulePrefix) ? id.slice(temporalSchedulePrefix.length) : null;

/** Temporal appends the time of the firing. */
export const scheduledTickId = (schedule: {
  readonly id: string;
  readonly connectionId: string;
  readonly resourceKey: string;
}): string => `tick:${schedule.connectionId}:${schedule.resourceKey}:${schedule.id}`;

/** The workflow that sends the events of one endpoint, while there are any. */
export const webhookEndpointType = 'webhookEndpoint';
/** Tells it that there may be something to send. */
export const wakeSignal = 'wake';

/** Ids only. */
export interface WebhookEndpointInput {
  readonly orgId: string;
  readonly endpointId: string;
}

/** Requests to endpoints that one worker has under way at once. */
export const postsMax = 256;

/** What a look at an endpoint came to: totals and states, nothing of events. */
export interface DrainResult {
  readonly state: 'ok' | 'probing' | 'paused' | 'disabled' | 'deleted';
  /** Milliseconds until it is worth looking again; null: nothing waits. */
  readonly nextDueMs: number | null;
  readonly sent: number;
  readonly failed: number;
}

/** One at a time per endpoint. */
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

/** What came of looking for requests that wait. */
export interface InboundStep {
  /** Milliseconds until a run is due; 0: one was made or joined, or none may be; null: no request waits. */
  readonly waitMs: number | null;
  /** In the words of the Temporal UI. */
  readonly outcome: string;
  /** The run that was made or joined; null: there is none. */
  readonly runId: string | null;
}

/** One at a time per connection and resource. */
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

/** How far a chunk is while it works. */
export interface ChunkProgress {
  /** Totals of the run so far. */
  readonly pages: number;
  readonly records: number;
  /** What has been waited for since the last report; null: the run moves. */
  readonly waitsFor: 'source' | 'destination' | null;
}

/** What one chunk came to. */
export interface ChunkResult {
  /** The read is complete and everything of it is recorded, or the run is no longer running. */
  readonly done: boolean;
  /** A limit of the spec ended the read before its natural end: the run is `partial`. */
  readonly limited: boolean;
  /** Milliseconds to wait before the next chunk; 0: go on at once. */
  readonly waitMs: number;
  /** Totals of the run so far, for the operator's view. */
  readonly pages: number;
  readonly records: number;
  /** It is not the run's turn; absent: it is. */
  readonly waiting?: true;
  /** What became of the run, which the chunk has ended; absent: it has not. */
  readonly totals?: RunTotals;
}

/** The result of a run's workflow: what the run row says at its end. `gone`: there is no such row. */
export type RunTotals = { readonly status: string } & Readonly<Record<string, number | string>>;
