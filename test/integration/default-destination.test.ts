import { afterAll, expect, test } from 'vitest';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSyncInto } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

/** The operator's own database, and one that a spec names. */
const [standard, named] = [await openAuditedDestination(), await openAuditedDestination()];
afterAll(async () => {
  for (const destination of [standard, named]) await destination[Symbol.asyncDispose]();
});

const shared = useStack(
  { collections: { given: generateRecords(30), declared: generateRecords(20) } },
  {
    env: {
      DEFAULT_DESTINATION: JSON.stringify({ kind: 'postgres', url: standard.url, ssl: 'disable', schema: 'shared' }),
    },
  },
);

const tablesOf = async ({ query }: typeof standard): Promise<unknown[]> =>
  await query("select schemaname, tablename from pg_tables where tablename in ('given', 'declared')");

test('a spec that declares no destination delivers to the one of the deployment', async () => {
  const { stack, upstream } = shared();
  const undeclared = { ...standard, declared: undefined };
  const sync = await createSyncInto(stack, undeclared, { upstream, collection: 'given' });
  const run = await sync.ended(await sync.request());
  expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 30 } });
  expect(await standard.count(`shared_${stack.org.orgId}.given`)).toBe(30);
});

test('a spec that declares one delivers there', async () => {
  const { stack, upstream } = shared();
  const sync = await createSyncInto(stack, named, { upstream, collection: 'declared' });
  const run = await sync.ended(await sync.request());
  expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 20 } });
  expect(await tablesOf(named)).toEqual([{ schemaname: 'public', tablename: 'declared' }]);
  expect(await tablesOf(standard)).toEqual([{ schemaname: `shared_${stack.org.orgId}`, tablename: 'given' }]);
});
