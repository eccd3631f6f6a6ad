/** Ids in the input of a workflow or activity, as log lines and spans name them. */

import { webhookEndpointId } from './contract.ts';

const names = ['orgId', 'connectionId', 'resourceKey', 'runId', 'scheduleId', 'endpointId'] as const;

export function idsOf(input: unknown): Readonly<Partial<Record<(typeof names)[number], string>>> {
  if (typeof input !== 'object' || input === null) return {};
  const fields = new Map(Object.entries(input));
  return Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = fields.get(name);
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

export function idsOfWorkflow(workflowId: string): ReturnType<typeof idsOf> {
  const [kind, first, resourceKey, third] = workflowId.split(':');
  if (first && webhookEndpointId({ orgId: '', endpointId: first }) === workflowId) return { endpointId: first };
  if ((kind !== 'sync' && kind !== 'inbound') || !first || !resourceKey) return {};
  const lane = { connectionId: first, resourceKey };
  if (third?.startsWith('run_')) return { ...lane, runId: third };
  return third?.startsWith('sched_') ? { ...lane, scheduleId: third.replace(/-.*$/, '') } : lane;
}
