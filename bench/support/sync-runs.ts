/** Runs of the service and of the hand-written loop that a bench measures and compares with what the API has. */
import { expect } from 'vitest';
import type { AuditedDestination } from '../../test/support/destinations/audit.ts';
import { eventually } from '../../test/support/service/eventually.ts';
import { forgetPeak, peakMemory } from '../../test/support/service/process-memory.ts';
import type { Stack } from '../../test/support/service/stack.ts';
import { syncRunId } from '../../workflows/contract.ts';
import type { Paging } from '../ceiling/pages.ts';
import type { CeilingForm, CeilingJobs } from '../processes/ceiling.ts';
import type { UpstreamJobs } from '../processes/upstream.ts';
import { type Checksum, checksumSql } from './customers.ts';
import { type CustomersSync, customersKey } from './customers-sync.ts';
import { rounded } from './figures.ts';
import type { Partner } from './partner.ts';
import { type Results, service } from './results.ts';
import { type Usage, usageOf } from './usage.ts';

/** What the runs need, started before them. */
export interface SyncParts {
  readonly stack: Stack;
  readonly upstream: Partner<UpstreamJobs>;
  readonly ceiling: Partner<CeilingJobs>;
  /** Of the API. */
  readonly url: string;
  /** Process id of the server. */
  readonly postgres: number;
}

/** What is read, unless a run says otherwise, and where figures go. */
export interface SyncRunsOptions {
  readonly records: number;
  readonly results: Results;
}

/** One piece of work. */
export interface Work {
  readonly scenario: string;
  /** How many are read, or have changed. */
  readonly count?: number;
}

/** The same for the loop, with the form of it. */
export interface CeilingWork extends Work {
  readonly paging?: Paging;
  readonly form?: CeilingForm;
  readonly incremental?: boolean;
}

/** It all takes minutes: one line for each run, with the CPU seconds of each process. */
export function tell(scenario: string, who: string, { seconds, cpu }: Pick<Usage<string>, 'seconds' | 'cpu'>): void {
  const used = Object.entries(cpu).map(([name, cpuSeconds]) => `${name} ${rounded(cpuSeconds)}`);
  process.stdout.write(`${scenario}: ${who}, ${rounded(seconds)} s (CPU s: ${used.join(', ')})\n`);
}

/** Measures runs; `parts` is asked at each run, as all is started before the first one. */
export function syncRuns(parts: () => SyncParts, { records, results }: SyncRunsOptions) {
  return { expectRunOfService, expectRunOfLoop, expectComplete };

  /** One run of the service, measured. */
  async function expectRunOfService(sync: CustomersSync, { scenario, count = records }: Work): Promise<void> {
    const { stack, postgres } = parts();
    const worker = stack.worker().pid;
    await forgetPeak(worker);
    const roots = { worker, api: stack.api().pid, temporal: stack.temporal.pid(), postgres };
    const {
      seconds,
      cpu,
      noise,
      result: runId,
    } = await usageOf(roots, async () => {
      const id = await sync.request();
      // Temporal says when it is over, some milliseconds later: to ask the API again and again would be work of its own.
      const workflow = workflowOf(sync, id);
      await eventually('the workflow is there', () => workflow.describe());
      await workflow.result();
      return id;
    });
    await sync.ended(runId);
    const peakMb = await peakMemory(worker);
    await expectComplete(sync.destination);
    tell(scenario, service, { seconds, cpu });
    results.add(scenario, service, {
      seconds,
      records: count,
      cpu: cpu.worker + cpu.api + cpu.temporal,
      postgresCpu: cpu.postgres,
      peakMb,
      noise,
      tasks: await workflowTasks(sync, runId),
    });
  }

  /** The same by the hand-written loop. */
  async function expectRunOfLoop(destination: AuditedDestination, work: CeilingWork): Promise<void> {
    const { scenario, count = records, paging = 'cursor', form = 'whole', incremental = false } = work;
    const { ceiling, url, postgres } = parts();
    await forgetPeak(ceiling.pid);
    const { seconds, cpu, noise } = await usageOf({ loop: ceiling.pid, postgres }, () =>
      ceiling.ask('sync', { url, databaseUrl: destination.url, paging, form, incremental }),
    );
    const peakMb = await peakMemory(ceiling.pid);
    await expectComplete(destination);
    const measured = { seconds, records: count, cpu: cpu.loop, postgresCpu: cpu.postgres, peakMb, noise };
    tell(scenario, `loop, ${form}`, { seconds, cpu });
    results.add(scenario, `loop, ${form}`, measured);
  }

  async function expectComplete(destination: AuditedDestination): Promise<void> {
    const [stored] = await destination.query<Record<keyof Checksum, string>>(checksumSql);
    const checksum = { rows: Number(stored?.rows), ids: Number(stored?.ids), sum: Number(stored?.sum) };
    expect(checksum).toEqual(await parts().upstream.ask('checksum'));
  }

  function workflowOf({ connectionId }: CustomersSync, runId: string) {
    const { client } = parts().stack.temporal;
    return client.workflow.getHandle(syncRunId({ connectionId, resourceKey: customersKey, runId }));
  }

  async function workflowTasks(sync: CustomersSync, runId: string): Promise<number> {
    const { events } = await workflowOf(sync, runId).fetchHistory();
    return events?.filter((event) => event.workflowTaskCompletedEventAttributes).length ?? Number.NaN;
  }
}
