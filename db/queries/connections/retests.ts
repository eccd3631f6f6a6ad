/**
 * When connections in error are tested again: after 1, 5 and 15 minutes, each hour of a day, then each day. Errors that follow
 * each other within a day of a test that succeeded count as one; after 8 tests a person is to look, since tests do not show
 * what is wrong.
 */
import { type RawBuilder, sql } from 'kysely';
import type { ConnectionError } from '../../../src/core/resources/connection.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/** A connection whose test is due. */
export interface DueRetest {
  readonly orgId: string;
  readonly id: string;
  /** The resource whose run put it in error; null: a version before did. */
  readonly resourceKey: string | null;
  /** The code of its error; null: a version before put it there. */
  readonly code: string | null;
  /** Of the values that are tested: other ones are tested anew. */
  readonly accessNo: number;
}

const pause = (tests: RawBuilder<number>): RawBuilder<string> => sql<string>`make_interval(mins => case ${tests}
  when 0 then 1 when 1 then 5 when 2 then 15 else case when ${tests} > 26 then 1440 else 60 end end)`;

const isoText = (time: RawBuilder<string>): RawBuilder<string> =>
  sql<string>`to_char((${time}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const testsSoFar = sql<number>`case when recovered_at > now() - interval '1 day' then tests else 0 end`;

/** Tests of errors that follow each other. */
const testsMax = 8;

/** The columns of a connection that goes to error now. `isTested`: whether a test can show that it is mended. */
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

/** The columns of a connection that is not in error any more, as somebody has decided; tests begin anew. */
export const noErrorColumns = { errorSince: null, error: null, testAt: null, tests: 0, recoveredAt: null } as const;

/** The columns of a connection whose values were changed: one in error is tested at once. */
export const testedAtOnce = {
  error: sql<never>`case when status = 'error' then jsonb_set(error, '{nextTestAt}', to_jsonb(${isoText(sql`now()`)})) end`,
  testAt: sql<string | null>`case when status = 'error' then now() end`,
  tests: sql<number>`case when status = 'error' then 0 else tests end`,
};

interface RetestRoom {
  readonly limit: number;
  readonly limitOfOrg: number;
  /** Orgs that have as many tests in progress as they may. */
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

/** Tests a connection no more: only a person can mend it, or see whether it is mended. */
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

/** Notes that a test has activated a connection, after so many. */
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

/** How often a locked connection was tested that is still in error with the values that were tested; null: it is not. */
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
