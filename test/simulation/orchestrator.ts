import type { Orchestrator } from '../../src/temporal/orchestrator.ts';
import { laneFreeSignal, type SyncRunInput, syncRunId, withFirstStep } from '../../workflows/contract.ts';
import { syncRun } from '../../workflows/sync-run.ts';
import type { Effect, Route } from './effects.ts';
import type { TemporalServer } from './temporal-server.ts';

/** The port to Temporal, at the server of the simulation. */
export function orchestratorOf(server: TemporalServer, effect: Effect): Orchestrator {
  const failure = () => new Error('unavailable');
  const route: Route = { name: 'call of Temporal', faults: 0.08, latencyMs: [1, 30], failure };
  const call = <Result>(work: () => Result): Promise<Result> => effect(route, work);
  return {
    startRun: async (input: SyncRunInput) =>
      void (await call(() =>
        server.start(syncRunId(input), syncRun, { args: [{ ...input, steps: withFirstStep }], again: false }),
      )),
    restartRun: async (input: SyncRunInput) =>
      void (await call(() =>
        server.start(syncRunId(input), syncRun, { args: [{ ...input, steps: withFirstStep }], again: true }),
      )),
    cancelRun: (input: SyncRunInput) => call(() => server.cancel(syncRunId(input))),
    wakeRun: (input: SyncRunInput) => call(() => server.signal(syncRunId(input), laneFreeSignal)),
    describeRun: (input: SyncRunInput) =>
      call(() => {
        const found = server.find(syncRunId(input));
        return found === undefined ? 'absent' : found.isOpen ? 'open' : 'closed';
      }),
  } as unknown as Orchestrator;
}
