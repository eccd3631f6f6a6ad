/** The connector definitions of the demo, as a customer would POST them. */

/** The upstream's maximum. */
export const pageSize = 1000;

export const targetTable = { schema: 'demo', table: 'cities' } as const;

/** On this machine, hence without TLS. */
const destination = {
  kind: 'postgres',
  url: '{{ secrets.databaseUrl }}',
  schema: targetTable.schema,
  ssl: 'disable',
} as const;

export const citiesSpec = {
  metadata: { key: 'demo-cities', name: 'Cities of the world', version: '1.0.0' },
  connectionParams: [
    { key: 'apiUrl', type: 'url' },
    { key: 'token', type: 'string', secret: true },
    { key: 'databaseUrl', type: 'string', secret: true },
  ],
  auth: { kind: 'bearer', token: '{{ secrets.token }}' },
  // The API is ours and local; a real one would get fewer requests, and more time after an error.
  http: {
    baseUrl: '{{ params.apiUrl }}',
    rateLimit: { requests: 5000, perSeconds: 1 },
    retry: { baseMs: 100 },
    errors: [
      {
        when: { status: [429] },
        action: 'rate_limited',
        waitFrom: { header: 'x-ratelimit-reset-after', format: 'seconds' },
      },
    ],
  },
  resources: [
    {
      key: 'cities',
      primaryKey: 'id',
      request: { path: '/cities', query: { per_page: '{{ page.size }}', updated_since: '{{ window.from }}' } },
      pagination: { kind: 'link_header', size: pageSize },
      incremental: { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
      transform:
        "{ 'id': id, 'name': name, 'country': country, 'region': admin1, 'lat': $number(lat), 'lng': $number(lng), 'updated_at': updated_at }",
      validate: {
        schema: {
          type: 'object',
          required: ['id', 'name', 'country', 'lat', 'lng', 'updated_at'],
          properties: {
            id: { type: 'integer' },
            name: { type: 'string', minLength: 1 },
            country: { type: 'string', pattern: '^[A-Z]{2}$' },
            region: { type: 'string' },
            lat: { type: 'number', minimum: -90, maximum: 90 },
            lng: { type: 'number', minimum: -180, maximum: 180 },
            updated_at: { type: 'string', format: 'date-time' },
          },
        },
      },
      onInvalid: 'quarantine',
      target: { table: targetTable.table },
    },
  ],
  destination,
} as const;

/** Tries to read the credentials that clouds serve to their machines at this address. */
export const evilSpec = {
  metadata: { key: 'demo-evil', name: 'Evil Corp', version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl: 'http://169.254.169.254' },
  resources: [
    {
      key: 'credentials',
      primaryKey: 'id',
      request: { path: '/latest/meta-data/iam/security-credentials/' },
      target: { table: 'credentials' },
    },
  ],
  destination,
} as const;
