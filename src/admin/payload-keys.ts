/** Keys that Temporal still needs: its workflows and schedules are encrypted with the ring too. */
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { findLiveSchedules, type SweptSchedule } from '../../db/queries/runs/maintenance/sweep.ts';
import { applyAgain } from '../../db/queries/schedules.ts';
import { orgScope } from '../../db/scope.ts';
import {
  inboundHookType,
  renewSignal,
  scheduledRunType,
  scheduledTickType,
  syncRunType,
  temporalScheduleId,
  webhookEndpointType,
} from '../../workflows/contract.ts';
import { applySchedule } from '../control/schedules/apply.ts';
import { type Payload, payloadKeyId } from '../core/crypto/payload-codec.ts';
import type { Deps } from '../deps.ts';
import { someAtOnce } from '../temporal/some-at-once.ts';

type PayloadKeyDeps = Pick<Deps, 'db' | 'temporal' | 'orchestrator'>;

/** By the key id of their payloads. */
export interface PayloadKeyUses {
  readonly workflows: ReadonlyMap<string, readonly KeyedWorkflow[]>;
  readonly schedules: ReadonlyMap<string, number>;
}

const deadlineMs = 10_000;

export interface KeyedWorkflow {
  readonly workflowId: string;
  readonly freeWhen: string;
}

/** Throws when Temporal is unreachable. */
export async function findPayloadKeys(deps: PayloadKeyDeps): Promise<PayloadKeyUses> {
  const workflows = new Map<string, KeyedWorkflow[]>();
  const schedules = new Map<string, number>();
  await someAtOnce(await openWorkflows(deps), async (workflow) => {
    const { workflowId, type } = workflow;
    for (const key of await keysOfWorkflow(deps, workflow)) {
      const known = workflows.get(key) ?? [];
      known.push({ workflowId, freeWhen: freeWhen[type] ?? 'it ends' });
      workflows.set(key, known);
    }
  });
  await someAtOnce(await findLiveSchedules(deps.db), async ({ id }) => {
    for (const key of await keysOfSchedule(deps, id)) schedules.set(key, (schedules.get(key) ?? 0) + 1);
  });
  return { workflows, schedules };
}

const runEnds = 'its run ends; POST /runs/:id/cancel ends it';
/** When a workflow releases an old key. */
const freeWhen: Readonly<Record<string, string>> = {
  [syncRunType]: runEnds,
  [scheduledRunType]: runEnds,
  [webhookEndpointType]: '`keys rotate` lets it begin anew',
  [inboundHookType]: 'the requests that wait have a run',
};

/**
 * Restarts endpoint workflows with payloads under other keys, and returns their number: they may otherwise stay open as
 * long as there are events. Throws when Temporal is unreachable.
 */
export async function renewEndpointWorkflows(deps: PayloadKeyDeps, kekId: string): Promise<number> {
  let told = 0;
  const open = await openWorkflows(deps);
  await someAtOnce(
    open.filter(({ type }) => type === webhookEndpointType),
    async (workflow) => {
      const keys = await keysOfWorkflow(deps, workflow);
      if ([...keys].every((key) => key === kekId)) return;
      const { workflowId, runId } = workflow;
      const signal = async () => {
        await deps.temporal.workflow.getHandle(workflowId, runId).signal(renewSignal);
        return true;
      };
      if (await orUndefined(() => deps.temporal.withDeadline(Date.now() + deadlineMs, signal))) told += 1;
    },
  );
  return told;
}

/**
 * Stores schedules under `kekId` and returns the number of changed ones. Open workflows cannot be rewritten and end
 * under their keys. Throws when Temporal is unreachable.
 */
export async function reencryptSchedules(deps: PayloadKeyDeps, kekId: string): Promise<number> {
  let changed = 0;
  await someAtOnce(await findLiveSchedules(deps.db), async (schedule: SweptSchedule) => {
    const keys = await keysOfSchedule(deps, schedule.id);
    if (keys.size === 1 && keys.has(kekId)) return;
    const scope = orgScope(schedule.orgId);
    await applyAgain(deps.db, scope, [schedule.id]);
    await applySchedule(deps, scope, schedule.id);
    changed += 1;
  });
  return changed;
}

interface OpenWorkflow {
  readonly workflowId: string;
  readonly type: string;
  readonly runId: string;
}

const types = [syncRunType, scheduledRunType, scheduledTickType, webhookEndpointType, inboundHookType];
const openQuery = `ExecutionStatus = 'Running' AND WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')})`;

async function openWorkflows({ temporal }: PayloadKeyDeps): Promise<readonly OpenWorkflow[]> {
  const listed = temporal.workflow.list({ query: openQuery, pageSize: 1000 });
  return Array.fromAsync(listed, ({ workflowId, runId, type }) => ({ workflowId, runId, type }));
}

async function keysOfWorkflow({ temporal }: PayloadKeyDeps, { workflowId, runId }: OpenWorkflow) {
  return keysIn(
    await orUndefined(() =>
      temporal.withDeadline(Date.now() + deadlineMs, () =>
        temporal.workflow.getHandle(workflowId, runId).fetchHistory(),
      ),
    ),
  );
}

/** Not read by a handle, which would decrypt the payloads. */
async function keysOfSchedule({ temporal }: PayloadKeyDeps, id: string) {
  const { namespace } = temporal.options;
  const request = { namespace, scheduleId: temporalScheduleId(id) };
  const described = await orUndefined(() =>
    temporal.withDeadline(Date.now() + deadlineMs, () => temporal.workflowService.describeSchedule(request)),
  );
  return keysIn(described?.schedule?.action);
}

const notFound = 5;

async function orUndefined<Value>(ask: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === notFound) return undefined;
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

function keysIn(message: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof message !== 'object' || message === null || message instanceof Uint8Array) return found;
  const keyId = isPayload(message) ? payloadKeyId(message) : null;
  if (keyId !== null) found.add(keyId);
  else for (const part of Object.values(message)) keysIn(part, found);
  return found;
}

const isPayload = (message: object): message is Payload =>
  'metadata' in message && typeof message.metadata === 'object' && 'data' in message;
