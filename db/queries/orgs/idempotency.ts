import { type ExpressionBuilder, sql } from 'kysely';
import type { Db } from '../../client.ts';
import type { Database } from '../../schema.ts';
import type { OrgScope } from '../../scope.ts';

export interface IdempotentRequest {
  readonly method: string;
  /** Ids included. */
  readonly path: string;
  readonly key: string;
}

export interface EarlierRequest {
  readonly bodyHash: string;
  /** `null` while it is in progress. */
  readonly status: number | null;
  /** JSON text; `null` if the response may not be given twice, or is abridged or too long to keep. */
  readonly response: string | null;
  /** JSON text of the response without the parts that the request body has too; `null` if it is not abridged. */
  readonly abridged: string | null;
}

const kept = sql`interval '24 hours'`;

/** `true` if this request is the first, or the earlier one is over a day old or never got a response. */
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

/** `undefined` if the earlier request has released the key meanwhile. */
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

/** `false` if a request that took the key later has a response already, or has another body. */
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

/** Releases the key of a request without a response, which changed nothing. */
export async function releaseIdempotent(db: Db, scope: OrgScope, request: IdempotentRequest): Promise<void> {
  await db.deleteFrom('idempotencyKeys').where(isRequest(scope, request)).where('status', 'is', null).execute();
}

function isRequest({ orgId }: OrgScope, { method, path, key }: IdempotentRequest) {
  return (row: ExpressionBuilder<Database, 'idempotencyKeys'>) => row.and({ orgId, method, path, key });
}

/** A few rows per call, so that nothing waits for it. */
export async function purgeIdempotencyKeys(db: Db): Promise<void> {
  await sql`
    delete from idempotency_keys where ctid in (
      select ctid from idempotency_keys where created_at < now() - ${kept} limit 1000 for update skip locked)`.execute(
    db,
  );
}
