import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { takeDueRetests } from '../../db/queries/connections/retests.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

const resources = new AsyncDisposableStack();
let api: TestApi;
beforeAll(async () => {
  api = resources.use(await startApi());
});
afterAll(() => resources.disposeAsync());

async function broken(org: TestOrg, count: number): Promise<void> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push(await createActiveConnection(org));
  await api.deps.db
    .updateTable('connections')
    .set({ status: 'error', testAt: sql<string>`now() - interval '1 second'` })
    .where('id', 'in', ids)
    .execute();
}

it('tests of connections in error are begun for the orgs in turn, and each once', async () => {
  const [many, few] = [await api.newOrg(), await api.newOrg()];
  for (const org of [many, few]) await publishSpec(org, { key: 'acme', version: '1.0.0' });
  await broken(many, 4);
  await broken(few, 1);
  const take = async (busyOrgs: readonly string[]) => {
    const due = await takeDueRetests(api.deps.db, { limit: 3, limitOfOrg: 2, busyOrgs });
    return due.map(({ orgId }) => orgId).toSorted();
  };
  const sorted = (...orgs: readonly TestOrg[]) => orgs.map(({ orgId }) => orgId).toSorted();
  expect(await take([])).toEqual(sorted(many, many, few));
  expect(await take([many.orgId])).toEqual([]);
  expect(await take([])).toEqual(sorted(many, many));
  expect(await take([])).toEqual([]);
});
