import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { destinationDeps } from '../../../test/support/destinations/destination-deps.ts';
import { createEgressGuard } from '../http/egress.ts';
import { openDestination } from './registry.ts';

/** Lets nothing through: nothing may connect yet. */
const deps = destinationDeps(createEgressGuard({ allow: [], deny: [], allowHttp: false }));

it('refuses a kind that is not there', () => {
  expect(() => openDestination({ kind: 'ftp' }, deps)).toThrow(/No destination of kind "ftp"/);
});

it('refuses options that cannot work before anything connects', () => {
  expect(() => openDestination({ kind: 'postgres', host: 'h' }, deps)).toThrow(/database is missing/);
});

it('refuses a webhook that cannot sign', () => {
  const webhook = {
    kind: 'webhook',
    url: 'https://a.test',
    signingSecret: 'whsec_###',
    headers: {},
    batchSize: 500,
    maxBatchBytes: 1_048_576,
    timeoutMs: 30_000,
    parallelism: 1,
  };
  expect(() => openDestination(webhook, deps)).toThrow(/`signingSecret` cannot sign/);
  const { url: _url, ...withoutUrl } = webhook;
  expect(() => openDestination({ ...withoutUrl, signingSecret: 'x' }, deps)).toThrow(/`url` has no valid value/);
});

it('never loads the driver of SQL Server into this process', async () => {
  const { cache } = createRequire(import.meta.url);
  const isLoaded = () => Object.keys(cache).some((path) => path.includes('/node_modules/tedious/'));
  const options = { kind: 'sqlserver', host: '127.0.0.1', database: 'shop', user: 'sync', password: 'p' };
  await using destination = openDestination(options, deps);
  await expect(destination.check()).rejects.toMatchObject({ code: 'egress_blocked' });
  expect(isLoaded()).toBe(false);
});
