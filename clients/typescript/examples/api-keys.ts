/** Creates an API key that expires, uses it, and revokes it with the keys that it has made: `node api-keys.ts`. */
import { ApiError, createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });

const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
const { id, key } = await client.post('/api-keys', { body: { expiresAt } });
const other = createClient({ url, apiKey: key });
console.log('the new key sees', (await other.get('/workspaces')).length, 'workspaces');
await client.delete('/api-keys/{id}', { params: { id }, query: { withDescendants: 'true' } });
try {
  await other.get('/workspaces');
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  console.log('revoked:', error.status, error.code);
}
