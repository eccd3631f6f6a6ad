import type { Db } from '../../../db/client.ts';
import type { Deps } from '../../deps.ts';

/** Stores the result of a write as the response of its request; throws conflict when another request has its key. */
export type SaveResponse = (tx: Db, result: unknown) => Promise<void>;

export interface WriteDeps extends Pick<Deps, 'db'> {
  /** Absent if the request has no `Idempotency-Key`. */
  readonly saveResponse?: SaveResponse;
}

/**
 * Does the work of a request and stores its result as the response in one transaction. A request repeated with its
 * `Idempotency-Key` has thus done everything or nothing, even if its process died. Every write of a route with `repeated`
 * calls this once, and returns the response of the route.
 */
export const write = <Result>({ db, saveResponse }: WriteDeps, work: (tx: Db) => Promise<Result>): Promise<Result> =>
  db.transaction().execute(async (tx) => {
    const result = await work(tx);
    await saveResponse?.(tx, result);
    return result;
  });
