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
