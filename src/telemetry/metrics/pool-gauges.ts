import { Gauge, type Registry } from 'prom-client';
import type { PoolCounts } from '../../../db/client.ts';
import type { EvaluatorPool } from '../../core/expressions/evaluator-pool.ts';
import type { SlotCounts } from '../../temporal/worker-slots.ts';

export interface PoolSources {
  readonly poolCounts: () => PoolCounts;
  readonly evaluators: Pick<EvaluatorPool, 'counts'>;
  /** `null` if the process runs no chunks. */
  readonly slotCounts: (() => SlotCounts) | null;
}

export function addPoolGauges(registry: Registry, { poolCounts, evaluators, slotCounts }: PoolSources): void {
  const gauge = (name: string, help: string, read: () => number) => {
    const made: Gauge = new Gauge({ name, help, registers: [registry], collect: () => made.set(read()) });
  };
  gauge(
    'connector_sync_database_connections_max',
    'Connections that the process opens at most.',
    () => poolCounts().size,
  );
  gauge('connector_sync_database_connections', 'Open connections to the control database.', () => poolCounts().open);
  gauge('connector_sync_database_connections_idle', 'Open connections that nobody uses.', () => poolCounts().idle);
  gauge(
    'connector_sync_database_waiting',
    'Queries and transactions that wait for a connection.',
    () => poolCounts().waiting,
  );
  gauge('connector_sync_evaluators_max', 'Evaluator processes at most.', () => evaluators.counts().size);
  gauge('connector_sync_evaluators', 'Evaluator processes that are started.', () => evaluators.counts().started);
  gauge('connector_sync_evaluators_busy', 'Evaluator processes that work.', () => evaluators.counts().busy);
  gauge('connector_sync_evaluator_jobs_waiting', 'Jobs that wait for an evaluator.', () => evaluators.counts().waiting);
  if (slotCounts === null) return;
  gauge('connector_sync_run_slots_max', 'Runs that the worker advances at once.', () => slotCounts().size);
  gauge(
    'connector_sync_run_slots_lent',
    'Slots lent by runs that wait for an external system.',
    () => slotCounts().lent,
  );
}
