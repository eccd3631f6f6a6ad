import type { CatalogueConnector } from '../../src/core/resources/catalogue.ts';
import { startStack } from '../support/service/stack.ts';
import { type Customer, connectCustomer } from '../support/sync/customer.ts';
import type { Synced, SyncedResource } from './figures.ts';
import type { Counts, StartServer } from './servers/real-server.ts';

/**
 * Syncs every resource of a real server in full, again without any change, and after changes and deletions, with the
 * whole service. Throws where a run has another count than the server.
 */
export async function syncServer(connector: CatalogueConnector, start: StartServer): Promise<Synced> {
  await using server = await start();
  await using stack = await startStack({ allow: [server.hostPort] });
  const { params, secrets, overrides, records } = server;
  const document = connector.spec;
  await using customer = await connectCustomer(stack, {
    ...{ document, params, secrets },
    ...(overrides === undefined ? {} : { overrides }),
  });
  const resources = connector.resources.filter((resource) => records[resource] !== undefined);
  const first = await syncAll(customer, resources);
  expectCounts('records', first, ({ out }) => out, records);
  expectCounts('records without a change', await syncAll(customer, resources), ({ out }) => out, {});
  if (server.change === null) return { server: server.name, resources: resources.map((key) => row(key, records)) };
  const { changed, deleted } = await server.change();
  const later = await syncAll(customer, resources);
  expectCounts('changed records', later, ({ out }) => out, changed);
  expectCounts('deleted records', later, (run) => run.deleted, deleted);
  return { server: server.name, resources: resources.map((key) => row(key, records, { changed, deleted })) };
}

interface Counted {
  readonly out: number;
  readonly deleted: number;
}

async function syncAll(customer: Customer, resources: readonly string[]): Promise<ReadonlyMap<string, Counted>> {
  const counted = new Map<string, Counted>();
  for (const resource of resources) {
    const { status, statsJson, error } = await customer.sync(resource);
    if (status !== 'succeeded') throw new Error(`${resource}: the run is ${status}: ${JSON.stringify(error)}`);
    counted.set(resource, { out: statsJson.recordsOut, deleted: statsJson.deleted });
  }
  return counted;
}

/** A count that is not given is 0. */
function expectCounts(
  what: string,
  runs: ReadonlyMap<string, Counted>,
  countOf: (run: Counted) => number,
  expected: Counts,
): void {
  for (const [resource, run] of runs) {
    if (countOf(run) === (expected[resource] ?? 0)) continue;
    throw new Error(`${resource}: ${countOf(run)} ${what}, where the server has ${expected[resource] ?? 0}`);
  }
}

const row = (
  resource: string,
  records: Counts,
  change: { readonly changed: Counts; readonly deleted: Counts } | null = null,
): SyncedResource => ({
  resource,
  records: records[resource] ?? 0,
  changed: change && (change.changed[resource] ?? 0),
  deleted: change && (change.deleted[resource] ?? 0),
});
