/** Syncs by schedule: `node schedules.ts <id of the connection>`. */
import { createClient } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [id = ''] = process.argv.slice(2);

const schedule = await client.post('/connections/{id}/schedules', {
  params: { id },
  body: { resourceKey: 'contacts', cron: '0 6 * * 1-5', timezone: 'Europe/Berlin' },
});
await client.patch('/schedules/{id}', { params: { id: schedule.id }, body: { enabled: false } });
for (const { cron, timezone, enabled } of await client.get('/connections/{id}/schedules', { params: { id } })) {
  console.log(cron, timezone, enabled ? 'enabled' : 'disabled');
}
await client.delete('/schedules/{id}', { params: { id: schedule.id } });
