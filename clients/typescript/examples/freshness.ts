/** Reads how up to date a connection is: `node freshness.ts <id of the connection>`. */
import { createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [id = ''] = process.argv.slice(2);

const { freshness } = await client.get('/connections/{id}/freshness', { params: { id } });
console.log(freshness);
