import { type ExpressionBuilder, sql } from 'kysely';
import type { Db } from '../../client.ts';
import type { Database } from '../../schema.ts';
import type { OrgScope } from '../../scope.ts';

/** The request of one `Idempotency-Key` of an org. */
export interface IdempotentRequest {
  readonly method: string;
  /** The request's path, ids included. */
  readonly path: string;
  readonly key: string;
}

/** The state of an earlier request with the same key. */
export interface EarlierRequest {
  readonly bodyHash: string;
  /** Null while it is in progress. */
  readonly status: number | null;
  /** The response as JSON text; null when it may not be given twice, or is abridged or too long to be kept. */
  readonly response: string | null;
  /** The response without what its body has too, as JSON text; null: it is not abridged. */
  readonly abridged: string | null;
}

/** How long a key is known. */
const kept = sql`interval '24 hours'`;

/**
 * Takes the key for `lockSeconds`. True: this request is the first, or the earlier one is over a day old or was
 * never responded to. False: {@link findIdempotent} says what the earlier one was.
 */
export async function claimIdempotent(
  db: Db,
  scope: OrgScope,
  {
    bodyHash,
    lockSeconds,
    ...request
  }: IdempotentRequest & { readonly bodyHash: string; readonly lockSeconds: number },
): Promise<boolean> {
  const lockedUntil = sql<string>`now() + make_interval(secs => ${lockSeconds})`;
  const claimed = await db
    .insertInto('idempotencyKeys')
    .values({ ...request, orgId: scope.orgId, bodyHash, lockedUntil })
    .onConflict((conflict) =>
      conflict
        .columns(['orgId', 'method', 'path', 'key'])
        .doUpdateSet({ bodyHash, lockedUntil, status: null, response: null, abridged: null, createdAt: sql`now()` })
        .where(
          sql<boolean>`idempotency_keys.created_at < now() - ${kept}
            or (idempotency_keys.status is null and idempotency_keys.locked_until < now())`,
        ),
    )
    .returning('key')
    .executeTakeFirst();
  return claimed !== undefined;
}

/** The earlier request with that key, or undefined when it has been released meanwhile. */
export function findIdempotent(
  db: Db,
  scope: OrgScope,
  request: IdempotentRequest,
): Promise<EarlierRequest | undefined> {
  return db
    .selectFrom('idempotencyKeys')
    .select(['bodyHash', 'status', 'response', 'abridged'])
    .where(isRequest(scope, request))
    .executeTakeFirst();
}

/**
 * Keeps the response for the requests that will repeat it. False: a request that took the key after this one has one, or
 * has another body.
 */
export async function saveIdempotent(
  db: Db,
  scope: OrgScope,
  {
    bodyHash,
    status,
    response,
    abridged,
    ...request
  }: IdempotentRequest & Omit<EarlierRequest, 'status'> & { readonly status: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('idempotencyKeys')
    .set({ status, response, abridged })
    .where(isRequest(scope, request))
    .where('bodyHash', '=', bodyHash)
    .where('status', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Gives the key of a request back that has no response: it changed nothing. */
export async function releaseIdempotent(db: Db, scope: OrgScope, request: IdempotentRequest): Promise<void> {
  await db.deleteFrom('idempotencyKeys').where(isRequest(scope, request)).where('status', 'is', null).execute();
}

/** Whether a row is that of a request. */
function isRequest({ orgId }: OrgScope, { method, path, key }: IdempotentRequest) {
  return (row: ExpressionBuilder<Database, 'idempotencyKeys'>) => row.and({ orgId, method, path, key });
}

/** Removes keys that no request can repeat, of every org; a few rows per call, so that nothing waits for it. */
export async function purgeIdempotencyKeys(db: Db): Promise<void> {
  await sql`
    delete from idempotency_keys where ctid in (
      select ctid from idempotency_keys where created_at < now() - ${kept} limit 1000 for update skip locked)`.execute(
    db,
  );
}
