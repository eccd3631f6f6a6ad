import { sql } from 'kysely';
import { createOutbox } from '../../../activities/outbox.ts';
import { orgScope } from '../../../db/scope.ts';
import type { Destination, LaneClaim } from '../../../src/core/destinations/destination.ts';
import { openWebhook, type StrayRejections } from '../../../src/core/destinations/webhook/webhook.ts';
import type { LoggedCall } from '../../../src/core/http/logged-call.ts';
import { openTestDatabase, type TestDatabase } from '../service/database.ts';
import { insertTestConnection } from '../service/rows.ts';
import { destinationDeps } from './destination-deps.ts';
import type { DeliveryKind, DeliveryPlace } from './destination-kind.ts';
import { guardFor } from './postgres-kind.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

/** A webhook place also shows its receiver, and what the service keeps and logs. */
export interface WebhookPlace extends DeliveryPlace {
  readonly receiver: Receiver;
  readonly database: TestDatabase;
  readonly calls: readonly LoggedCall[];
  /** What receivers refused that was not sent to them. */
  readonly strays: readonly StrayRejections[];
  /** Milliseconds of every wait; none is slept. */
  readonly sleeps: readonly number[];
  connect(options?: Readonly<Record<string, unknown>>): Destination;
}

/** The secret that places sign with. */
const secret = `whsec_${Buffer.from('a secret of at least 24 bytes').toString('base64')}`;

/** Webhook receivers under the conformance suite. */
export const webhookKind: DeliveryKind = { name: 'webhook', createPlace: createWebhookPlace };

/** Of addresses without a secret. */
const plain = { seal: (text: string) => text, says: (sealed: string, text: string) => sealed === text };

/** A receiver, and a control database with the outboxes of its lanes. */
export async function createWebhookPlace(): Promise<WebhookPlace> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startReceiver(secret));
  const database = stack.use(await openTestDatabase());
  const owner = await insertTestConnection(database.db);
  const calls: LoggedCall[] = [];
  const strays: StrayRejections[] = [];
  const sleeps: number[] = [];
  const scope = orgScope(owner.orgId);
  const clock = {
    now: () => Date.now() + sleeps.reduce((sum, ms) => sum + ms, 0),
    random: () => 0.5,
    sleep: async (ms: number) => void sleeps.push(ms),
  };
  const opened = stack.move();

  /** Takes the lane as the engine does before it opens a destination: a smaller fence than the newest holds nothing. */
  const takeLane = async ({ lane, fence }: LaneClaim): Promise<number> => {
    const { rows } = await sql<{ id: number }>`
      insert into lanes (org_id, connection_id, resource_key, fence)
      values (${owner.orgId}, ${owner.connectionId}, ${lane}, ${fence})
      on conflict (org_id, connection_id, resource_key)
      do update set fence = greatest(lanes.fence, excluded.fence) returning id`.execute(database.db);
    return rows[0]?.id ?? -1;
  };

  return {
    schema: '',
    receiver,
    database,
    calls,
    strays,
    sleeps,
    connect(options) {
      const given = {
        url: receiver.url,
        signingSecret: secret,
        headers: {},
        batchSize: 500,
        maxBatchBytes: 1_048_576,
        timeoutMs: 5_000,
        parallelism: 1,
        ...options,
      };
      let destination: Destination | null = null;
      const close = async () => await destination?.[Symbol.asyncDispose]();
      return {
        check: () => Promise.reject(new Error('Not part of the promise of a delivery')),
        async open(claim) {
          await close();
          const laneId = await takeLane(claim);
          const holder = { laneId, fence: claim.fence, runId: 'run_1' };
          const outbox = createOutbox(database, scope, { owner: holder, redact: (text) => text, echoes: plain });
          const logCall = (call: LoggedCall) => void calls.push(call);
          const onStrayRejections = (stray: StrayRejections) => void strays.push(stray);
          const guard = guardFor(Number(receiver.hostPort.split(':')[1]));
          destination = openWebhook(given, destinationDeps(guard, { outbox, logCall, onStrayRejections }), clock);
          return destination.open(claim);
        },
        prepare: (batch) => destination?.prepare(batch),
        async apply(batch) {
          if (!destination) throw new Error('Open it first');
          return destination.apply(batch);
        },
        [Symbol.asyncDispose]: close,
      };
    },
    async rows(table) {
      const rows = receiver.rows(table);
      const records = receiver.posts.flatMap(({ batch }) => batch.records);
      const columns = [...new Set(records.flatMap(({ data = {} }) => Object.keys(data)))];
      return rows
        .toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1))
        .map((row) => ({
          _connection_id: row.connectionId,
          _external_id: row.externalId,
          _run_id: row.runId,
          ...Object.fromEntries(columns.map((column) => [column, textOf(row.data[column])])),
        }));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const textOf = (value: unknown): string | null => {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
};
