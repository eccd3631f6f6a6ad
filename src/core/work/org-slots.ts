import { createFairQueue } from './fair-queue.ts';

export interface OrgSlots {
  /** Takes up to `max` places and waits while the org has none free; waiting orgs are served in turn. */
  take(orgId: string, max: number): Promise<number>;
  give(orgId: string, count: number): void;
  run<Result>(orgId: string, work: () => Promise<Result>): Promise<Result>;
  waiting(): number;
}

/** Creates `total` slots, at most `share` per org, half by default, because a party that an org waits for may be silent. */
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
