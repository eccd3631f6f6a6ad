/** Lets the customer's API start syncs by webhook: `node hooks.ts <id of the connection>`. */
import { createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [id = ''] = process.argv.slice(2);

const hook = await client.post('/connections/{id}/hooks', {
  params: { id },
  body: { resourceKeys: ['contacts'], verification: { kind: 'none' } },
});
// The address is shown once: give it to the customer's API, which posts to it when something is new.
const accepted = await fetch(hook.url, { method: 'POST', body: '{"changed":"c1"}' });
console.log('accepted with', accepted.status);
for (const request of await client.get('/hooks/{id}/requests', { params: { id: hook.id } })) {
  console.log('a request:', request.status);
}
await client.delete('/hooks/{id}', { params: { id: hook.id } });
