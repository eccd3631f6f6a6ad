/**
 * Names, ids and inputs sent to Temporal. Schedules and histories hold them, so they never change meaning, and inputs hold
 * ids only.
 */

export const controlQueue = 'css-control';
export const syncQueue = 'css-sync';
/** Webhook deliveries: slow receivers take no slots from syncs. */
export const webhookQueue = 'css-webhooks';

export const syncRunType = 'syncRun';
export const laneFreeSignal = 'laneFree';
export const progressQuery = 'progress';

export const progressSignal = 'chunkProgress';

/**
 * The second order of steps: a {@link FirstStep} within the workflow task, then chunks on their queue. The first order has
 * chunks only; its inputs predate this field.
 */
export const withFirstStep = 2;

export interface SyncRunInput {
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly runId: string;
  /** Absent if no schedule created the run. */
  readonly firing?: Firing;
  /** Absent for the first order of steps, which has no {@link FirstStep}. */
  readonly steps?: typeof withFirstStep;
}

export interface Firing {
  readonly scheduleId: string;
  /** ISO time before jitter. */
  readonly scheduledFor: string;
}

/**
 * Shows connection, resource and run in the list of the Temporal UI. A scheduled run is named by its firing, since Temporal
 * starts its workflow before the run exists.
 */
export const syncRunId = ({ connectionId, resourceKey, runId, firing }: Omit<SyncRunInput, 'orgId'>): string =>
  firing === undefined
    ? `sync:${connectionId}:${resourceKey}:${runId}`
    : `${scheduledRunId({ connectionId, resourceKey, scheduleId: firing.scheduleId })}-${toSeconds(firing.scheduledFor)}`;

/** Formats a time as Temporal does when it appends one to a workflow id. */
export const toSeconds = (time: string): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

/** Started by each firing of a schedule: creates the run and executes it. */
export const scheduledRunType = 'scheduledRun';

export interface ScheduledRunInput {
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly scheduleId: string;
}

export const scheduledRunId = ({ connectionId, resourceKey, scheduleId }: Omit<ScheduledRunInput, 'orgId'>): string =>
  `sync:${connectionId}:${resourceKey}:${scheduleId}`;

/** Started by the schedules of earlier versions: only creates the run. */
export const scheduledTickType = 'scheduledTick';

export interface ScheduledTickInput {
  readonly orgId: string;
  readonly scheduleId: string;
}

export interface FiringOutcome {
  /** `started`, or `skipped: ` and the reason. */
  readonly outcome: string;
  /** `null` if the firing is skipped. */
  readonly runId: string | null;
}

const temporalSchedulePrefix = 'sched:';
export const temporalScheduleId = (scheduleId: string): string => `${temporalSchedulePrefix}${scheduleId}`;
/** The id of our schedule, or `null` if Temporal's schedule is not ours. */
export const scheduleIdOf = (id: string): string | null =>
  id.startsWith(temporalSchedulePrefix) ? id.slice(temporalSchedulePrefix.length) : null;

export const webhookEndpointType = 'webhookEndpoint';
export const wakeSignal = 'wake';
/** Asks for a restart after the current check, because the history is under a key that is to be removed. */
export const renewSignal = 'renew';

export interface WebhookEndpointInput {
  readonly orgId: string;
  readonly endpointId: string;
}

export interface DrainResult {
  readonly state: 'ok' | 'probing' | 'paused' | 'disabled' | 'deleted';
  /** Milliseconds until the next check, or `null` when nothing waits. */
  readonly nextDueMs: number | null;
  readonly sent: number;
  readonly failed: number;
}

/** One workflow at a time per endpoint. */
export const webhookEndpointId = ({ endpointId }: WebhookEndpointInput): string => `webhook:${endpointId}`;

export const inboundHookType = 'inboundHook';
export const notedSignal = 'noted';

export interface InboundHookInput {
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
}

export interface InboundStep {
  /** Milliseconds until a run is due. 0 when a run was created or joined, or none may be; `null` when no request waits. */
  readonly waitMs: number | null;
  readonly outcome: string;
  readonly runId: string | null;
}

/** One workflow at a time per connection and resource. */
export const inboundHookId = ({ connectionId, resourceKey }: Omit<InboundHookInput, 'orgId'>): string =>
  `inbound:${connectionId}:${resourceKey}`;

/** Custom search attributes of type Keyword, registered when a worker starts. */
export const searchAttributes = {
  orgId: 'CssOrgId',
  connectionId: 'CssConnectionId',
  resourceKey: 'CssResourceKey',
  runId: 'CssRunId',
  trigger: 'CssTrigger',
  stage: 'CssStage',
} as const;

export type Stage = 'waiting' | 'running' | 'throttled' | 'finishing';

export interface ChunkProgress {
  readonly pages: number;
  readonly records: number;
  /** `null` while the run makes progress. */
  readonly waitsFor: 'source' | 'rate_limit' | 'destination' | null;
}

export interface ChunkResult {
  /** True when everything read is recorded, or the run is no longer running. */
  readonly done: boolean;
  /** True if a limit of the spec ended the read early: the run is `partial`. */
  readonly limited: boolean;
  /** Milliseconds to wait before the next chunk, or 0 to continue at once. */
  readonly waitMs: number;
  /** Absent for a rate limit. */
  readonly waitsFor?: 'report' | 'memory' | 'destination';
  readonly pages: number;
  readonly records: number;
  /** Set when it is not the run's turn. */
  readonly waiting?: true;
  /** Set if the chunk has ended the run. */
  readonly totals?: RunTotals;
}

export const nothingRead: ChunkResult = { done: false, limited: false, waitMs: 0, pages: 0, records: 0 };

/** The first step of a run, executed within the workflow task. */
export interface FirstStep {
  /** `null` if the firing creates no run. */
  readonly runId: string | null;
  readonly outcome: string;
  /** `null` if nothing was read yet; the activity then reads it. */
  readonly chunk: ChunkResult | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The run row at the end of the run; `deleted` if the row no longer exists. */
export type RunTotals = { readonly status: string } & Readonly<Record<string, number | string>>;
