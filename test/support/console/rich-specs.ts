/** Specs of the org that the console shows: made up, and valid. */

interface SpecFacts {
  readonly key: string;
  readonly name: string;
  readonly version: string;
  readonly resources: readonly string[];
  /** Of the first resource; absent: as it is read. */
  readonly transform?: string;
}

/** A spec with these resources, each with a cursor, a mapping and rules. */
export const richSpec = ({ key, name, version, resources, transform }: SpecFacts) => ({
  metadata: { key, name, version },
  connectionParams: [
    { key: 'subdomain', type: 'string', format: 'subdomain' },
    { key: 'token', type: 'string', secret: true },
  ],
  auth: { kind: 'bearer', token: '{{ secrets.token }}' },
  http: { baseUrl: 'https://{{ params.subdomain }}.api.example.com', allowedHosts: ['*.api.example.com'] },
  resources: resources.map((resource, index) => ({
    key: resource,
    primaryKey: ['id'],
    request: { path: `/v2/${resource}`, query: { limit: '{{ page.size }}', updated_since: '{{ window.from }}' } },
    response: { records: 'data' },
    pagination: {
      kind: 'cursor',
      next: 'body.next_cursor',
      size: 100,
      inject: { in: 'query', name: 'cursor' },
    },
    incremental: { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
    ...(index === 0 && transform !== undefined ? { transform } : {}),
    validate: { schema: { type: 'object', required: ['id'] } },
    onInvalid: 'quarantine',
    target: { table: resource },
  })),
  destination: { kind: 'postgres', url: 'postgres://warehouse.example.com/crm', schema: 'crm' },
});

const contactsV1 = '{ "id": id, "email": $lowercase(email), "city": address.city }';
const contactsV2 =
  '{ "id": id, "email": $lowercase(email), "city": address.city, "country": $uppercase(address.country) }';

/** Versions in the order in which they are made; all but drafts are published. */
export const richVersions: readonly (SpecFacts & { readonly draft?: true })[] = [
  { key: 'helpdesk', name: 'Helpdesk', version: '2.1.0', resources: ['tickets', 'agents'] },
  { key: 'billing', name: 'Billing', version: '1.0.0', resources: ['invoices', 'payments'] },
  { key: 'crm', name: 'CRM', version: '1.0.0', resources: ['contacts', 'companies'], transform: contactsV1 },
  { key: 'crm', name: 'CRM', version: '1.1.0', resources: ['contacts', 'companies', 'deals'], transform: contactsV2 },
  {
    key: 'crm',
    name: 'CRM',
    version: '1.2.0',
    resources: ['contacts', 'companies', 'deals', 'notes'],
    transform: contactsV2,
    draft: true,
  },
];
