/** What Temporal does for a run, counted in the histories of all workflows of its connection, whatever their ids are. */
import type { Client } from '@temporalio/client';
import { searchAttributes } from '../../workflows/contract.ts';

/** Of all workflows that a request or a firing led to. */
export interface TemporalFigures {
  readonly workflows: number;
  readonly events: number;
  readonly workflowTasks: number;
  /** What the store for lists of workflows is written: a start, each change of an attribute or memo, an end. */
  readonly visibilityWrites: number;
  /**
   * What Temporal Cloud bills (docs.temporal.io/cloud/actions, as of 2026): a start of a workflow, continued ones too, 1
   * unless a signal came with it; a schedule that fires 2 beside the start; each start or retry of an activity; all local
   * activities of one workflow task 1; a timer, also that of a condition with a timeout; a signal; a change of search
   * attributes. What leaves no event is missing: heartbeats (one for each half second of a chunk at most) and queries.
   */
  readonly actions: number;
  /** Events by type. */
  readonly types: Readonly<Record<string, number>>;
}

interface Span {
  /** Both ms since the epoch: only workflows that started in between count. */
  readonly from: number;
  readonly to: number;
}

/** Counts the closed workflows of a connection that started in this span of time. */
export async function temporalFigures(
  temporal: Client,
  connectionId: string,
  { from, to }: Span,
): Promise<TemporalFigures> {
  const query = `${searchAttributes.connectionId} = '${connectionId}' AND StartTime >= '${iso(from)}' AND StartTime < '${iso(to)}'`;
  const types = new Map<string, number>();
  let [workflows, markers, fired] = [0, 0, 0];
  for await (const { workflowId, runId } of temporal.workflow.list({ query })) {
    workflows += 1;
    const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    const withMarkers = new Set<string>();
    for (const event of events ?? []) {
      const type = nameOf(event);
      types.set(type, (types.get(type) ?? 0) + 1);
      if (event.markerRecordedEventAttributes)
        withMarkers.add(String(event.markerRecordedEventAttributes.workflowTaskCompletedEventId));
      const attributes = event.workflowExecutionStartedEventAttributes?.searchAttributes?.indexedFields;
      if (attributes && 'TemporalScheduledById' in attributes) fired += 1;
    }
    markers += withMarkers.size;
  }
  const count = (...names: readonly string[]): number => names.reduce((sum, name) => sum + (types.get(name) ?? 0), 0);
  return {
    workflows,
    events: count(...types.keys()),
    workflowTasks: count('workflowTaskCompleted'),
    visibilityWrites: 2 * workflows + count('upsertWorkflowSearchAttributes', 'workflowPropertiesModified'),
    actions:
      workflows +
      2 * fired +
      markers +
      count('activityTaskStarted', 'timerStarted', 'workflowExecutionSignaled', 'upsertWorkflowSearchAttributes'),
    types: Object.fromEntries(types),
  };
}

/** The kind of an event is that of its attributes. */
function nameOf(event: object): string {
  const name = Object.keys(event).find((key) => key.endsWith('EventAttributes') && Reflect.get(event, key) !== null);
  return name?.replace('EventAttributes', '') ?? 'unknown';
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** Events of the workflow behind a schedule of Temporal's. */
export async function scheduleEvents(temporal: Client, scheduleId: string, { from, to }: Span): Promise<number> {
  const handle = temporal.workflow.getHandle(`temporal-sys-scheduler:${scheduleId}`);
  const { events } = await handle.fetchHistory();
  const at = (seconds: unknown): number => Number(seconds) * 1000;
  return (events ?? []).filter(({ eventTime }) => at(eventTime?.seconds) >= from && at(eventTime?.seconds) < to).length;
}
