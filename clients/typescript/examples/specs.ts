/** Describes an API in a spec, previews its transform, and publishes it: `node specs.ts <url of the API>`. */
import { ApiError, type ConnectorSpec, createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [baseUrl = 'https://api.acme.example'] = process.argv.slice(2);

// The compiler checks the form of a spec; the service checks all of it.
const spec: ConnectorSpec = {
  metadata: { key: 'acme-crm', name: 'Acme CRM', version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl },
  resources: [
    {
      key: 'contacts',
      primaryKey: ['id'],
      request: { path: '/contacts' },
      response: { records: 'data' },
      transform: '{ "id": id, "email": $lowercase(email) }',
      validate: { schema: { type: 'object', required: ['id', 'email'] } },
      onInvalid: 'quarantine',
      target: { table: 'contacts' },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
};

const row = await client.post('/specs/transform-preview', {
  body: { expression: '{ "id": id, "email": $lowercase(email) }', record: { id: 'c1', email: 'Ada@Example.com' } },
});
console.log('a record becomes', row);

const params = { key: spec.metadata.key, version: spec.metadata.version };
try {
  await client.post('/specs', { body: { ...spec, resources: [] } });
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  console.log('a mistake:', error.status, error.code, error.issues);
}
await client.post('/specs', { body: spec });
const { status } = await client.post('/specs/{key}/versions/{version}/publish', { params });
console.log('the spec is', status);
