import { Gauge, type Registry } from 'prom-client';
import type { Backlog } from '../../../db/queries/runs/maintenance/backlog.ts';
import { RunTrigger } from '../../core/resources/run.ts';
import { sharedRead } from './shared-read.ts';

/** Milliseconds within which scrapes share one read: the port has no credential. */
const freshMs = 5000;
/** Statuses of connections that are meant to sync. */
const syncedStatuses = ['active', 'error'] as const;

interface BacklogSources {
  readonly readBacklog: () => Promise<Backlog>;
  readonly reachTemporal: () => Promise<unknown>;
}

/**
 * Every process shows the same, so a query takes the maximum, and one process suffices to show that no other works. Calling
 * updates them; it never rejects. While the database does not respond, the values are NaN, which triggers no alert, and
 * `connector_sync_control_database_up` is 0.
 */
export function createBacklogGauges(
  registry: Registry,
  { readBacklog, reachTemporal }: BacklogSources,
): () => Promise<void> {
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `connector_sync_${name}`, help, labelNames, registers: [registry] });
  const up = gauge('control_database_up', '1: the control database responds to the process that is scraped.');
  const temporalUp = gauge('temporal_up', '1: Temporal responds to the process that is scraped.');
  const queued = gauge('queued_runs', 'Runs that wait for their turn, of all orgs.', ['trigger']);
  const oldest = gauge('oldest_queued_run_seconds', 'Age of the oldest queued run; 0: none.', ['trigger']);
  const running = gauge('running_runs', 'Runs that have begun and not ended.');
  const unattended = gauge(
    'unattended_run_seconds',
    'For how long no worker has looked after the open run that was looked after last; 0: no run is open.',
  );
  const due = gauge('oldest_due_event_seconds', 'For how long the oldest event is due that its endpoint would take.');
  const overdue = gauge('overdue_resources', 'Resources whose data is older than their schedules promise.', ['status']);
  const oldestOverdue = gauge(
    'oldest_overdue_resource_seconds',
    'For how long the resource is overdue that has been so for longest; 0: none is.',
    ['status'],
  );

  const show = (backlog: Backlog | null): void => {
    up.set(backlog === null ? 0 : 1);
    const none = backlog === null ? Number.NaN : 0;
    for (const trigger of RunTrigger.options) {
      const waiting = backlog?.queued.find((one) => one.trigger === trigger);
      queued.set({ trigger }, waiting?.runs ?? none);
      oldest.set({ trigger }, waiting?.oldestSeconds ?? none);
    }
    running.set(backlog?.runningRuns ?? Number.NaN);
    unattended.set(backlog?.unattendedSeconds ?? Number.NaN);
    due.set(backlog?.eventDueSeconds ?? Number.NaN);
    for (const status of syncedStatuses) {
      const late = backlog?.overdue.find((one) => one.status === status);
      overdue.set({ status }, late?.resources ?? none);
      oldestOverdue.set({ status }, late?.oldestSeconds ?? none);
    }
  };

  const update = sharedRead(
    async () => {
      const temporal = reachTemporal().then(
        () => 1,
        () => 0,
      );
      show(await readBacklog().catch(() => null));
      temporalUp.set(await temporal);
    },
    () => freshMs,
  );
  return async () => {
    if ((await update()) === 'late') show(null);
  };
}
