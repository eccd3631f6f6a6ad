/** Gives a browser of the customer a token for one connection: `node embed-token.ts <id of the connection>`. */
import { createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [connectionId = ''] = process.argv.slice(2);

// On your server, for a customer who is signed in. The page gives the token to <connector-freshness>.
const { token, expiresAt } = await client.post('/tokens/embed', { body: { connectionId, ttlSeconds: 300 } });
console.log('a token of', token.length, 'characters, valid until', new Date(expiresAt * 1000).toISOString());
