import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordEvent } from '../../db/queries/webhooks/events.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { createApiKey } from '../../src/control/orgs/api-keys.ts';
import { operatorGrant } from '../../src/control/orgs/orgs.ts';
import { specPublished } from '../../src/core/events/org-events.ts';
import { newId } from '../../src/core/ids.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { recordedEvents, typesOf } from '../support/webhooks/events.ts';

let api: TestApi;
let org: TestOrg;
let scope: OrgScope;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  scope = orgScope(org.orgId);
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());

const ofConnection = (connectionId: string) => recordedEvents(api.deps.db, { orgId: org.orgId, connectionId });

describe('endpoints', () => {
  const endpoint = (parts: object) => ({
    id: newId('whe'),
    orgId: org.orgId,
    url: 'https://hooks.acme.example',
    maxInFlight: 1,
    timeoutMs: 1000,
    ordering: 'any' as const,
    signatureSchemes: ['v1' as const],
    ...parts,
  });
  /** How an event was put into the queue of each of these endpoints; absent: it was not. */
  async function queued(endpoints: readonly { readonly id: string }[], eventIds: readonly string[]) {
    const messages = await api.deps.db
      .selectFrom('webhookMessages')
      .select(['endpointId', 'status'])
      .where('eventId', 'in', eventIds)
      .orderBy('seq')
      .execute();
    return endpoints.map(({ id }) => messages.filter((one) => one.endpointId === id).map(({ status }) => status));
  }

  it('get what they ask for, and the others nothing', async () => {
    const connectionId = await createActiveConnection(org);
    const now = new Date().toISOString();
    const endpoints = [
      endpoint({}),
      endpoint({ eventTypes: ['schedule.created'] }),
      endpoint({ eventTypes: ['schedule.created'], connectionIds: [connectionId] }),
      endpoint({ eventTypes: ['schedule.created'], connectionIds: [newId('con')] }),
      endpoint({ connectionIds: [connectionId], workspaceIds: [org.workspaceId] }),
      endpoint({ workspaceIds: [newId('ws')] }),
      endpoint({ enabled: false, disabledReason: 'manual' }),
      endpoint({ deletedAt: now }),
    ];
    await api.deps.db.insertInto('webhookEndpoints').values(endpoints).execute();
    const body = { resourceKey: 'items', cron: '0 3 * * *' };
    await org.call('POST', `/connections/${connectionId}/schedules`, { body });
    await org.call('POST', `/connections/${connectionId}/pause`);
    const events = (await ofConnection(connectionId)).slice(2);
    expect(typesOf(events)).toEqual(['schedule.created', 'connection.paused']);
    expect(
      await queued(
        endpoints,
        events.map(({ id }) => id),
      ),
    ).toEqual([['pending'], ['pending'], ['pending'], [], ['pending'], [], ['skipped'], []]);
  });

  it('get an event once, and the one that it is about does not', async () => {
    const endpoints = [endpoint({}), endpoint({})];
    await api.deps.db.insertInto('webhookEndpoints').values(endpoints).execute();
    const version = { specId: newId('spec'), key: 'k', version: '1.0.0', checksum: '', publishedAt: null };
    const about = endpoints[1]?.id ?? '';
    for (const _repeat of [1, 2]) {
      const domainEvent = specPublished(version);
      await api.deps.db.transaction().execute((tx) => recordEvent(tx, scope, domainEvent, about));
    }
    const events = await recordedEvents(api.deps.db, { orgId: org.orgId });
    const ours = events.filter(({ data }) => data.specId === version.specId);
    expect(ours).toHaveLength(1);
    expect(await queued(endpoints, [ours[0]?.id ?? ''])).toEqual([['pending'], []]);
  });

  it('are woken after the commit, and nobody waits for it', async () => {
    const woken: string[] = [];
    const own = endpoint({ eventTypes: ['api_key.created'] });
    await api.deps.db.insertInto('webhookEndpoints').values(own).execute();
    const { promise, resolve } = Promise.withResolvers<void>();
    const wakeEndpoint = async ({ endpointId }: { readonly endpointId: string }) => {
      await promise;
      woken.push(endpointId);
    };
    const deps = { ...api.deps, orchestrator: { ...api.deps.orchestrator, wakeEndpoint } };
    await createApiKey(deps, scope, operatorGrant);
    expect(woken).toEqual([]);
    resolve();
    await eventually('the endpoint is woken', async () => woken.includes(own.id));
  });
});

describe('GET /webhook-event-types', () => {
  it('lists every type with a schema that stands alone and takes its example', async () => {
    const { status, body } = await org.call('GET', '/webhook-event-types');
    expect(status).toBe(200);
    expect(body).toHaveLength(27);
    const ajv = new Ajv2020({ strict: false });
    for (const { type, schema, example } of body) {
      expect(ajv.validate(schema, example), type).toBe(true);
      expect(ajv.validate(schema, { ...example, type: 'another.type' }), type).toBe(false);
      expect(ajv.validate(schema, { ...example, data: 1 }), type).toBe(false);
    }
    const byDefault = body.filter((row: { default: boolean }) => row.default).map((row: { type: string }) => row.type);
    expect(byDefault).toContain('run.succeeded');
    expect(byDefault).not.toContain('run.started');
  });
});
