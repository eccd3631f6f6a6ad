/** Syncs a resource and follows the run to its end: `node sync.ts <id of the connection>`. */
import { createClient, followRun } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [id = ''] = process.argv.slice(2);

const { id: runId } = await client.post('/connections/{id}/sync', { params: { id }, body: { resource: 'contacts' } });
for await (const run of followRun(client, runId, { signal: AbortSignal.timeout(60_000) })) {
  console.log(run.status, run.statsJson);
}
for await (const call of client.each('/runs/{id}/calls', { params: { id: runId } })) {
  console.log(call.method, call.url, call.statusCode);
}
