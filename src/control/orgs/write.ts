import type { Db } from '../../../db/client.ts';
import type { Deps } from '../../deps.ts';

/** Stores the result of a write as the response of its request; throws conflict when another request has its key. */
export type SaveResponse = (tx: Db, result: unknown) => Promise<void>;

/** What the one transaction of a write needs. */
export interface WriteDeps extends Pick<Deps, 'db'> {
  /** Absent: the request has no `Idempotency-Key`. */
  readonly saveResponse?: SaveResponse;
}

/**
 * Does the work of a request in one transaction, and stores its result there as the response. So a request whose
 * `Idempotency-Key` is sent again has done everything or nothing, whenever its process ends. Every write of a route with
 * `repeated` goes through it once, and returns what the route responds with.
 */
export const write = <Result>({ db, saveResponse }: WriteDeps, work: (tx: Db) => Promise<Result>): Promise<Result> =>
  db.transaction().execute(async (tx) => {
    const result = await work(tx);
    await saveResponse?.(tx, result);
    return result;
  });
