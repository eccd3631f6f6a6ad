import { startReceiver } from '../support/destinations/webhook-receiver.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import type { UpstreamRecord } from '../support/upstream/upstream.ts';
import { createEndpoint } from '../support/webhooks/endpoints.ts';
import { startEventReceiver } from '../support/webhooks/event-receiver.ts';
import { type ControlDatabase, startControlDatabase } from './control-database.ts';
import { addCustomer, type Customer, signingSecret, startApi } from './customers.ts';
import { createLookout, operatorEndpoint, type Subject } from './lookout.ts';
import { addPartner, type Partner } from './partner.ts';
import { probed, startWorker, type Worker } from './processes.ts';
import { type Alerts, followAlerts } from './prometheus.ts';

/** The running service, its customers, and who watches them. */
export interface Scene extends AsyncDisposable {
  readonly stack: Stack;
  readonly database: ControlDatabase;
  readonly workers: readonly Worker[];
  readonly initech: Customer;
  readonly globex: Customer;
  readonly hooli: Customer;
  readonly partner: Partner;
  /** Each of these, a customer with a webhook, and the processes. */
  readonly all: readonly Subject[];
  readonly alerts: Alerts;
  /** Adds records to each API every two seconds until it is disposed. */
  startChanges(): Disposable;
}

/** Records of an API; of hooli enough for a backfill that is under way when its worker dies. */
const [few, many] = [300, 5000];

/** Starts everything. Resolves when the first run of each customer has ended. */
export async function startScene(): Promise<Scene> {
  await using started = new AsyncDisposableStack();
  const database = started.use(await startControlDatabase());
  const events = started.use(await startEventReceiver());
  const receiver = started.use(await startReceiver(signingSecret));
  const apis = {
    initech: await startApi(few),
    globex: await startApi(few),
    hooli: await startApi(many),
    stark: await startApi(few),
  };
  const upstreams = Object.values(apis).map(({ upstream }) => started.use(upstream));
  const allow = [events, receiver, ...upstreams].map(({ hostPort }) => hostPort);
  const stack = started.use(await startStack({ allow, workers: 0, databaseUrl: database.url }));
  const metricsPort = await unusedPort();
  await stack.restartApi({ METRICS_PORT: String(metricsPort) });
  const workers = [await startWorker(stack), await startWorker(stack)];
  const lookout = await createLookout(stack, events);
  await createEndpoint(stack, events, { name: operatorEndpoint });
  const partner = await addPartner(stack, events, lookout);
  const add = async (name: keyof typeof apis, to: { readonly receiver?: typeof receiver } = {}) =>
    started.use(await addCustomer(stack, { name, ...apis[name], lookout, ...to }));
  const databases = { initech: await add('initech'), globex: await add('globex'), hooli: await add('hooli') };
  const customers = [...Object.values(databases), await add('stark', { receiver })];
  const ports = [metricsPort, ...workers.map(({ settings }) => Number(settings.METRICS_PORT))];
  const alerts = started.use(await followAlerts(ports));
  const opened = started.move();
  return {
    ...{ stack, database, workers, partner, alerts },
    ...databases,
    all: [...customers, partner, probed(stack, workers)],
    startChanges() {
      const timer = setInterval(() => {
        for (const { put } of customers) put(...newRecords(3));
      }, 2000);
      return { [Symbol.dispose]: () => clearInterval(timer) };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

let made = 0;

/** Records that no API has had. */
export const newRecords = (count: number, email = 'new@example.com'): readonly UpstreamRecord[] =>
  Array.from({ length: count }, () => {
    made += 1;
    return { id: `n${made}`, updated_at: new Date().toISOString(), name: `New ${made}`, email };
  });
