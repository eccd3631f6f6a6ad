import { beforeAll, describe, expect, it } from 'vitest';
import { type Contact, imitateHubSpot } from '../support/imitations/hubspot.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { type Customer, connectCustomer } from '../support/sync/customer.ts';
import { specDocument } from '../support/sync/spec-documents.ts';

const code = 'the-code';
const hubspot = imitateHubSpot({ code, accessToken: 'hubspot-access-token' });
const shared = useSharedService({ reply: (request) => hubspot.reply(request) });

const count = 12_500;
/** Within one year, so that one window holds more than a search gives. */
const start = Date.now() - 200 * 86_400_000;
const countries = ['Germany', 'France', 'United States', 'Utopia', null];
const codes: Readonly<Record<string, string>> = { Germany: 'DE', France: 'FR', 'United States': 'US' };

const contact = (n: number): Contact => ({
  id: String(100_000 + n),
  properties: {
    email: `Person${n}@Example.com`,
    firstname: n % 6 === 0 ? null : `First${n}`,
    lastname: `Last${n}`,
    hubspot_owner_id: n % 3 === 0 ? null : String(n % 7),
    country: countries[n % countries.length] ?? null,
    lastmodifieddate: new Date(start + n * 1000).toISOString(),
    createdate: '2026-01-01T00:00:00Z',
  },
  updatedAt: new Date(start + n * 1000).toISOString(),
  archived: false,
});

let customer: Customer;
beforeAll(async () => {
  for (let n = 0; n < count; n += 1) {
    const { id } = contact(n);
    hubspot.contacts.set(id, contact(n));
    if (n % 2 === 0) hubspot.companyOf.set(id, String(500 + (n % 40)));
  }
  for (let n = 0; n < 40; n += 2)
    hubspot.companies.set(String(500 + n), { name: `Company ${n}`, domain: `c${n}.test` });
  // One company is gone, one cannot be read.
  hubspot.companies.delete('502');
  hubspot.companies.set('504', 'broken');
  for (let n = 0; n < 7; n += 1) {
    hubspot.owners.push({ id: String(n), email: `owner${n}@example.com`, firstName: 'Olive', lastName: `Owner${n}` });
  }
  const broken = hubspot.contacts.get('100011');
  if (broken) hubspot.contacts.set(broken.id, { ...broken, properties: { ...broken.properties, email: null } });
  const { stack, upstream } = shared();
  customer = await connectCustomer(stack, {
    document: specDocument('hubspot-crm'),
    params: {
      apiUrl: upstream.url,
      clientId: 'client',
      sqlHost: 'sql.example.com',
      sqlDatabase: 'crm',
      sqlUser: 'crm',
    },
    secrets: { clientSecret: 'client-secret', sqlPassword: 'not-used' },
    activate: false,
    // HubSpot's own pace, four searches a second, would make the test wait.
    overrides: {
      http: { rateLimit: { requests: 10_000, perSeconds: 1 } },
      resources: [{ key: 'contacts', request: { rateLimit: { requests: 10_000, perSeconds: 1 } } }],
    },
  });
  return () => customer[Symbol.asyncDispose]();
});

/** What the table should hold of a contact; null: it is quarantined. */
function expectedRow({ id, properties, updatedAt }: Contact) {
  const company = hubspot.companies.get(hubspot.companyOf.get(id) ?? '');
  if (properties['email'] === null || company === 'broken') return null;
  const { email, firstname, lastname, hubspot_owner_id: owner, country } = properties;
  return {
    id,
    email: email?.toLowerCase(),
    full_name: [firstname, lastname].filter((name) => name !== null).join(' '),
    owner_email: owner === null ? null : `owner${owner}@example.com`,
    country_code: codes[country ?? ''] ?? null,
    company_name: company?.name ?? null,
    updated_at: updatedAt,
  };
}

const expectedRows = () =>
  [...hubspot.contacts.values()]
    .map(expectedRow)
    .filter((row) => row !== null)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));

async function storedRows(where = 'true'): Promise<unknown[]> {
  const rows = await customer.destination.query<{ updated_at: Date }>(
    `select id, email, full_name, owner_email, country_code, company_name, updated_at from contacts where ${where} order by id`,
  );
  return rows.map((row) => ({ ...row, updated_at: row.updated_at.toISOString() }));
}

const requests = (path: string) => shared().upstream.journal.filter(({ url }) => url.startsWith(path));

describe('the HubSpot spec', () => {
  it('is authorized by the customer, which activates the connection', async () => {
    const { org } = shared().stack;
    const { status, body } = await org.call('GET', `/oauth/${customer.connectionId}/authorize`);
    expect(status).toBe(200);
    const authorizeUrl = new URL(body.authorizeUrl);
    expect(authorizeUrl.origin).toBe('https://app.hubspot.com');
    const state = authorizeUrl.searchParams.get('state') ?? '';
    const reply = await org.call('GET', `/oauth/callback?code=${code}&state=${encodeURIComponent(state)}`, {
      apiKey: null,
    });
    expect(reply).toMatchObject({ status: 200, body: { connected: true, connectionId: customer.connectionId } });
  });

  it('reads every contact although a search gives 10,000 at most, with owners, countries and companies', async () => {
    const run = await customer.sync('contacts');
    const kept = expectedRows();
    expect(run).toMatchObject({
      status: 'partial',
      statsJson: { recordsOut: kept.length, quarantined: count - kept.length, deleted: 0 },
    });
    expect(await storedRows()).toEqual(kept);
    expect(hubspot.beyondCap()).toBe(0);
    // A page of 100 contacts asks once for its companies' ids, and a company is read once.
    expect(requests('/crm/v3/objects/companies/')).toHaveLength(20);
  });

  it('quarantines a contact without e-mail, and one whose company cannot be read', async () => {
    const { body } = await shared().stack.org.call('GET', `/quarantine?connectionId=${customer.connectionId}`);
    const errors = new Map(
      body.map((row: { externalId: string; validationErrors: unknown }) => [row.externalId, row.validationErrors]),
    );
    expect(errors.get('100011')).toMatchObject([{ path: 'email' }]);
    expect(errors.get('100004')).toMatchObject([{ path: 'company', keyword: 'enrich' }]);
  });

  it('marks archived contacts, once, and delivers one that is restored', async () => {
    const archived = hubspot.contacts.get('100020');
    if (!archived) throw new Error('There is such a contact');
    hubspot.contacts.set(archived.id, { ...archived, archived: true });
    expect((await customer.sync('contacts')).statsJson).toMatchObject({ deleted: 1, recordsOut: 0 });
    expect(await storedRows('_deleted_at is not null')).toMatchObject([{ id: '100020' }]);
    expect((await customer.sync('contacts')).statsJson).toMatchObject({ deleted: 0 });

    hubspot.contacts.set(archived.id, { ...archived, updatedAt: new Date(Date.now() - 180_000).toISOString() });
    expect((await customer.sync('contacts')).statsJson).toMatchObject({ deleted: 0, recordsOut: 1 });
    expect(await storedRows('_deleted_at is not null')).toEqual([]);
  });
});
