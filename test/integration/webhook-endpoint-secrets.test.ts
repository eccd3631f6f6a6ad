import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { openSigningSecrets } from '../../src/connect/endpoint-secrets.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createEndpoint } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;
let org: TestOrg;

beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());
const read = async (id: string) => (await org.call('GET', `/webhook-endpoints/${id}`)).body;
const rotate = (id: string, body?: unknown) => org.call('POST', `/webhook-endpoints/${id}/rotate-secret`, { body });
const secretsOf = (id: string) => openSigningSecrets(api.deps, api.deps.db, orgScope(org.orgId), id);
const base64Of = (bytes: number) => Buffer.alloc(bytes, 0xfa).toString('base64');

describe('rotating the secret', () => {
  it('signs with the new one first, and with the one before until that expires', async () => {
    const { id, secret: before } = await createEndpoint(org, { signatureSchemes: ['v1', 'v1a'] });
    const { publicKey } = await read(id);
    const { status, body } = await rotate(id);
    expect({ status, id: body.id }).toEqual({ status: 200, id });
    expect(Date.parse(body.previousExpiresAt) - Date.now()).toBeGreaterThan(86_000_000);
    const secrets = await secretsOf(id);
    expect(secrets.v1).toEqual([body.secret, before]);
    expect(secrets.v1a).toHaveLength(2);
    const row = await read(id);
    expect(row.secretHint).toBe(body.secret.slice(-4));
    expect(row.publicKey).not.toBe(publicKey);
  });

  it('without an overlap ends the one before at once', async () => {
    const { id } = await createEndpoint(org);
    const secret = `whsec_${base64Of(64)}`;
    const { body } = await rotate(id, { secret, overlapSeconds: 0 });
    expect(body).not.toHaveProperty('secret');
    expect((await secretsOf(id)).v1).toEqual([secret]);
  });

  it('is a conflict while three secrets sign, unless the one before is to end', async () => {
    const { id } = await createEndpoint(org);
    for (const expected of [200, 200, 409]) expect((await rotate(id)).status).toBe(expected);
    expect((await secretsOf(id)).v1).toHaveLength(3);
    expect((await rotate(id, { overlapSeconds: 0 })).status).toBe(200);
    expect((await secretsOf(id)).v1).toHaveLength(3);
    await api.deps.db
      .updateTable('webhookEndpointSecrets')
      .set({ expiresAt: new Date().toISOString() })
      .where('expiresAt', 'is not', null)
      .execute();
    expect((await secretsOf(id)).v1).toHaveLength(1);
    expect((await rotate(id)).status).toBe(200);
  });

  it('is done once for a repeated Idempotency-Key', async () => {
    const { id } = await createEndpoint(org);
    const request = { headers: { 'idempotency-key': 'r' } };
    const again = async () => (await org.call('POST', `/webhook-endpoints/${id}/rotate-secret`, request)).status;
    expect([await again(), await again()]).toEqual([200, 409]);
    expect((await secretsOf(id)).v1).toHaveLength(2);
  });

  it.each([
    ['secret', { secret: 'whsec_short' }],
    ['overlapSeconds', { overlapSeconds: 604_801 }],
    ['overlapSeconds', { overlapSeconds: -1 }],
  ])('is refused at %s: %j', async (path, body) => {
    const { id, secret } = await createEndpoint(org);
    const reply = await rotate(id, body);
    expect(reply).toMatchObject({ status: 400, body: { error: { issues: [{ path }] } } });
    expect((await secretsOf(id)).v1).toEqual([secret]);
  });
});
