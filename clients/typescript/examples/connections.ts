/** Connects a customer: `node connections.ts <url of the customer's database>`. Prints the id of the connection. */
import { createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [databaseUrl = 'postgres://user:password@localhost:5432/acme'] = process.argv.slice(2);

const [workspace] = await client.get('/workspaces');
if (!workspace) throw new Error('An org has workspaces.');
const { id } = await client.post('/connections', {
  body: {
    workspaceId: workspace.id,
    specKey: 'acme-crm',
    specVersion: '1.0.0',
    displayName: 'Acme of Example Ltd',
    externalCustomerId: 'customer-42',
    params: {},
    secrets: { databaseUrl },
  },
  // Your own key makes the request safe to repeat by another process too, for 24 hours.
  idempotencyKey: 'connect-customer-42',
});
const params = { id };
const { steps } = await client.post('/connections/{id}/test', { params });
for (const { step, ok, message } of steps) console.log(step, ok, message);
await client.post('/connections/{id}/activate', { params });
for await (const connection of client.each('/connections')) console.log(connection.displayName, connection.status);
console.log(id);
