/** Lets a customer connect on a page of the service: `node connect-session.ts <id of a workspace> <database URL>`. */
import { createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [workspaceId = '', databaseUrl = ''] = process.argv.slice(2);

// On your server, when the customer asks for it. Send them to `url`, or give `token` to <connector-connect>.
const session = await client.post('/connect-sessions', {
  body: {
    workspaceId,
    specKey: 'acme-crm',
    externalCustomerId: 'customer-43',
    secrets: { databaseUrl },
    resources: ['contacts'],
  },
});
console.log('send the customer to', new URL(session.url).pathname);

// Later: where are they?
const { state, step } = await client.get('/connect-sessions/{id}', { params: { id: session.id } });
console.log(state, step);
