import type { Db } from '../../../db/client.ts';
import { newId } from '../../../src/core/ids.ts';

/** An org with one active connection, straight into the tables: for tests below the API. */
export async function insertTestConnection(db: Db): Promise<{ readonly orgId: string; readonly connectionId: string }> {
  const [orgId, workspaceId, specId, connectionId] = [newId('org'), newId('ws'), newId('spec'), newId('con')];
  await db.insertInto('orgs').values({ id: orgId, name: 'Test', plan: 'standard' }).execute();
  await db.insertInto('workspaces').values({ id: workspaceId, orgId, name: 'dev', kind: 'dev' }).execute();
  await db.insertInto('specs').values({ id: specId, orgId, key: 'test' }).execute();
  await db
    .insertInto('specVersions')
    .values({
      id: newId('specver'),
      orgId,
      specId,
      version: '1.0.0',
      specJson: '{}',
      status: 'published',
      checksum: '',
    })
    .execute();
  await db
    .insertInto('connections')
    .values({
      id: connectionId,
      orgId,
      workspaceId,
      specId,
      pinnedSpecVersion: '1.0.0',
      displayName: 'Test',
      status: 'active',
      paramsJson: '{}',
    })
    .execute();
  return { orgId, connectionId };
}
