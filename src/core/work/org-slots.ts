import { createFairQueue } from './fair-queue.ts';

/** Slots of one kind that the orgs of a process share. */
export interface OrgSlots {
  /** Takes up to `max` places for the org; waits while there is none for it. Orgs that wait are served in turn. */
  take(orgId: string, max: number): Promise<number>;
  /** Gives places of the org back. */
  give(orgId: string, count: number): void;
  /** Does work in one place of the org. */
  run<Result>(orgId: string, work: () => Promise<Result>): Promise<Result>;
  /** How many wait for one. */
  waiting(): number;
}

/** Creates `total` of them; one org has `share` at most, half unless given, since whoever it waits for may be silent. */
export function createOrgSlots(total: number, share = Math.ceil(total / 2)): OrgSlots {
  const held = new Map<string, number>();
  const waiting = createFairQueue<() => void>();
  let free = total;
  const roomFor = (orgId: string): number => Math.min(free, share - (held.get(orgId) ?? 0));
  const add = (orgId: string, count: number): void => {
    const now = (held.get(orgId) ?? 0) + count;
    if (now > 0) held.set(orgId, now);
    else held.delete(orgId);
    free -= count;
  };
  const take = async (orgId: string, max: number): Promise<number> => {
    while (roomFor(orgId) === 0) await new Promise<void>((resolve) => waiting.add(orgId, resolve));
    const taken = Math.min(max, roomFor(orgId));
    add(orgId, taken);
    return taken;
  };
  const give = (orgId: string, count: number): void => {
    add(orgId, -count);
    for (let woken = 0; woken < count; woken += 1) waiting.take((org) => roomFor(org) > 0)?.();
  };
  return {
    take,
    give,
    async run(orgId, work) {
      await take(orgId, 1);
      try {
        return await work();
      } finally {
        give(orgId, 1);
      }
    },
    waiting: () => waiting.size(),
  };
}
