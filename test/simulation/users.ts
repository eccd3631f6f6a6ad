/** What users ask of the service in a simulation. */
import type { Backfill } from '../../db/schema.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { planUpgrade } from '../../src/core/spec/connection/upgrade-plan.ts';
import type { ConnectorSpec } from '../../src/core/spec/schema/spec-schema.ts';
import type { Deps } from '../../src/deps.ts';
import { startQueuedRun } from '../../src/dispatch/start-run.ts';
import { type Counts, count } from './effects.ts';
import { requestCancel } from './memory/cancel.ts';
import { requeueAll } from './memory/records/requeue.ts';
import { insertRun } from './memory/runs.ts';
import { activateConnection, changeParams, pauseConnection, upgradeConnection } from './memory/store/control.ts';
import type { Random } from './random.ts';
import { inProcess, type Scheduler, type SimProcess } from './scheduler.ts';
import { groups, initialAt, resourceKeys } from './specs.ts';

interface UsersOptions {
  readonly deps: Deps;
  readonly scope: OrgScope;
  readonly connectionId: string;
  readonly specs: ReadonlyMap<string, ConnectorSpec>;
  /** Those that have not ended. */
  readonly openRuns: () => readonly RunSeen[];
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly counts: Counts;
  readonly say: (line: string) => void;
}

type RunSeen = Pick<RunRow, 'id'>;

/** The users of one connection. */
interface Users {
  requestSync(resourceKey: string): void;
  /** Has older records of a resource read again. */
  backfill(): void;
  /** Has everything that a resource has delivered delivered again. */
  rewind(resourceKey: string): void;
  activate(): void;
  cancel(): void;
  /** Pauses the connection, and activates it after a while. */
  pause(): void;
  upgrade(): void;
  requeue(): void;
  /** Changes the params to other groups, in another order. */
  regroup(): void;
  wantGroups(wanted: readonly string[]): void;
  /** Whether a request has no response yet. */
  isAsking(): boolean;
}

/** Users who have asked nothing yet. */
export function createUsers(options: UsersOptions): Users {
  const { deps, scope, connectionId, specs, openRuns, scheduler, random, counts, say } = options;
  const user: SimProcess = { name: 'API', alive: true, frozenUntil: 0 };
  let asking = 0;
  /** What a user asks for; errors are the user's to see. */
  const ask = (what: string, work: () => Promise<unknown>): void => {
    say(what);
    asking += 1;
    const end = (): void => {
      asking -= 1;
    };
    inProcess(
      user,
      () =>
        void work().then(end, (error: unknown) => {
          say(`${what}: ${String(error)}`);
          end();
        }),
    );
  };
  const request = (what: string, resourceKey: string, backfill: Backfill | null): void =>
    ask(`${what} ${resourceKey}`, async () => {
      count(counts, `${what}s`);
      const trigger = backfill === null ? 'manual' : 'backfill';
      const terms = { concurrentMax: 4, waitsFor: [], backfill, trigger } as const;
      const run = await insertRun(deps.db, scope, { connectionId, resourceKey, ...terms });
      await startQueuedRun(deps, scope, run);
    });
  const requestSync = (resourceKey: string): void => request('sync', resourceKey, null);
  const notify = async (stopped: readonly RunRow[]): Promise<void> => {
    for (const { id: runId, resourceKey, finishedAt } of stopped) {
      if (finishedAt === null)
        await deps.orchestrator.cancelRun({ orgId: scope.orgId, connectionId, resourceKey, runId });
    }
  };
  const wantGroups = (wanted: readonly string[]): void =>
    ask(`groups ${wanted.join()}`, () => changeParams(deps.db, scope, connectionId, { groups: [...wanted] }));
  const activate = (): void => ask('activate', () => activateConnection(deps.db, scope, connectionId));

  return {
    requestSync,
    backfill() {
      const resource = random.pick(specs.get('1.0.0')?.resources ?? []);
      const at = new Date(initialAt + random.between(0, scheduler.now() - initialAt)).toISOString();
      request('backfill', resource.key, { from: resource.incremental ? at : null, force: false });
    },
    rewind: (resourceKey) => request('rewind', resourceKey, { from: null, force: true, rewind: true }),
    activate,
    wantGroups,
    isAsking: () => asking > 0,
    cancel() {
      const [run] = openRuns();
      if (!run) return;
      ask('cancel', async () => {
        count(counts, 'cancels');
        const stopped = await requestCancel(deps.db, scope, run.id);
        await notify(stopped ? [stopped] : []);
      });
    },
    pause() {
      ask('pause', async () => {
        count(counts, 'pauses');
        await notify((await pauseConnection(deps.db, scope, connectionId)).stopped);
      });
      scheduler.after(random.between(1000, 20_000), activate);
    },
    upgrade: () =>
      ask('upgrade', async () => {
        count(counts, 'upgrades');
        const [before, after] = [specs.get('1.0.0') ?? null, specs.get('2.0.0') ?? null];
        const plan = planUpgrade({
          before: before && { spec: before, params: {} },
          after: after && { spec: after, params: {} },
          issues: [],
        });
        await notify((await upgradeConnection(deps.db, scope, { id: connectionId, version: '2.0.0', plan })).stopped);
      }),
    requeue: () =>
      ask('requeue', async () => {
        count(counts, 'requeues');
        await requeueAll(deps.db, scope, { connectionId, resourceKey: random.pick(resourceKeys) });
      }),
    regroup() {
      count(counts, 'groups changed');
      const [first, ...rest] = random.shuffled(groups);
      wantGroups(first === undefined ? [] : [first, ...rest.slice(random.between(0, 2))]);
    },
  };
}
