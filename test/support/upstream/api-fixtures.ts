import type { Db } from '../../../db/client.ts';
import { newId } from '../../../src/core/ids.ts';
import type { TestApi, TestOrg } from '../service/api.ts';
import { runIsUntaken } from '../service/untaken-run.ts';

/** A spec document that is valid and can be published: one resource `items`, a param and a secret. */
export const specDocument = ({ key = 'acme', version = '1.0.0' } = {}) => ({
  metadata: { key, name: 'Acme', version },
  connectionParams: [
    { key: 'subdomain', type: 'string', format: 'subdomain', required: false },
    { key: 'startDate', type: 'string', format: 'date', required: false, default: '2020-01-01' },
    { key: 'apiKey', type: 'string', secret: true, required: false },
  ],
  auth: { kind: 'none' },
  http: { baseUrl: 'https://api.acme.example' },
  resources: [
    {
      key: 'items',
      primaryKey: ['id'],
      request: { path: '/items' },
      response: { records: 'data' },
      target: { table: 'items' },
    },
  ],
  destination: { kind: 'postgres', url: 'postgres://db.acme.example/warehouse' },
});

/** One of everything that has an id, made through the API where the API makes it. */
export interface Inventory {
  readonly specKey: string;
  readonly publishedVersion: string;
  readonly draftVersion: string;
  readonly connectionId: string;
  readonly activeConnectionId: string;
  readonly runId: string;
  readonly quarantineId: string;
  readonly scheduleId: string;
  readonly hookId: string;
  readonly keyId: string;
  readonly endpointId: string;
  readonly deliveryId: string;
  readonly recoveryId: string;
  readonly oauthAppId: string;
  readonly sessionId: string;
}

/** Fills an org. */
export async function fillOrg(
  { deps: { db } }: Pick<TestApi, 'deps'>,
  org: TestOrg,
  specKey = 'acme',
): Promise<Inventory> {
  const publishedVersion = '1.0.0';
  const draftVersion = '2.0.0';
  await publishSpec(org, { key: specKey, version: publishedVersion });
  await org.call('POST', '/specs', { body: specDocument({ key: specKey, version: draftVersion }) });
  const connectionId = await createConnection(org, { specKey });
  const activeConnectionId = await createActiveConnection(org, { specKey });
  const { body: key } = await org.call('POST', '/api-keys');

  const lane = { connectionId: activeConnectionId, resourceKey: 'items' };
  const { body: run } = await org.call('POST', `/connections/${activeConnectionId}/sync`, {
    body: { resource: 'items' },
  });
  const { body: schedule } = await org.call('POST', `/connections/${activeConnectionId}/schedules`, {
    body: { resourceKey: 'items', cron: '0 3 * * *' },
  });
  const { body: hook } = await org.call('POST', `/connections/${activeConnectionId}/hooks`, {
    body: { resourceKeys: ['items'], verification: { kind: 'github' } },
  });
  const { body: session } = await org.call('POST', '/connect-sessions', {
    body: { workspaceId: org.workspaceId, specKey },
  });
  const quarantineId = newId('quar');
  const record = {
    externalId: '7',
    rawJson: '{"id":7}',
    validationErrors: '[{"path":"name","message":"is required"}]',
  };
  await db
    .insertInto('quarantine')
    .values({ ...record, ...lane, id: quarantineId, orgId: org.orgId, runId: run.id })
    .execute();
  const { body: app } = await org.call('POST', '/oauth-apps', {
    body: { key: specKey, clientId: 'a', clientSecret: 'b' },
  });
  return {
    specKey,
    publishedVersion,
    draftVersion,
    connectionId,
    activeConnectionId,
    runId: run.id,
    quarantineId,
    scheduleId: schedule.id,
    hookId: hook.id,
    keyId: key.id,
    oauthAppId: app.id,
    sessionId: session.id,
    ...(await fillWebhooks(org)),
  };
}

/** An endpoint that nothing is sent to, a delivery and a recovery of it. */
async function fillWebhooks({ call }: TestOrg): Promise<Pick<Inventory, 'endpointId' | 'deliveryId' | 'recoveryId'>> {
  const { body: endpoint } = await call('POST', '/webhook-endpoints', { body: { url: 'https://93.184.215.14/' } });
  const { body: delivery } = await call('POST', `/webhook-endpoints/${endpoint.id}/test`);
  const { body: recovery } = await call('POST', `/webhook-endpoints/${endpoint.id}/recover`, {
    body: { since: new Date(Date.now() - 1000).toISOString(), include: ['failed'] },
  });
  return { endpointId: endpoint.id, deliveryId: delivery.id, recoveryId: recovery.id };
}

/** Drafts and publishes a version. */
export async function publishSpec(
  { call }: TestOrg,
  { key = 'acme', version = '1.0.0' }: { readonly key?: string; readonly version?: string } = {},
): Promise<void> {
  const draft = await call('POST', '/specs', { body: specDocument({ key, version }) });
  if (draft.status !== 201) throw new Error(`No draft: ${JSON.stringify(draft.body)}`);
  const published = await call('POST', `/specs/${key}/versions/${version}/publish`);
  if (published.status !== 200) throw new Error(`Not published: ${JSON.stringify(published.body)}`);
}

/** The body of a connection of that spec. */
export const connectionBody = ({ workspaceId }: TestOrg, specKey = 'acme') => ({
  workspaceId,
  specKey,
  specVersion: '1.0.0',
  displayName: 'Acme of Example Ltd',
  params: {},
  secrets: {},
});

/** Creates a pending connection; its id. */
export async function createConnection(org: TestOrg, { specKey = 'acme' } = {}): Promise<string> {
  const { status, body } = await org.call('POST', '/connections', { body: connectionBody(org, specKey) });
  if (status !== 201) throw new Error(`No connection: ${JSON.stringify(body)}`);
  return body.id;
}

/** Creates a connection and sets it active; its id. */
export async function createActiveConnection(org: TestOrg, { specKey = 'acme' } = {}): Promise<string> {
  const id = await createConnection(org, { specKey });
  const { status, body } = await org.call('POST', `/connections/${id}/activate`);
  if (status !== 200) throw new Error(`Not active: ${JSON.stringify(body)}`);
  return id;
}

/** Requests runs, which stay queued because no workflow takes them; their ids. */
export async function requestRuns(
  { db, org }: { readonly db: Db; readonly org: TestOrg },
  connectionId: string,
  count: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { body } = await org.call('POST', `/connections/${connectionId}/sync`, { body: { resource: 'items' } });
    await runIsUntaken(db, body.id);
    ids.push(body.id);
  }
  return ids;
}
