/** Connections of a pool go to the orgs in turn, so that none waits for what another sends. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { PostgresPool } from 'kysely';
import type { OrgSlots } from '../src/core/work/org-slots.ts';

const caller = new AsyncLocalStorage<string>();

/**
 * Does the work of an org's request, which takes its connections in turn. An org has at most half of the connections, since its
 * transactions may all wait for one lock. No transaction may wait for a second connection.
 */
export const requestOf = <Result>(orgId: string, work: () => Promise<Result>): Promise<Result> =>
  caller.run(orgId, work);

/** Work outside {@link requestOf} waits for the pool itself. */
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
