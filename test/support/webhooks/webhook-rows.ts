import { recordEvent } from '../../../db/queries/webhooks/events.ts';
import { orgScope } from '../../../db/scope.ts';
import { eventIdOf } from '../../../src/core/events/envelope.ts';
import { newId } from '../../../src/core/ids.ts';
import type { EventType } from '../../../src/core/resources/event-types.ts';
import type { TestApi, TestOrg } from '../service/api.ts';

type WithDb = Pick<TestApi, 'deps'>;

/** A public address that nothing is sent to: no DNS is asked, and no worker runs. */
export const receiverUrl = 'https://93.184.215.14/hooks';

/** Creates an endpoint with these settings and returns the response's body. Throws when it is refused. */
export async function createEndpoint({ call }: TestOrg, settings: Readonly<Record<string, unknown>> = {}) {
  const { status, body } = await call('POST', '/webhook-endpoints', { body: { url: receiverUrl, ...settings } });
  if (status !== 201) throw new Error(`No endpoint: ${JSON.stringify(body)}`);
  return body;
}

/** Records an event of the org about nothing in particular; its id. */
export async function happen(
  { deps: { db } }: WithDb,
  { orgId }: TestOrg,
  type: EventType = 'run.succeeded',
): Promise<string> {
  const subject = newId('evt');
  const about = { workspaceId: null, connectionId: null, runId: null };
  await db
    .transaction()
    .execute((tx) => recordEvent(tx, orgScope(orgId), { ...about, type, subject, data: { subject } }));
  return eventIdOf(orgId, { type, subject });
}

/** The queue of an endpoint in the order of events. */
export const messagesOf = ({ deps: { db } }: WithDb, endpointId: string) =>
  db
    .selectFrom('webhookMessages')
    .select(['eventId', 'status', 'attempts', 'nextAttemptAt', 'recoveryId'])
    .where('endpointId', '=', endpointId)
    .orderBy('seq')
    .execute();
