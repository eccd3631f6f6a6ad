import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import document from '../../openapi.json' with { type: 'json' };
import { newId } from '../../src/core/ids.ts';
import { type AuditedDestination, openAuditedDestination } from '../support/destinations/audit.ts';
import { type ShownRequest, shownRequests } from '../support/openapi/examples.ts';
import { eventually } from '../support/service/eventually.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';

/** Slow enough that a run that is canceled at once has not ended. */
const latencyMs = 300;
const contacts = JSON.stringify({ data: [{ id: 'c1', updated_at: '2026-01-05T00:00:00Z' }] });
const shared = useSharedService({ latencyMs, reply: () => ({ status: 200, body: contacts }) });

/** An example cannot know it, or no reader sends it. */
const exempt: Readonly<Record<string, string>> = {
  'GET /oauth/callback': 'the provider sends the browser of a customer there',
  'POST /oauth/confirm': 'the code comes with the browser of a customer',
  'POST /connections/{id}/tokens': 'a provider has to accept the tokens',
  'POST /connect-sessions/confirm': 'the code comes with the browser of a customer',
  'GET /connect': 'the page of a customer sends it',
  'PUT /connect/values': 'the page of a customer sends it',
  'POST /connect/authorize': 'the page of a customer sends it',
  'POST /connect/test': 'the page of a customer sends it',
  'POST /connect/finish': 'the page of a customer sends it',
  'POST /embed/connection/reauthorize': 'of a connection whose customer entered something before',
};

const json = 'application/json';
const yaml = 'application/yaml';
const version = '/specs/{key}/versions/{version}';

/** Every request that the document shows, in an order in which one leads to the next. */
const steps: readonly string[] = [
  ...['GET /health', 'GET /health/ready', 'GET /catalogue', 'GET /catalogue/{key}'],
  ...[`POST /specs ${json}`, `DELETE ${version}`, `POST /specs ${yaml}`, `PUT ${version} ${json}`],
  ...[`PUT ${version} ${yaml}`, `POST /specs/{key}/validate ${json}`, `POST /specs/{key}/validate ${yaml}`],
  ...['POST /specs/import', 'POST /specs/transform-preview', `POST ${version}/publish`],
  ...['GET /specs', 'GET /specs/{key}/versions', `GET ${version}`],
  ...['POST /workspaces', 'GET /workspaces', 'POST /api-keys', 'GET /api-keys', 'DELETE /api-keys/{id}'],
  ...['GET /webhook-event-types', 'POST /webhook-endpoints', 'GET /webhook-endpoints', 'GET /webhook-endpoints/{id}'],
  ...['PATCH /webhook-endpoints/{id}', 'POST /webhook-endpoints/{id}/rotate-secret'],
  ...['POST /webhook-endpoints/{id}/test', 'GET /webhook-deliveries', 'GET /webhook-deliveries/{id}'],
  ...['POST /webhook-deliveries/{id}/redeliver', 'POST /webhook-endpoints/{id}/recover'],
  ...['GET /webhook-recoveries/{id}', 'GET /webhook-endpoints/{id}/stats'],
  ...['POST /connections', 'GET /connections', 'GET /connections/{id}'],
  ...['POST /connections/{id}/test', 'POST /connections/{id}/activate', 'POST /connections/{id}/sync'],
  ...['GET /runs', 'GET /runs/{id}', 'GET /runs/{id}/calls', 'POST /connections/{id}/backfill'],
  ...['POST /runs/{id}/replay', 'POST /runs/{id}/cancel', 'GET /connections/{id}/freshness'],
  ...['GET /quarantine', 'GET /quarantine/{id}', 'POST /quarantine/{id}/requeue', 'POST /quarantine/requeue'],
  ...['POST /connections/{id}/upgrade-spec'],
  ...['POST /connections/{id}/schedules', 'GET /connections/{id}/schedules', 'PATCH /schedules/{id}'],
  ...['DELETE /schedules/{id}', 'POST /connections/{id}/hooks', 'GET /connections/{id}/hooks', 'GET /hooks/{id}'],
  ...['PATCH /hooks/{id}', 'POST /hooks/{id}/rotate', 'GET /hooks/{id}/requests', 'DELETE /hooks/{id}'],
  ...['POST /tokens/embed', 'GET /embed/connection'],
  ...['POST /embed/connection/sync', 'POST /embed/connection/pause', 'POST /embed/connection/resume'],
  ...['GET /connect-settings', 'PATCH /connect-settings', 'POST /connect-sessions', 'GET /connect-sessions'],
  ...['GET /connect-sessions/{id}', 'DELETE /connect-sessions/{id}', 'GET /oauth/{connectionId}/authorize'],
  ...['GET /oauth/settings', 'PATCH /oauth/settings', 'POST /oauth-apps', 'GET /oauth-apps', 'GET /oauth-apps/{id}'],
  ...['PATCH /oauth-apps/{id}', 'DELETE /oauth-apps/{id}'],
  ...[`PATCH /connections/{id} ${json}`, `PATCH /connections/{id} ${yaml}`],
  ...['POST /connections/{id}/pause', 'DELETE /connections/{id}', `POST ${version}/deprecate`],
  ...['DELETE /webhook-endpoints/{id}'],
];

const requests = new Map(shownRequests(document.paths, Object.keys(exempt)).map((request) => [request.name, request]));
const destinations = new AsyncDisposableStack();
let destination: AuditedDestination;
/** The newest id of each prefix, as a reader notes it down. */
const ids = new Map<string, string>();
let embedToken = '';

beforeAll(async () => {
  destination = destinations.use(await openAuditedDestination());
});
afterAll(() => destinations.disposeAsync());

/** The text with the reader's own ids and addresses for those of the examples. */
const withOwn = (text: string): string =>
  text
    .replaceAll(/\b([a-z]+)_01kaemm0dce7xb1k4c1m1f2p3q/g, (example, prefix) => ids.get(prefix) ?? example)
    .replaceAll('https://api.acme.example', shared().upstream.url)
    .replaceAll('https://example.com/events', `${shared().upstream.url}/events`)
    .replaceAll('postgres://sync:password@db.acme.example/crm', destination.url)
    .replaceAll('"url":"{{ secrets.databaseUrl }}"', '"url":"{{ secrets.databaseUrl }}","ssl":"disable"')
    .replaceAll('url: "{{ secrets.databaseUrl }}"', 'url: "{{ secrets.databaseUrl }}"\n  ssl: disable');

async function send({ method, path, body }: Pick<ShownRequest, 'method' | 'path' | 'body'>) {
  const { apiUrl, org } = shared().stack;
  const response = await fetch(`${apiUrl}${path.startsWith('/health') ? '/api' : '/api/v1'}${withOwn(path)}`, {
    method,
    headers: {
      ...(path.startsWith('/embed/connection')
        ? { 'x-service-embed-token': embedToken }
        : { authorization: `Bearer ${org.apiKey}` }),
      ...(body === null ? {} : { 'content-type': body.type }),
    },
    ...(body === null ? {} : { body: withOwn(body.text) }),
  });
  // oxlint-disable-next-line typescript/no-explicit-any -- a response of the API, whose fields the test reads
  const found: any = await response.json();
  return { status: response.status, body: found };
}

const note = (id: unknown): void => {
  if (typeof id === 'string') ids.set(id.slice(0, id.lastIndexOf('_')), id);
};

/** What a reader has by the time of a request, besides what the requests before it made. */
const before: Readonly<Record<string, () => Promise<void>>> = {
  'POST /runs/{id}/replay': () => runEnded(),
  'GET /quarantine': async () => {
    const { org, db } = shared().stack;
    const record = { externalId: '7', rawJson: '{"id":7}', validationErrors: '[]', resourceKey: 'contacts' };
    const [connectionId = '', runId = ''] = [ids.get('con'), ids.get('run')];
    const row = { ...record, id: newId('quar'), orgId: org.orgId, connectionId, runId };
    await db.insertInto('quarantine').values(row).execute();
    note(row.id);
  },
  'POST /connections/{id}/upgrade-spec': async () => {
    const { text = '' } = requests.get(`POST /specs ${json}`)?.body ?? {};
    await sendOwn('POST', '/specs', text.replace('"1.0.0"', '"1.1.0"'));
    await sendOwn('POST', '/specs/acme-crm/versions/1.1.0/publish');
  },
  'GET /oauth/{connectionId}/authorize': async () => {
    const { text = '' } = requests.get(`POST /specs ${json}`)?.body ?? {};
    const spec = JSON.parse(text);
    const address = 'https://api.acme.example';
    const endpoints = { authorizeUrl: `${address}/authorize`, tokenUrl: `${address}/token` };
    const client = { clientId: 'client', clientSecret: '{{ secrets.token }}' };
    const auth = { kind: 'oauth2_authorization_code', ...endpoints, ...client };
    await sendOwn(
      'POST',
      '/specs',
      JSON.stringify({ ...spec, metadata: { ...spec.metadata, version: '2.0.0' }, auth }),
    );
    await sendOwn('POST', '/specs/acme-crm/versions/2.0.0/publish');
    const connection = requests.get('POST /connections')?.body?.text ?? '';
    note((await sendOwn('POST', '/connections', connection.replace('"1.0.0"', '"2.0.0"'))).id);
  },
};

async function sendOwn(method: string, path: string, text?: string) {
  const { status, body } = await send({ method, path, body: text === undefined ? null : { type: json, text } });
  expect(status, `${path}: ${JSON.stringify(body)}`).toBeLessThan(300);
  return body;
}

const runEnded = async (): Promise<void> => {
  await eventually('the run ends', async () => (await sendOwn('GET', `/runs/${ids.get('run')}`)).finishedAt !== null);
};

describe('the requests that the reference shows', () => {
  it('are each sent by this test', () => {
    expect(steps.toSorted()).toEqual([...requests.keys()].toSorted());
  });

  it.each(steps)('succeed as they are, with ids and addresses of one’s own: %s', async (name) => {
    const request = requests.get(name);
    if (!request) throw new Error(`The document shows no ${name}`);
    await before[name]?.();
    const { status, body } = await send(request);
    expect({ status, body }).toMatchObject({ status: expect.toSatisfy((code: number) => code >= 200 && code < 300) });
    if (request.method === 'POST') note(body.id);
    if (name === 'POST /tokens/embed') embedToken = body.token;
  });

  it('deliver what the API has', async () => {
    expect(await destination.query("select id from contacts where id = 'c1'")).toEqual([{ id: 'c1' }]);
  });
});
