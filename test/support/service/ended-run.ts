import { sql } from 'kysely';
import type { Db } from '../../../db/client.ts';
import type { RunStatus } from '../../../src/core/resources/run.ts';

/** How a run ended, and how long ago. */
interface End {
  readonly status: RunStatus;
  readonly endedSecondsAgo?: number;
  readonly recordsOut?: number;
}

/** Writes into a run's row that it has ended, as if a worker had executed it. */
export async function endRunAs(
  db: Db,
  id: string,
  { status, endedSecondsAgo = 0, recordsOut = 0 }: End,
): Promise<void> {
  const endedAt = sql<string>`now() - make_interval(secs => ${endedSecondsAgo})`;
  await db
    .updateTable('runs')
    .set({
      status,
      recordsOut,
      startedAt: endedAt,
      finishedAt: endedAt,
      ...(status === 'failed' ? { errorCode: 'source_rejected', errorMessage: 'refused' } : {}),
    })
    .where('id', '=', id)
    .execute();
}
