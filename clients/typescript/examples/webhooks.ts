/** Receives events, verified: `node webhooks.ts <port>`. The service must be able to reach the port. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { createClient, verifyWebhook, type WebhookEvent, WebhookVerificationError } from '@connector-sync/client';

const { CSS_API_URL: url = 'http://localhost:3100', CSS_API_KEY: apiKey = '' } = process.env;
const client = createClient({ url, apiKey });
const [port = '8080'] = process.argv.slice(2);

const endpoint = await client.post('/webhook-endpoints', {
  body: { url: `http://127.0.0.1:${port}/events`, eventTypes: ['run.succeeded', 'run.failed', 'webhook.test'] },
});
// Keep it where your secrets are: it is shown once.
const { secret = '' } = endpoint;

function handle(event: WebhookEvent): void {
  // `webhook-id` is the same for every attempt: remember `event.id`, and skip what you have seen.
  if (event.type === 'run.failed') console.log(event.data.run.id, event.data.error.message);
  else console.log('received', event.type);
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    // The bytes as they came: what is signed is not the parsed body.
    handle(await verifyWebhook(await buffer(request), request.headers, { secrets: secret }));
    response.writeHead(204).end();
    received.resolve();
  } catch (error) {
    response.writeHead(error instanceof WebhookVerificationError ? 400 : 500).end();
  }
}

const received = Promise.withResolvers<void>();
const server = createServer((request, response) => void respond(request, response));
server.listen(Number(port), '127.0.0.1');

await client.post('/webhook-endpoints/{id}/test', { params: { id: endpoint.id }, body: {} });
await received.promise;
await client.delete('/webhook-endpoints/{id}', { params: { id: endpoint.id } });
server.close();
