import { Gauge, type Registry } from 'prom-client';
import type { StatusHealth } from '../../../db/queries/connections/health.ts';
import type { EndpointCount } from '../../../db/queries/webhooks/endpoints.ts';
import { ConnectionStatus } from '../../core/resources/connection.ts';
import { Health } from '../../core/resources/freshness.ts';
import { WebhookDisabledReason, WebhookEndpointState } from '../../core/resources/webhook-endpoint.ts';
import { healthOf, worst } from '../../core/schedule/freshness.ts';
import { sharedRead } from './shared-read.ts';

export interface Totals {
  readonly connections: readonly StatusHealth[];
  readonly endpoints: readonly EndpointCount[];
  readonly databaseBytes: number;
}

/** Minimum milliseconds within which scrapes share one read. */
const freshMs = 60_000;
/** Limits reading the totals to a hundredth of a process's time, for any number of connections. */
const freshReads = 100;

/**
 * Every process shows the same within a minute or so, so a query takes the maximum. Calling updates them; it never rejects.
 * They have no values before the first read, and after a failed one.
 */
export function createTotalGauges(
  registry: Registry,
  { readTotals }: { readonly readTotals: () => Promise<Totals> },
): () => Promise<unknown> {
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `connector_sync_${name}`, help, labelNames, registers: [registry] });
  const connections = gauge('connections', 'Connections, by status and health.', ['status', 'health']);
  const failing = gauge(
    'longest_failing_seconds',
    'For how long the resource has had no success that fails for longest; 0: none fails.',
    ['status'],
  );
  const endpoints = gauge('webhook_endpoints', 'Endpoints of orgs, by state and why they are disabled.', [
    'state',
    'reason',
  ]);
  const bytes = gauge('control_database_bytes', 'The size of the control database without its write-ahead log.');
  const all = [connections, failing, endpoints, bytes];

  const show = (totals: Totals | null): void => {
    for (const one of all) one.reset();
    if (totals === null) {
      // A gauge without labels always has a value.
      bytes.set(Number.NaN);
      return;
    }
    showConnections(totals.connections);
    showEndpoints(totals.endpoints);
    bytes.set(totals.databaseBytes);
  };

  const showConnections = (groups: Totals['connections']): void => {
    for (const status of ConnectionStatus.options) {
      for (const health of Health.options) connections.set({ status, health }, 0);
      const seconds = groups.flatMap((group) => (group.status === status ? (group.failingSeconds ?? 0) : []));
      failing.set({ status }, Math.max(0, ...seconds));
    }
    for (const { status, facts, connections: count } of groups) {
      connections.inc({ status, health: worst(facts.map(healthOf)) }, count);
    }
  };

  const showEndpoints = (groups: Totals['endpoints']): void => {
    for (const state of WebhookEndpointState.options) {
      const reasons = state === 'disabled' ? WebhookDisabledReason.options : [''];
      for (const reason of reasons) endpoints.set({ state, reason }, 0);
    }
    for (const { state, disabledReason, endpoints: count } of groups) {
      endpoints.inc({ state, reason: disabledReason ?? '' }, count);
    }
  };

  show(null);
  return sharedRead(
    async () => show(await readTotals().catch(() => null)),
    (tookMs) => Math.max(freshMs, freshReads * tookMs),
  );
}
