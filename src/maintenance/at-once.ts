/** Work on what is due at the systems of customers, which may be slow: some of it at once, the orgs in turn. */
import { workOf } from '../core/work-ids.ts';
import type { Deps } from '../deps.ts';

interface Room {
  readonly limit: number;
  readonly limitOfOrg: number;
  /** Orgs with as much work in progress as allowed. */
  readonly busyOrgs: readonly string[];
}

interface Work<Due extends { readonly orgId: string }> {
  /** Concurrent work, in all and per org. */
  readonly max: number;
  readonly maxEach: number;
  readonly take: (room: Room) => Promise<readonly Due[]>;
  readonly connectionOf: (due: Due) => string;
  readonly work: (due: Due) => Promise<void>;
  /** The log entry of work that fails. */
  readonly failed: string;
}

export interface AtOnceSweep {
  /** Begins what is due, and does not wait for it. */
  sweep(): Promise<void>;
  /** Resolves when no work is in progress: tokens that it has refreshed are then stored. */
  settled(): Promise<void>;
}

export function createAtOnceSweep<Due extends { readonly orgId: string }>(
  { log }: Pick<Deps, 'log'>,
  { max, maxEach, take, connectionOf, work, failed }: Work<Due>,
): AtOnceSweep {
  const inProgress = new Map<Promise<void>, string>();
  const perform = async (due: Due): Promise<void> => {
    const { orgId } = due;
    await workOf({ orgId, connectionId: connectionOf(due) }, async () => {
      try {
        await work(due);
      } catch (error) {
        log.warn(failed, { error });
      }
    });
  };
  const begin = (due: Due): void => {
    const performed = perform(due).finally(() => inProgress.delete(performed));
    inProgress.set(performed, due.orgId);
  };
  return {
    async sweep() {
      const limit = max - inProgress.size;
      if (limit <= 0) return;
      for (const due of await take({ limit, limitOfOrg: maxEach, busyOrgs: [...inProgress.values()] })) begin(due);
    },
    async settled() {
      await Promise.all(inProgress.keys());
    },
  };
}
