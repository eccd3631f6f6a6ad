/** Shows the quarantined records of a connection and retries them: `node quarantine.ts <id of the connection>`. */
import { createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [connectionId = ''] = process.argv.slice(2);

for await (const record of client.each('/quarantine', { query: { connectionId } })) {
  console.log(record.externalId, record.validationErrors);
}
// The next run begins with them.
const { requeued } = await client.post('/quarantine/requeue', { body: { connectionId, resourceKey: 'contacts' } });
console.log('retried:', requeued);
