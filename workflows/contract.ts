/** What is said to Temporal: names, ids and inputs. Schedules and histories hold them, so they never change meaning. */

/** Workflows and short bookkeeping. */
export const controlQueue = 'css-control';
/** Chunks of runs: long activities. */
export const syncQueue = 'css-sync';

/** The workflow that executes one run. */
export const syncRunType = 'syncRun';
/** Tells a waiting run that its lane may be free. */
export const laneFreeSignal = 'laneFree';
/** How far a run is, as an operator asks for it. */
export const progressQuery = 'progress';

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
}

/** The result of a run's workflow: what the run row says at its end. `gone`: there is no such row. */
export type RunTotals = { readonly status: string } & Readonly<Record<string, number | string>>;
