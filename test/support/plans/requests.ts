/** Requests to the API of an org with years behind it. */
import type { Kysely } from 'kysely';
import type { Database } from '../../../db/schema.ts';

/** Requests: method, path and body, with places for ids. */
export const requests: readonly (readonly [method: string, path: string, body: object | null])[] = [
  ['GET', '/runs', null],
  ['GET', '/runs?status=running', null],
  ['GET', '/runs?connectionId={connection}', null],
  ['GET', '/runs?since={hourAgo}', null],
  ['GET', '/runs/{run}', null],
  ['GET', '/runs/{run}/calls', null],
  ['GET', '/quarantine?connectionId={connection}', null],
  ['GET', '/quarantine/{quarantined}', null],
  ['GET', '/webhook-deliveries', null],
  ['GET', '/webhook-deliveries/{delivery}', null],
  ['GET', '/oauth-apps', null],
  ['GET', '/webhook-endpoints', null],
  ['GET', '/webhook-endpoints/{endpoint}', null],
  ['GET', '/webhook-endpoints/{endpoint}/stats', null],
  ['GET', '/connect-sessions', null],
  ['GET', '/connections', null],
  ['GET', '/connections/{connection}', null],
  ['GET', '/connections/{connection}/freshness', null],
  ['GET', '/connections/{connection}/schedules', null],
  ['GET', '/connections/{connection}/hooks', null],
  ['GET', '/hooks/{hook}/requests', null],
  ['GET', '/specs', null],
  ['GET', '/workspaces', null],
  ['GET', '/api-keys', null],
  ['POST', '/connections/{connection}/sync', { resource: 'items' }],
  ['POST', '/connections/{connection}/backfill', { resource: 'items', rewindTo: '{hourAgo}' }],
  ['POST', '/runs/{run}/replay', null],
  ['POST', '/runs/{waiting}/cancel', null],
  ['POST', '/quarantine/requeue', { connectionId: '{connection}' }],
  ['POST', '/webhook-deliveries/{delivery}/redeliver', null],
  ['POST', '/webhook-endpoints/{endpoint}/test', null],
  [
    'POST',
    '/webhook-endpoints/{endpoint}/recover',
    { since: '{hourAgo}', until: '{now}', include: ['failed', 'missing'] },
  ],
  ['POST', '/connections/{connection}/schedules', { resourceKey: 'items', cron: '0 4 * * *' }],
  ['POST', '/connections/{connection}/pause', null],
  ['POST', '/connections/{connection}/activate', null],
];

/** What the places of requests stand for. */
export interface RequestIds {
  readonly connection: string;
  readonly run: string;
  readonly endpoint: string;
  readonly hook: string;
}

/** A text of a request with its ids: the given ones, and those of rows that change meanwhile. */
export async function filled(db: Kysely<Database>, text: string, given: RequestIds): Promise<string> {
  const newest = async (table: 'quarantine' | 'webhookDeliveries') =>
    (await db.selectFrom(table).select('id').orderBy('id', 'desc').executeTakeFirstOrThrow()).id;
  const waiting = db.selectFrom('runs').select('id').where('status', '=', 'queued');
  const places: Readonly<Record<string, () => string | Promise<string>>> = {
    ...Object.fromEntries(Object.entries(given).map(([name, id]) => [name, () => id])),
    waiting: async () => (await waiting.executeTakeFirstOrThrow()).id,
    quarantined: () => newest('quarantine'),
    delivery: () => newest('webhookDeliveries'),
    hourAgo: () => new Date(Date.now() - 3_600_000).toISOString(),
    now: () => new Date().toISOString(),
  };
  let result = text;
  for (const [name, id] of Object.entries(places)) {
    if (result.includes(`{${name}}`)) result = result.replaceAll(`{${name}}`, await id());
  }
  return result;
}
