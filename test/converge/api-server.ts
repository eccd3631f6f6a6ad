import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { sendResponse } from '../support/upstream/faults.ts';
import type { StoryApi } from './api.ts';

/** The fake APIs of all stories behind one address: the first segment of a path names the story. */
export interface ApiServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly hostPort: string;
  /** By that segment. */
  readonly apis: Map<string, StoryApi>;
}

/** Starts it, without an API. */
export async function createApiServer(): Promise<ApiServer> {
  const apis = new Map<string, StoryApi>();
  const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? '', `http://${incoming.headers.host}`);
    const api = apis.get(url.pathname.split('/')[1] ?? '');
    const body = await text(incoming);
    const reply = api ? await api.respond(incoming.headers, url, body) : { status: 404, body: '{}' };
    if (reply) sendResponse(reply, response);
    else response.destroy();
  };
  const server = createServer((incoming, response) => {
    respond(incoming, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    hostPort: `127.0.0.1:${port}`,
    apis,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
