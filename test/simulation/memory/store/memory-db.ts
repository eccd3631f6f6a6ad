import type { Db } from '../../../../db/client.ts';
import type { ControlState } from './control-state.ts';

/**
 * Takes the place of the control database's client. Who provides it decides when a transaction happens, and whether its
 * result arrives.
 */
export interface MemoryDb {
  /**
   * @param name of the query function that asks.
   * @param work one transaction, all or nothing; it must not wait for anything.
   */
  transact<Result>(name: string, work: (state: ControlState) => Result): Promise<Result>;
}

/** The memory behind the client that a query function was given. Only programs that made it with {@link asDb} call it. */
export const memoryOf = (db: Db): MemoryDb =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the simulation gives every query a MemoryDb
  db as unknown as MemoryDb;

/** A memory in the form in which deps carry a client; any use of it as a real one fails. */
export const asDb = (memory: MemoryDb): Db =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the inverse of memoryOf
  memory as unknown as Db;

/** Transactions happen at once, and every result arrives. */
export const memoryAtOnce = (state: ControlState): MemoryDb => ({
  transact: async (_name, work) => state.atomically(work),
});
