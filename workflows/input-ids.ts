/** The ids in the input of a workflow or activity, by the names that lines of the log and spans give them. */

const names = ['orgId', 'connectionId', 'resourceKey', 'runId', 'scheduleId', 'endpointId'] as const;

/** The ids that the input has. */
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

/** The ids in the id of a workflow: of a run with its schedule or its own id, of an endpoint, of the hooks of a resource. */
export function idsOfWorkflow(workflowId: string): ReturnType<typeof idsOf> {
  const [kind, first, resourceKey, third] = workflowId.split(':');
  if (kind === 'webhook' && first) return { endpointId: first };
  if ((kind !== 'sync' && kind !== 'inbound') || !first || !resourceKey) return {};
  const lane = { connectionId: first, resourceKey };
  if (third?.startsWith('run_')) return { ...lane, runId: third };
  return third?.startsWith('sched_') ? { ...lane, scheduleId: third.replace(/-.*$/, '') } : lane;
}
