import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unusedPort } from '../../support/service/temporal-dev-server.ts';
import { listening } from './ask.ts';
import { run, serve } from './processes.ts';
import { downloads, type RealServer } from './real-server.ts';

/** The module of stripe-mock whose server and description are used. */
export const stripeMock = 'github.com/stripe/stripe-mock@v0.203.0';

/** Stripe's own stand-in: it checks requests by Stripe's description and responds with one fixture of each kind. */
export async function startStripeMock(): Promise<RealServer> {
  const folder = await downloads('stripe');
  const program = join(folder, 'stripe-mock');
  if (!existsSync(program)) await run('go', ['install', stripeMock], { env: { GOBIN: folder } });
  const port = await unusedPort();
  const hostPort = `127.0.0.1:${port}`;
  const server = serve('stripe-mock', program, ['-http-addr', hostPort, '-strict-version-check=false']);
  await listening(`http://${hostPort}/`);
  const lists = ['customers', 'charges', 'invoices', 'subscriptions', 'products', 'prices'];
  return {
    name: "Stripe's own stand-in, stripe-mock 0.203.0 (Go module)",
    hostPort,
    params: {},
    secrets: { secretKey: 'sk_test_123' },
    overrides: { http: { baseUrl: `http://${hostPort}` } },
    records: Object.fromEntries(lists.map((list) => [list, 1])),
    change: null,
    [Symbol.asyncDispose]: () => server.destroy(),
  };
}
