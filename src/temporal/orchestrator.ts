import {
  type Client,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import {
  controlQueue,
  type InboundHookInput,
  inboundHookId,
  inboundHookType,
  laneFreeSignal,
  notedSignal,
  type SyncRunInput,
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

/** The state of a run's workflow, by its id: never by a list, since visibility is rate limited and late. */
type WorkflowState = 'open' | 'closed' | 'terminated' | 'absent';

/**
 * The port to Temporal. Every call times out after 1.5 s: an unguarded start blocks for 19 s when the server is down. A
 * timeout loses nothing, because the rows hold the open work and the sweeper does it.
 */
export interface Orchestrator {
  /** Starts the workflow of a run. Safe to repeat: a second start finds the first. */
  startRun(input: SyncRunInput, trigger: RunTrigger): Promise<void>;
  /** Starts the workflow of a run again that has closed although its run has not ended. Finds one that is open. */
  restartRun(input: SyncRunInput, trigger: RunTrigger): Promise<void>;
  /** Asks the workflow of a run to stop; nothing happens when there is none. */
  cancelRun(input: SyncRunInput): Promise<void>;
  /** Tells a waiting run that its lane is free; nothing happens when there is none. */
  wakeRun(input: SyncRunInput): Promise<void>;
  describeRun(input: SyncRunInput): Promise<WorkflowState>;
  /** Lets the workflow of an endpoint check for messages to send; starts it when there is none. Safe to repeat. */
  wakeEndpoint(input: WebhookEndpointInput): Promise<void>;
  /** Lets the workflow of a resource check for requests to hooks; starts it when there is none. Safe to repeat. */
  noteInbound(input: InboundHookInput): Promise<void>;
  /** Makes Temporal's schedule match the order, whatever it was. Safe to repeat. */
  putSchedule(order: ScheduleOrder): Promise<void>;
  /** Deletes Temporal's schedule; nothing happens when there is none. */
  dropSchedule(scheduleId: string): Promise<void>;
  /** Every schedule of ours that Temporal has, as it lists them: a moment late. */
  listSchedules(): Promise<readonly ListedSchedule[]>;
  /** Firings that Temporal has dropped after their catch-up window, since it has the schedule; null: it has none. */
  countMissedFirings(scheduleId: string): Promise<number | null>;
}

const deadlineMs = 1500;
/**
 * Calls in progress; an org has half of them. Otherwise a flood of one org keeps Temporal so busy that the calls for
 * others time out. Their runs are then left to the sweeper, and begin behind those of the flood.
 */
const callsMax = 20;
/** The milliseconds for which runs start without search attributes: a worker that starts registers what is missing. */
const attributesRetryMs = 60_000;

/** The port on a client; a namespace that lacks our search attributes gets its runs all the same, without them. */
export function createOrchestrator(client: Client, log: Pick<Log, 'warn'>): Orchestrator {
  const slots = createOrgSlots(callsMax);
  const bounded: Bounded = (orgId, call) => {
    // The wait for a slot is part of the time: nobody waits longer because Temporal is away.
    const deadline = Date.now() + deadlineMs;
    return slots.run(orgId, () => client.withDeadline(deadline, call));
  };
  const attributed = fallingBack(log);
  const start = (input: SyncRunInput, trigger: RunTrigger, options: RunStart) =>
    bounded(input.orgId, () => client.workflow.start(syncRunType, runStart(input, trigger, options)));
  /** Temporal itself terminates a workflow of too long a history, say. */
  const isByTemporal = async (input: SyncRunInput): Promise<boolean> => {
    const { namespace } = client.options;
    const last = { namespace, execution: { workflowId: syncRunId(input) }, maximumPageSize: 1 };
    const { history } = await bounded(input.orgId, () =>
      client.workflowService.getWorkflowExecutionHistoryReverse(last),
    );
    return history?.events?.[0]?.workflowExecutionTerminatedEventAttributes?.identity === 'history-service';
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
      try {
        const { status } = await bounded(input.orgId, () => client.workflow.getHandle(syncRunId(input)).describe());
        if (status.name === 'TERMINATED') return (await isByTemporal(input)) ? 'closed' : 'terminated';
        return status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW' ? 'open' : 'closed';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'absent';
        throw error;
      }
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

interface RunStart {
  /** Whether a closed workflow of the same id prevents the start. */
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
  // No priority: it would override the fairness between orgs. The rows decide the order within an org.
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

/** Calls with search attributes, and without them as long as Temporal does not know ours. */
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

/** Whether a call failed because Temporal is not reachable, not because it refused. */
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
