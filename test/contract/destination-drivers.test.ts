import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { openDestination } from '../../src/core/destinations/registry.ts';
import { createEgressGuard } from '../../src/core/http/egress.ts';
import { destinationDeps } from '../support/destinations/destination-deps.ts';

// A file of its own, so a process of its own: other tests load the driver into theirs.
it('never loads the driver of SQL Server into the process of the worker', async () => {
  const { cache } = createRequire(import.meta.url);
  const isLoaded = () => Object.keys(cache).some((path) => path.includes('/node_modules/tedious/'));
  const deps = destinationDeps(createEgressGuard({ allow: [], deny: [], allowHttp: false }));
  const options = { kind: 'sqlserver', host: '127.0.0.1', database: 'shop', user: 'sync', password: 'p' };
  await using destination = openDestination(options, deps);
  await expect(destination.check([])).rejects.toMatchObject({ code: 'egress_blocked' });
  expect(isLoaded()).toBe(false);
});
