import { isDeepStrictEqual } from 'node:util';
import { recordEvent } from '../../../db/queries/webhooks/events.ts';
import { orgScope } from '../../../db/scope.ts';
import { type DomainEvent, eventIdOf } from '../../../src/core/events/envelope.ts';
import { newId } from '../../../src/core/ids.ts';
import type { EventType } from '../../../src/core/resources/event-types.ts';
import type { WebhookDeliveryDetail, WebhookDeliveryView } from '../../../src/core/resources/webhook-delivery.ts';
import type { WebhookEndpointRow } from '../../../src/core/resources/webhook-endpoint.ts';
import { wakeEndpoints } from '../../../src/dispatch/wake-endpoints.ts';
import { createLog } from '../../../src/log.ts';
import { createOrchestrator } from '../../../src/temporal/orchestrator.ts';
import { eventually } from '../service/eventually.ts';
import type { Service } from '../service/stack.ts';
import type { EventReceiver } from './event-receiver.ts';

/** An endpoint of the test's org. */
export interface TestEndpoint {
  readonly id: string;
  /** What it is signed with at first. */
  readonly secret: string;
  /** What the API says of it. */
  row(): Promise<WebhookEndpointRow>;
  /** Every attempt at it, oldest first. */
  attempts(): Promise<readonly WebhookDeliveryDetail[]>;
  /** The queue: how many events are in which state. */
  queue(): Promise<Readonly<Record<string, number>>>;
  /** Resolves once the queue is this. Throws with the queue and the endpoint when the time is over (30 s unless given). */
  queued(expected: Readonly<Record<string, number>>, timeoutMs?: number): Promise<void>;
  /** Asks for one more attempt. Throws on an error. */
  redeliver(deliveryId: string): Promise<WebhookDeliveryView>;
}

/** Creates an endpoint that gets every type that is on by default. */
export async function createEndpoint(
  stack: Service,
  receiver: Pick<EventReceiver, 'url'>,
  { name, ...settings }: { readonly name: string } & Readonly<Record<string, unknown>>,
): Promise<TestEndpoint> {
  const { call, orgId } = stack.org;
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await call(method, path, { body });
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const { id, secret } = await ask('POST', '/webhook-endpoints', { url: receiver.url(name), ...settings });
  const queue = async (): Promise<Readonly<Record<string, number>>> => {
    const rows = await stack.db
      .selectFrom('webhookMessages')
      .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
      .where('endpointId', '=', id)
      .groupBy('status')
      .execute();
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  };
  const attempts = async (): Promise<readonly WebhookDeliveryDetail[]> => {
    const rows = await stack.db
      .selectFrom('webhookDeliveries')
      .select('id')
      .where('orgId', '=', orgId)
      .where('endpointId', '=', id)
      .orderBy('createdAt')
      .orderBy('id')
      .execute();
    return await Promise.all(rows.map((row) => ask('GET', `/webhook-deliveries/${row.id}`)));
  };
  return {
    id,
    secret,
    row: () => ask('GET', `/webhook-endpoints/${id}`),
    attempts,
    queue,
    async queued(expected, timeoutMs = 30_000) {
      let seen = {};
      const isAsExpected = async () => {
        seen = await queue();
        return isDeepStrictEqual(seen, expected);
      };
      try {
        await eventually('the queue is as expected', isAsExpected, { timeoutMs });
      } catch (error) {
        const shown = {
          expected,
          seen,
          endpoint: await ask('GET', `/webhook-endpoints/${id}`),
          attempts: await attempts(),
        };
        throw new Error(`The queue is not as expected: ${JSON.stringify(shown)}`, { cause: error });
      }
    },
    redeliver: (deliveryId) => ask('POST', `/webhook-deliveries/${deliveryId}/redeliver`),
  };
}

/** Deletes every endpoint of the test's org: they are not notified of what the next test does. */
export async function deleteEndpoints({ org }: Service): Promise<void> {
  const { body } = await org.call('GET', '/webhook-endpoints');
  for (const { id } of body) await org.call('DELETE', `/webhook-endpoints/${id}`);
}

/** Records that many events in one transaction and wakes the endpoints, as every part of the service does; their ids. */
export const emit = (stack: Service, count = 1): Promise<readonly string[]> => emitTypes(stack, typesOf(count));

/** The same, with one event of each of these types. */
export async function emitTypes(stack: Service, types: readonly EventType[]): Promise<readonly string[]> {
  const ids = await recordTypes(stack, types);
  const log = createLog({ level: 'silent', name: 'test' });
  const orchestrator = createOrchestrator(stack.temporal.client, log);
  await wakeEndpoints({ db: stack.db, orchestrator, log }, orgScope(stack.org.orgId));
  return ids;
}

/** Records that many events and tells nobody, as if the process had died after its commit; their ids. */
export const recordEvents = (stack: Service, count: number): Promise<readonly string[]> =>
  recordTypes(stack, typesOf(count));

const typesOf = (count: number): EventType[] => Array.from({ length: count }, () => 'spec.published');

async function recordTypes(stack: Service, types: readonly EventType[]): Promise<readonly string[]> {
  const scope = orgScope(stack.org.orgId);
  const domainEvents = types.map(domainEventOf);
  await stack.db.transaction().execute(async (tx) => {
    for (const domainEvent of domainEvents) await recordEvent(tx, scope, domainEvent);
  });
  return domainEvents.map((domainEvent) => eventIdOf(scope.orgId, domainEvent));
}

const domainEventOf = (type: EventType, n: number): DomainEvent => ({
  type,
  subject: newId('spec'),
  workspaceId: null,
  connectionId: null,
  runId: null,
  data: { n, text: 'ä 🌍 \\u0000 "quoted"' },
});
