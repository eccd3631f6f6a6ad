/**
 * Connections in error are tested again after 1, 5 and 15 minutes, each hour of a day, then each day. Errors within a day of a
 * successful test count as one series. After 8 tests of a series a person must look, since tests do not show the cause.
 */
import { type RawBuilder, sql } from 'kysely';
import type { ConnectionError } from '../../../src/core/resources/connection.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

export interface DueRetest {
  readonly orgId: string;
  readonly id: string;
  /** `null`, as is `code`, if an earlier version of the service set the error. */
  readonly resourceKey: string | null;
  readonly code: string | null;
  /** Identifies the tested values: other ones are tested anew. */
  readonly accessNo: number;
}

const pause = (tests: RawBuilder<number>): RawBuilder<string> => sql<string>`make_interval(mins => case ${tests}
  when 0 then 1 when 1 then 5 when 2 then 15 else case when ${tests} > 26 then 1440 else 60 end end)`;

const isoText = (time: RawBuilder<string>): RawBuilder<string> =>
  sql<string>`to_char((${time}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const testsSoFar = sql<number>`case when recovered_at > now() - interval '1 day' then tests else 0 end`;

/** Limit for a series of errors. */
const testsMax = 8;

/** `isTested`: whether a test can show that the connection is repaired. */
export function errorColumns(
  error: Pick<ConnectionError, 'code' | 'message' | 'resourceKey'>,
  isTested: boolean,
): {
  readonly errorSince: RawBuilder<string>;
  readonly error: RawBuilder<never>;
  readonly tests: RawBuilder<number>;
  readonly testAt: RawBuilder<string> | null;
} {
  const { code, message, resourceKey } = error;
  const testAt = sql<string>`case when ${testsSoFar} < ${sql.lit(testsMax)} then now() + ${pause(testsSoFar)} end`;
  return {
    errorSince: sql<string>`now()`,
    error: sql<never>`jsonb_build_object('code', ${code}::text, 'message', ${message}::text, 'resourceKey', ${resourceKey}::text,
      'since', ${isoText(sql`now()`)}, 'nextTestAt', ${isTested ? isoText(testAt) : sql`null`})`,
    tests: testsSoFar,
    testAt: isTested ? testAt : null,
  };
}

/** Columns of a connection that was taken out of `error` by decision; tests start over. */
export const noErrorColumns = { errorSince: null, error: null, testAt: null, tests: 0, recoveredAt: null } as const;

/** Columns of a connection whose values changed: one in error is tested at once. */
export const testedAtOnce = {
  error: sql<never>`case when status = 'error' then jsonb_set(error, '{nextTestAt}', to_jsonb(${isoText(sql`now()`)})) end`,
  testAt: sql<string | null>`case when status = 'error' then now() end`,
  tests: sql<number>`case when status = 'error' then 0 else tests end`,
};

interface RetestRoom {
  readonly limit: number;
  readonly limitOfOrg: number;
  /** Orgs with as many tests in progress as allowed. */
  readonly busyOrgs: readonly string[];
}

/** Takes due tests, of the orgs in turn, and notes when each is due again. */
export function takeDueRetests(db: Db, { limit, limitOfOrg, busyOrgs }: RetestRoom): Promise<readonly DueRetest[]> {
  const next = sql<string>`now() + ${pause(sql`tests + 1`)}`;
  return db
    .updateTable('connections')
    .set({
      tests: sql<number>`least(tests + 1, 100)`,
      testAt: next,
      error: sql<never>`jsonb_set(error, '{nextTestAt}', to_jsonb(${isoText(next)}))`,
    })
    .where(
      'id',
      'in',
      sql<string>`(
        select id from (
          select id, test_at, row_number() over (partition by org_id order by test_at) as place from connections
          where test_at <= now() and status = 'error' and deleted_at is null and org_id <> all(${busyOrgs}::text[])) due
        where place <= ${limitOfOrg} order by place, test_at limit ${limit})`,
    )
    .where('testAt', '<=', sql<string>`now()`)
    .where('status', '=', 'error')
    .returning([
      'orgId',
      'id',
      'accessNo',
      sql<string | null>`error->>'resourceKey'`.as('resourceKey'),
      sql<string | null>`error->>'code'`.as('code'),
    ])
    .execute();
}

/** Ends the tests of a connection: only a person can repair it, or see whether it is repaired. */
export async function endRetests(
  db: Db,
  scope: OrgScope,
  { id, accessNo }: Pick<DueRetest, 'id' | 'accessNo'>,
): Promise<void> {
  await db
    .updateTable('connections')
    .set({ testAt: null, error: sql<never>`jsonb_set(error, '{nextTestAt}', 'null')` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'error')
    .where('accessNo', '=', accessNo)
    .execute();
}

export async function noteRecovered(
  tx: Db,
  scope: OrgScope,
  { id, tests }: { readonly id: string; readonly tests: number },
): Promise<void> {
  await tx
    .updateTable('connections')
    .set({ recoveredAt: sql<string>`now()`, tests })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute();
}

/** Tests so far of a locked connection that is still in error with the tested values; `null` otherwise. */
export async function testsOfError(
  tx: Db,
  scope: OrgScope,
  { id, accessNo }: Pick<DueRetest, 'id' | 'accessNo'>,
): Promise<number | null> {
  const found = await tx
    .selectFrom('connections')
    .select('tests')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'error')
    .where('accessNo', '=', accessNo)
    .where('deletedAt', 'is', null)
    .executeTakeFirst();
  return found?.tests ?? null;
}

interface BrokenConnection {
  readonly id: string;
  readonly error: Pick<ConnectionError, 'code' | 'message' | 'resourceKey'>;
  readonly isTested: boolean;
}

/** `false` if the connection is not active, or refusals may last: runs then decide. */
export async function putInError(tx: Db, scope: OrgScope, { id, error, isTested }: BrokenConnection): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('connections')
    .set({ status: 'error', ...errorColumns(error, isTested) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'active')
    .where('deletedAt', 'is', null)
    .where('errorAfterMinutes', '=', 0)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
