/** The least that firings can take here: schedules of Temporal that start the workflow of one empty activity. */
import type { Client } from '@temporalio/client';
import { eventually } from '../../test/support/service/eventually.ts';
import { percentile } from '../support/figures.ts';
import type { Firings } from './firings.ts';

/** Makes the schedules, all due at the multiples of `everyMs`; what is returned deletes them. */
export async function scheduleFloor(
  temporal: Client,
  { schedules, everyMs, taskQueue }: Pick<Firings, 'schedules' | 'everyMs'> & { readonly taskQueue: string },
): Promise<() => Promise<void>> {
  const make = (place: number) =>
    temporal.schedule.create({
      scheduleId: `floor:${place}`,
      spec: { intervals: [{ every: everyMs }] },
      action: { type: 'startWorkflow', workflowType: 'oneActivity', workflowId: `fired-floor:${place}`, taskQueue },
    });
  const made = await Promise.all(Array.from({ length: schedules }, (_unused, place) => make(place)));
  return async () => void (await Promise.all(made.map((schedule) => schedule.delete())));
}

/** From the time of a firing to the end of its workflow, p95 in s, once all of them have ended. */
export async function floorP95(temporal: Client, { schedules, firstMs, everyMs, count }: Firings): Promise<number> {
  const [from, to] = [firstMs - everyMs / 2, firstMs + (count - 0.5) * everyMs].map((ms) => new Date(ms).toISOString());
  const query = `WorkflowType = 'oneActivity' AND CloseTime > '${from}' AND StartTime > '${from}' AND StartTime < '${to}'`;
  const seconds = await eventually('the empty workflows have ended', async () => {
    const ended: number[] = [];
    for await (const { workflowId, closeTime } of temporal.workflow.list({ query })) {
      // Temporal ends the id of a workflow that a schedule starts with the time of the firing.
      const dueMs = Date.parse(/(?<=^fired-floor:\d+-).+/.exec(workflowId)?.[0] ?? '');
      if (closeTime && dueMs) ended.push((closeTime.getTime() - dueMs) / 1000);
    }
    return ended.length >= schedules * count && ended;
  });
  return percentile(seconds, 0.95);
}
