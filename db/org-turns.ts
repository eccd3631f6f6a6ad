/** Who takes the connections of a pool: orgs in turn, so that none waits for what another sends. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { PostgresPool } from 'kysely';
import type { OrgSlots } from '../src/core/work/org-slots.ts';

const caller = new AsyncLocalStorage<string>();

/**
 * Does the work of a request of an org. Its statements and transactions take connections in turn with those of other
 * orgs. An org has half of the connections at most, since its transactions may all wait for one lock. No transaction
 * may wait for a second connection.
 */
export const requestOf = <Result>(orgId: string, work: () => Promise<Result>): Promise<Result> =>
  caller.run(orgId, work);

/** The pool, with a slot for each of its connections. What is done for no org waits for the pool itself. */
export function inOrgTurns(pool: PostgresPool, slots: OrgSlots): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const orgId = caller.getStore();
      if (orgId === undefined) return await pool.connect();
      await slots.take(orgId, 1);
      try {
        const client = await pool.connect();
        return {
          query: client.query,
          release(destroy) {
            client.release(destroy);
            slots.give(orgId, 1);
          },
        };
      } catch (error) {
        slots.give(orgId, 1);
        throw error;
      }
    },
  };
}
