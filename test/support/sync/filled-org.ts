import { daysAgo } from '../service/aged-rows.ts';
import type { TestApi, TestOrg } from '../service/api.ts';
import { createActiveConnection, publishSpec } from '../upstream/api-fixtures.ts';
import { createEndpoint } from '../webhooks/webhook-rows.ts';

/** An org with rows. */
export interface FilledOrg {
  readonly org: TestOrg;
  readonly connectionId: string;
  readonly endpointId: string;
}

/** As {@link fillOrg}, in a database without rows that retention removes. */
export async function openFilledOrg(api: TestApi): Promise<FilledOrg> {
  // What is old goes whoever made it: the tests before left some. A truncate would wait for readers, and they for it.
  for (const table of [
    'callLog',
    'runPages',
    'runDimensions',
    'quarantine',
    'webhookEvents',
    'webhookRecoveries',
  ] as const)
    await api.deps.db.deleteFrom(table).execute();
  return fillOrg(api);
}

/** An org with a connection, one of everything that does not grow too old, and an endpoint. */
export async function fillOrg(api: TestApi): Promise<FilledOrg> {
  const filled = await api.newOrg();
  const { orgId } = filled;
  const { db } = api.deps;
  await publishSpec(filled);
  const connection = await createActiveConnection(filled);
  const schedule = { resourceKey: 'items', cron: '0 3 * * *' };
  await filled.call('POST', `/connections/${connection}/schedules`, { body: schedule });
  const lane = { orgId, connectionId: connection, resourceKey: 'items' };
  const { id: laneId } = await db.insertInto('lanes').values(lane).returning('id').executeTakeFirstOrThrow();
  const state = { laneId, externalId: 'r1', hash: Buffer.from('h'), status: 'delivered' } as const;
  await db.insertInto('recordState').values(state).execute();
  const updatedAt = daysAgo(1000).toISOString();
  await db.insertInto('partitions').values({ orgId, laneId, watermark: '7', updatedAt }).execute();
  const { id } = await createEndpoint(filled, { eventTypes: ['run.succeeded'] });
  return { org: filled, connectionId: connection, endpointId: id };
}
