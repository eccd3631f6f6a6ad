/** CPU of each process for one run, and how it is shown. */
import { rounded } from '../support/figures.ts';
import { type Roots, usageOf } from '../support/usage.ts';
import type { ProcessName } from './control-plane.ts';

/** What one run took of whom, CPU ms. */
export interface PerRun {
  readonly temporal: number;
  readonly worker: number;
  readonly api: number;
  readonly postgres: number;
  readonly destination: number;
}

/** Of a piece of work: what it took per run, and what share of the machine others had meanwhile. */
export interface Measured<Result> {
  readonly cpu: PerRun;
  readonly noise: number;
  readonly result: Result;
}

/** Does the work, in which this many runs end. */
export async function perRun<Result>(
  pids: Roots<ProcessName>,
  runs: number,
  work: () => Promise<Result>,
): Promise<Measured<Result>> {
  const { cpu, noise, result } = await usageOf(pids, work);
  const each = (seconds: number): number => (seconds * 1000) / runs;
  const { temporal, worker, api, postgres, destination, watcher } = cpu;
  return {
    cpu: {
      temporal: each(temporal),
      worker: each(worker),
      api: each(api),
      postgres: each(postgres - watcher),
      destination: each(destination),
    },
    noise,
    result,
  };
}

/** Of the two that a workflow cannot do without. */
export const engineOf = ({ temporal, worker }: PerRun): number => temporal + worker;

/** What a service at rest takes is not of its runs: `resting` is for one second. */
export const without = (cpu: PerRun, resting: PerRun, secondsPerRun: number): PerRun => ({
  temporal: cpu.temporal - resting.temporal * secondsPerRun,
  worker: cpu.worker - resting.worker * secondsPerRun,
  api: cpu.api - resting.api * secondsPerRun,
  postgres: cpu.postgres - resting.postgres * secondsPerRun,
  destination: cpu.destination - resting.destination * secondsPerRun,
});

/** As a row of a table. */
export const shown = (cpu: PerRun) => ({
  temporal: rounded(cpu.temporal, 1),
  worker: rounded(cpu.worker, 1),
  api: rounded(cpu.api, 1),
  postgres: rounded(cpu.postgres, 1),
  destination: rounded(cpu.destination, 1),
});
