import type { Db } from '../../../db/client.ts';
import { eventually } from './eventually.ts';

/**
 * Waits until it is recorded that Temporal, which is away from the API of a test, did not take a run: the API notifies it after
 * it has responded. From then on the run is canceled at once.
 */
export async function runIsUntaken(db: Db, id: string): Promise<void> {
  const rowOf = () => db.selectFrom('runs').select('dispatchedAt').where('id', '=', id).executeTakeFirstOrThrow();
  await eventually('nobody has taken the run', async () => (await rowOf()).dispatchedAt === null);
}
