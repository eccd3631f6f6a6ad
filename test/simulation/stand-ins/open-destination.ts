/** Stands in for `src/connect/open-destination.ts`: a connection to the simulated database, or a simulated receiver. */

import type * as real from '../../../src/connect/open-destination.ts';
import type { Destination } from '../../../src/core/destinations/destination.ts';
import { openWebhook } from '../../../src/core/destinations/webhook/webhook.ts';
import type { EgressGuard } from '../../../src/core/http/egress.ts';
import { currentDatabase, currentReceiver, currentScheduler, deliversToWebhook } from '../current.ts';
import { setTimeout as sleepFor } from './timers-promises.ts';

type Prepare = typeof real.prepareDestination;

export const prepareDestination: Prepare = async (deps, scope, setup, run) => ({
  destination: deliversToWebhook() ? openReceiver(deps.egress, scope, setup, run) : currentDatabase().connect(),
  fingerprint: 'simulated',
  place: 'here',
  onBehind: 'start_over',
  target: tableOf(setup.resource),
  targetOf: tableOf,
});

const tableOf = ({ key }: Pick<Parameters<Prepare>[2]['resource'], 'key'>) =>
  ({ schema: null, table: key, columns: [], evolve: 'none', mode: 'upsert' }) as const;

function openReceiver(
  guard: EgressGuard,
  { orgId }: Parameters<Prepare>[1],
  { spec, resource }: Parameters<Prepare>[2],
  { outbox, logCall, onStrayRejections }: Parameters<Prepare>[3],
): Destination {
  const { random } = currentScheduler();
  const { options, urlOf } = currentReceiver();
  return openWebhook(
    { ...options, url: urlOf(resource.key), signingSecret: 'simulated', headers: {} },
    {
      ...{ guard, outbox, logCall, onStrayRejections, secrets: [], isOperators: false },
      resource: { orgId, resourceKey: resource.key, specVersion: spec.metadata.version },
    },
    { now: Date.now, sleep: (ms) => sleepFor(ms), random: random.next },
  );
}
