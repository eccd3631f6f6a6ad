/** Which keys Temporal still needs: what it stores of workflows and schedules is encrypted with the ring too. */
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { findLiveSchedules, type SweptSchedule } from '../../db/queries/runs/maintenance/sweep.ts';
import { applyAgain } from '../../db/queries/schedules.ts';
import { orgScope } from '../../db/scope.ts';
import {
  inboundHookType,
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

/** How many open workflows and schedules have something that is encrypted under a key; by the id of the key. */
export interface PayloadKeyCounts {
  readonly workflows: ReadonlyMap<string, number>;
  readonly schedules: ReadonlyMap<string, number>;
}

const deadlineMs = 10_000;

/** Asks Temporal for every open workflow and schedule of ours. Throws when it is away. */
export async function countPayloadKeys(deps: PayloadKeyDeps): Promise<PayloadKeyCounts> {
  const [workflows, schedules] = [new Map<string, number>(), new Map<string, number>()];
  const add = (counts: Map<string, number>, ids: Iterable<string>): void => {
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  };
  await someAtOnce(await openWorkflows(deps), async (workflow) => add(workflows, await keysOfWorkflow(deps, workflow)));
  await someAtOnce(await findLiveSchedules(deps.db), async ({ id }) => add(schedules, await keysOfSchedule(deps, id)));
  return { workflows, schedules };
}

/**
 * Stores again the schedules that are not encrypted under `kekId`; how many. An open workflow cannot be rewritten: it
 * goes on under its keys, and ends. Throws when Temporal is away.
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
  readonly runId: string;
}

const types = [syncRunType, scheduledRunType, scheduledTickType, webhookEndpointType, inboundHookType];
const openQuery = `ExecutionStatus = 'Running' AND WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')})`;

async function openWorkflows({ temporal }: PayloadKeyDeps): Promise<readonly OpenWorkflow[]> {
  const listed = temporal.workflow.list({ query: openQuery, pageSize: 1000 });
  return Array.fromAsync(listed, ({ workflowId, runId }) => ({ workflowId, runId }));
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

/** The ids of the keys of a schedule, read without a handle, which would decrypt what it reads. */
async function keysOfSchedule({ temporal }: PayloadKeyDeps, id: string) {
  const { namespace } = temporal.options;
  const request = { namespace, scheduleId: temporalScheduleId(id) };
  const described = await orUndefined(() =>
    temporal.withDeadline(Date.now() + deadlineMs, () => temporal.workflowService.describeSchedule(request)),
  );
  return keysIn(described?.schedule?.action);
}

const notFound = 5;

/** The result of `ask`; undefined: what it asks for is deleted by now, or not there yet. */
async function orUndefined<Value>(ask: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === notFound) return undefined;
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The keys of all payloads in a message of Temporal's. */
function keysIn(message: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof message !== 'object' || message === null || message instanceof Uint8Array) return found;
  const keyId = isPayload(message) ? payloadKeyId(message) : null;
  if (keyId !== null) found.add(keyId);
  else for (const part of Object.values(message)) keysIn(part, found);
  return found;
}

const isPayload = (message: object): message is Payload =>
  'metadata' in message && typeof message.metadata === 'object' && 'data' in message;
