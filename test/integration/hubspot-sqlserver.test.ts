import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Contact, imitateHubSpot } from '../support/imitations/hubspot.ts';
import { useStack } from '../support/service/use-stack.ts';
import { startLaneServer } from '../support/sqlserver/lane.ts';
import { type Customer, connectCustomer } from '../support/sync/customer.ts';
import { specDocument } from '../support/sync/spec-documents.ts';

/** The spec says where: the port of SQL Server, encrypted, with a certificate for the name. */
const spec = { name: 'localhost', port: 1433 };
const certificate = new URL(`../fixtures/tls/${spec.name}.crt`, import.meta.url);
const tls = {
  cert: readFileSync(certificate, 'utf8'),
  key: readFileSync(new URL(`../fixtures/tls/${spec.name}.key`, import.meta.url), 'utf8'),
};

const code = 'the-code';
const hubspot = imitateHubSpot({ code, accessToken: 'hubspot-access-token' });
const server = await startLaneServer({ port: spec.port, tls });
afterAll(() => server[Symbol.asyncDispose]());
const shared = useStack(
  { reply: (request) => hubspot.reply(request) },
  {
    allow: [`127.0.0.1:${spec.port}`, `[::1]:${spec.port}`],
    // An authority of the operator's own: the spec has no field for one.
    env: { NODE_EXTRA_CA_CERTS: fileURLToPath(certificate) },
  },
);

const count = 250;
const start = Date.now() - 86_400_000;
const contact = (n: number): Contact => ({
  id: String(100_000 + n),
  properties: {
    email: `Person${n}@Example.com`,
    firstname: `Zoë 😀`,
    lastname: `Last${n}`,
    hubspot_owner_id: n % 3 === 0 ? null : '1',
    country: n % 2 === 0 ? 'Germany' : null,
    lastmodifieddate: new Date(start + n * 1000).toISOString(),
    createdate: '2026-01-01T00:00:00Z',
  },
  updatedAt: new Date(start + n * 1000).toISOString(),
  archived: false,
});

let customer: Customer;
beforeAll(async () => {
  for (let n = 0; n < count; n += 1) {
    const one = contact(n);
    hubspot.contacts.set(one.id, one);
    if (n % 2 === 0) hubspot.companyOf.set(one.id, '500');
  }
  hubspot.companies.set('500', { name: 'Company', domain: 'company.test' });
  hubspot.owners.push({ id: '1', email: 'owner@example.com', firstName: 'Olive', lastName: 'Owner' });
  const { stack, upstream } = shared();
  customer = await connectCustomer(stack, {
    document: specDocument('hubspot-crm'),
    keepsDestination: true,
    params: { apiUrl: upstream.url, clientId: 'client', sqlHost: spec.name, sqlDatabase: 'crm', sqlUser: 'crm' },
    secrets: { clientSecret: 'client-secret', sqlPassword: 'the-sql-password' },
    activate: false,
  });
  return () => customer[Symbol.asyncDispose]();
});

it('is published as it is, authorized, and finds its SQL Server over an encrypted connection', async () => {
  const { org } = shared().stack;
  const { body } = await org.call('GET', `/oauth/${customer.connectionId}/authorize`);
  const state = new URL(body.authorizeUrl).searchParams.get('state') ?? '';
  const callback = `/oauth/callback?code=${code}&state=${encodeURIComponent(state)}`;
  expect(await org.call('GET', callback, { apiKey: null })).toMatchObject({ status: 200 });
  const tested = await org.call('POST', `/connections/${customer.connectionId}/test`);
  expect(tested).toMatchObject({ status: 200, body: { ok: true } });
});

it('writes every contact once into the table and schema that it names', async () => {
  const run = await customer.sync('contacts');
  expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: count, recordsOut: count } });
  await server.audit('contacts');
  expect(await server.writes()).toEqual({ rows: count, inserts: count, updates: 0, deletes: 0 });
  const rows = server.rows('contacts').map(({ id, email, full_name, owner_email, country_code, company_name }) => ({
    id,
    email,
    full_name,
    owner_email,
    country_code,
    company_name,
  }));
  expect(rows).toEqual(
    Array.from({ length: count }, (_, n) => ({
      id: contact(n).id,
      email: `person${n}@example.com`,
      full_name: `Zoë 😀 Last${n}`,
      owner_email: n % 3 === 0 ? null : 'owner@example.com',
      country_code: n % 2 === 0 ? 'DE' : null,
      company_name: n % 2 === 0 ? 'Company' : null,
    })),
  );
});

it('changes the row of a contact that changed, and marks one that was archived', async () => {
  const [changed, archived] = [contact(7), contact(8)];
  hubspot.contacts.set(changed.id, {
    ...changed,
    properties: { ...changed.properties, lastname: 'Renamed' },
    updatedAt: new Date(Date.now() - 180_000).toISOString(),
  });
  hubspot.contacts.set(archived.id, { ...archived, archived: true });
  const run = await customer.sync('contacts');
  expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1, deleted: 1 } });
  expect(await server.writes()).toEqual({ rows: count, inserts: count, updates: 2, deletes: 0 });
  const rows = server.rows('contacts');
  expect(rows.find(({ id }) => id === changed.id)).toMatchObject({ full_name: 'Zoë 😀 Renamed', _deleted_at: null });
  expect(rows.filter((row) => row['_deleted_at'] !== null).map(({ id }) => id)).toEqual([archived.id]);
});
