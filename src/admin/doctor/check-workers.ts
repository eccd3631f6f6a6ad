import type { Deps } from '../../deps.ts';
import { describeTaskQueue, type TaskQueue, taskQueues } from '../task-queues.ts';
import { asking } from './ask-temporal.ts';
import { type Finding, found, ok } from './finding.ts';

type Temporal = Deps['temporal'];

/** `null` if unversioned. */
export interface Queue {
  readonly name: string;
  readonly current: string | null;
  readonly polledBy: readonly (string | null)[];
}

export async function checkWorkers(temporal: Temporal, namespace: string): Promise<readonly Finding[]> {
  const seen = await Promise.all(taskQueues.map((queue) => stateOf(temporal, namespace, queue)));
  const unpolled = seen.filter(({ polledBy }) => polledBy.length === 0).map(({ name }) => name);
  const polling =
    unpolled.length === 0
      ? ok('temporal.workers', 'Workers poll every queue.')
      : found('fault', 'temporal.workers', {
          detail: `No worker polls these queues, so nothing runs there: ${unpolled.join(', ')}.`,
          remedy: 'Start workers; WORKER_QUEUES of all of them together must name control, sync and webhooks.',
        });
  return [polling, checkBuilds(seen)];
}

/** Tasks wait for ever in a queue whose current build no polling worker has. */
export function checkBuilds(seen: readonly Queue[]): Finding {
  const check = 'temporal.build';
  const missed = seen.filter(({ current, polledBy }) => polledBy.length > 0 && !polledBy.includes(current));
  const [first] = missed;
  if (!first) return ok(check, 'New runs go to workers that poll.');
  const names = missed.map(({ name }) => name).join(', ');
  const builds = [...new Set(missed.flatMap(({ polledBy }) => polledBy))].map((build) => build ?? 'none').join(', ');
  return found('fault', check, {
    detail:
      first.current === null
        ? `No build is current, and only versioned workers (builds: ${builds}) poll ${names}: no run goes on there.`
        : `Build ${first.current} is current, and only workers of other builds (${builds}) poll ${names}: no run goes on there.`,
    remedy:
      first.current === null
        ? 'Make the build current: npm run admin -- worker-version current --build-id BUILD'
        : `Start workers of build ${first.current}, or make another build current: npm run admin -- worker-version current --build-id BUILD. For workers without CSS_BUILD_ID: npm run admin -- worker-version none`,
  });
}

async function stateOf(temporal: Temporal, namespace: string, queue: TaskQueue): Promise<Queue> {
  const { name } = queue;
  const described = await asking(temporal)(() => describeTaskQueue(temporal.workflowService, namespace, queue));
  if (!described.ok) return { name, current: null, polledBy: [] };
  const { current, polledBy } = described.value;
  return { name, current: current?.buildId ?? null, polledBy };
}
