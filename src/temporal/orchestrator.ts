import {
  type Client,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  controlQueue,
  type InboundHookInput,
  inboundHookId,
  inboundHookType,
  laneFreeSignal,
  notedSignal,
  type SyncRunInput,
  searchAttributes,
  syncRunId,
  syncRunType,
  type WebhookEndpointInput,
  wakeSignal,
  webhookEndpointId,
  webhookEndpointType,
  withFirstStep,
} from '../../workflows/contract.ts';
import type { RunTrigger } from '../core/resources/run.ts';
import { createOrgSlots } from '../core/work/org-slots.ts';
import type { Log } from '../log.ts';
import { attributesOf } from './search-attributes.ts';
import {
  type Attributed,
  type Bounded,
  createTemporalSchedules,
  type ListedSchedule,
  type ScheduleOrder,
} from './temporal-schedules.ts';

/** What the workflow of a run does, for people. */
interface RunWatch {
  /** It sleeps until the API, a report or the destination lets it go on. */
  readonly isPaused: boolean;
  /** Its activity that has not ended; null: none. */
  readonly activity: {
    /** From 1; of one that is tried again, the next. */
    readonly attempt: number;
    readonly isStarted: boolean;
    /** When the next attempt begins; null: none is scheduled for later. */
    readonly nextTryAt: string | null;
  } | null;
}

/** The state of a run's workflow, looked up by id: lists are rate limited and late. */
type WorkflowState = 'open' | 'closed' | 'terminated' | 'absent';

/**
 * The port to Temporal. Every call times out after 1.5 s: an unguarded start blocks for 19 s when the server is down. A
 * timeout loses nothing: the rows hold the open work and the sweeper does it.
 */
export interface Orchestrator {
  /** Safe to repeat: a second start finds the first. */
  startRun(input: SyncRunInput, trigger: RunTrigger): Promise<void>;
  /** For a workflow that has closed before its run has ended. */
  restartRun(input: SyncRunInput, trigger: RunTrigger): Promise<void>;
  /** Does nothing if the workflow does not exist. */
  cancelRun(input: SyncRunInput): Promise<void>;
  /** Does nothing if the workflow does not exist. */
  wakeRun(input: SyncRunInput): Promise<void>;
  describeRun(input: SyncRunInput): Promise<WorkflowState>;
  /** Null: there is no open workflow of the run. */
  watchRun(input: SyncRunInput): Promise<RunWatch | null>;
  /** Starts the workflow of the endpoint if needed; safe to repeat. */
  wakeEndpoint(input: WebhookEndpointInput): Promise<void>;
  /** Starts the workflow of the resource if needed; safe to repeat. */
  noteInbound(input: InboundHookInput): Promise<void>;
  /** Creates or changes the schedule; safe to repeat. */
  putSchedule(order: ScheduleOrder): Promise<void>;
  /** Does nothing if the schedule does not exist. */
  dropSchedule(scheduleId: string): Promise<void>;
  /** As Temporal lists them, a moment late. */
  listSchedules(): Promise<readonly ListedSchedule[]>;
  /** Firings dropped after their catch-up window since the schedule exists in Temporal, or `null` if it does not. */
  countMissedFirings(scheduleId: string): Promise<number | null>;
}

const deadlineMs = 1500;
/**
 * An org gets half of the concurrent calls. Otherwise a flood from one org would make the calls for others time out, and
 * their runs would be left to the sweeper behind the flood.
 */
const callsMax = 20;
/** Milliseconds for which runs start without search attributes: a worker that starts registers missing ones. */
const attributesRetryMs = 60_000;

/** A namespace without our search attributes still gets its runs, without them. */
export function createOrchestrator(client: Client, log: Pick<Log, 'warn'>): Orchestrator {
  const slots = createOrgSlots(callsMax);
  const bounded: Bounded = (orgId, call) => {
    // The wait for a slot counts: callers never wait longer because Temporal is away.
    const deadline = Date.now() + deadlineMs;
    return slots.run(orgId, () => client.withDeadline(deadline, call));
  };
  const attributed = fallingBack(log);
  const start = (input: SyncRunInput, trigger: RunTrigger, options: RunStart) =>
    bounded(input.orgId, () => client.workflow.start(syncRunType, runStart(input, trigger, options)));
  /** True if Temporal itself terminated the workflow, for example for a history that is too long. */
  const isByTemporal = async (input: SyncRunInput): Promise<boolean> => {
    const { namespace } = client.options;
    const last = { namespace, execution: { workflowId: syncRunId(input) }, maximumPageSize: 1 };
    const { history } = await bounded(input.orgId, () =>
      client.workflowService.getWorkflowExecutionHistoryReverse(last),
    );
    return history?.events?.[0]?.workflowExecutionTerminatedEventAttributes?.identity === 'history-service';
  };
  const description = async (input: SyncRunInput): Promise<WorkflowExecutionDescription | null> => {
    try {
      return await bounded(input.orgId, () => client.workflow.getHandle(syncRunId(input)).describe());
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  };
  return {
    async startRun(input, trigger) {
      try {
        await attributed((withAttributes) => start(input, trigger, { reuse: 'REJECT_DUPLICATE', withAttributes }));
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      }
    },
    restartRun: (input, trigger) =>
      attributed(async (withAttributes) => {
        await start(input, trigger, { reuse: 'ALLOW_DUPLICATE', withAttributes });
      }),
    async cancelRun(input) {
      await ignoringAbsence(bounded(input.orgId, () => client.workflow.getHandle(syncRunId(input)).cancel()));
    },
    async wakeRun(input) {
      const wake = () => client.workflow.getHandle(syncRunId(input)).signal(laneFreeSignal);
      await ignoringAbsence(bounded(input.orgId, wake));
    },
    async describeRun(input) {
      const name = (await description(input))?.status.name;
      if (name === undefined) return 'absent';
      if (name === 'TERMINATED') return (await isByTemporal(input)) ? 'closed' : 'terminated';
      return name === 'RUNNING' || name === 'CONTINUED_AS_NEW' ? 'open' : 'closed';
    },
    async watchRun(input) {
      const found = await description(input);
      return found?.status.name === 'RUNNING' ? watchOf(found) : null;
    },
    async wakeEndpoint(input) {
      await attributed((withAttributes) =>
        bounded(input.orgId, () =>
          client.workflow.signalWithStart(webhookEndpointType, endpointStart(input, withAttributes)),
        ),
      );
    },
    async noteInbound(input) {
      await attributed((withAttributes) =>
        bounded(input.orgId, () =>
          client.workflow.signalWithStart(inboundHookType, inboundStart(input, withAttributes)),
        ),
      );
    },
    ...createTemporalSchedules(client, { bounded, attributed }),
  };
}

function watchOf({ raw, typedSearchAttributes }: WorkflowExecutionDescription): RunWatch {
  const [pending] = raw.pendingActivities ?? [];
  const isPaused = typedSearchAttributes.get(stageKey) === 'throttled';
  if (!pending) return { isPaused, activity: null };
  const isStarted = pending.state === pendingStarted;
  const { seconds = 0, nanos = 0 } = pending.scheduledTime ?? {};
  const nextTryMs = isStarted ? 0 : 1000 * Number(seconds) + Math.floor((nanos ?? 0) / 1e6);
  return {
    isPaused,
    activity: {
      attempt: pending.attempt ?? 1,
      isStarted,
      nextTryAt: nextTryMs > Date.now() ? new Date(nextTryMs).toISOString() : null,
    },
  };
}

/** PENDING_ACTIVITY_STATE_STARTED of Temporal's API. */
const pendingStarted = 2;
const stageKey = defineSearchAttributeKey(searchAttributes.stage, SearchAttributeType.KEYWORD);

interface RunStart {
  readonly reuse: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE';
  readonly withAttributes: boolean;
}

const runStart = (
  input: SyncRunInput,
  trigger: RunTrigger,
  { reuse, withAttributes }: RunStart,
): WorkflowStartOptions => ({
  workflowId: syncRunId(input),
  taskQueue: controlQueue,
  args: [{ ...input, steps: withFirstStep }],
  workflowIdReusePolicy: reuse,
  workflowIdConflictPolicy: 'USE_EXISTING',
  // A priority would override the fairness between orgs. The rows decide the order within an org.
  priority: { fairnessKey: input.orgId },
  staticSummary: `sync ${input.resourceKey} of ${input.connectionId} (${trigger})`,
  staticDetails: `Run \`${input.runId}\`: \`GET /api/v1/runs/${input.runId}\`, its calls under \`/calls\`.`,
  ...(withAttributes ? { typedSearchAttributes: attributesOf({ ...input, trigger, stage: 'running' }) } : {}),
});

const endpointStart = (input: WebhookEndpointInput, withAttributes: boolean) => ({
  workflowId: webhookEndpointId(input),
  taskQueue: controlQueue,
  args: [input],
  signal: wakeSignal,
  priority: { fairnessKey: input.orgId },
  staticSummary: `webhooks to ${input.endpointId}`,
  staticDetails: `Attempts and their results: \`GET /api/v1/webhook-deliveries\`.`,
  ...(withAttributes ? { typedSearchAttributes: attributesOf({ orgId: input.orgId }) } : {}),
});

const inboundStart = (input: InboundHookInput, withAttributes: boolean) => ({
  workflowId: inboundHookId(input),
  taskQueue: controlQueue,
  args: [input],
  signal: notedSignal,
  priority: { fairnessKey: input.orgId },
  staticSummary: `hook requests for ${input.resourceKey} of ${input.connectionId}`,
  staticDetails:
    'Requests received: `GET /api/v1/hooks/{id}/requests`. The result of the workflow says what they started.',
  ...(withAttributes ? { typedSearchAttributes: attributesOf({ ...input, trigger: 'webhook' }) } : {}),
});

/** Calls with search attributes, and for a while without them if Temporal does not know ours. */
function fallingBack(log: Pick<Log, 'warn'>): Attributed {
  let knownAfter = 0;
  return async (call) => {
    const withAttributes = Date.now() >= knownAfter;
    try {
      await call(withAttributes);
    } catch (error) {
      if (!withAttributes || !hasStatus(error, invalidArgument)) throw error;
      knownAfter = Date.now() + attributesRetryMs;
      log.warn('the Css* search attributes are not registered in Temporal; workflows start without them', { error });
      await call(false);
    }
  };
}

const [invalidArgument, deadlineExceeded, unavailable] = [3, 4, 14];

/** True if Temporal is not reachable, not if it refused the call. */
export const isTemporalAway = (error: unknown): boolean =>
  hasStatus(error, unavailable) || hasStatus(error, deadlineExceeded);

/** The SDK wraps the response of the server. */
function hasStatus(error: unknown, status: number | undefined): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isGrpcServiceError(cause) && cause.code === status;
}

async function ignoringAbsence(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
