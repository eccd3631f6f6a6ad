/** Returns the place; further calls do nothing. */
type GiveBack = () => void;

export interface Turns {
  take(orgId: string): Promise<GiveBack>;
}

/** At most `max` places, `maxEach` per org; callers enter in order, except for orgs that have their share. */
export function createTurns({ max, maxEach }: { readonly max: number; readonly maxEach: number }): Turns {
  const held = new Map<string, number>();
  const queue: { readonly orgId: string; readonly enter: () => void }[] = [];
  let total = 0;
  const admit = (): void => {
    while (total < max) {
      const next = queue.findIndex(({ orgId }) => (held.get(orgId) ?? 0) < maxEach);
      const [waiting] = next === -1 ? [] : queue.splice(next, 1);
      if (!waiting) return;
      total += 1;
      held.set(waiting.orgId, (held.get(waiting.orgId) ?? 0) + 1);
      waiting.enter();
    }
  };
  const giveBack = (orgId: string): void => {
    total -= 1;
    const left = (held.get(orgId) ?? 1) - 1;
    if (left > 0) held.set(orgId, left);
    else held.delete(orgId);
    admit();
  };
  return {
    take: (orgId) =>
      new Promise((resolve) => {
        let isHeld = true;
        const enter = () =>
          resolve(() => {
            if (isHeld) giveBack(orgId);
            isHeld = false;
          });
        queue.push({ orgId, enter });
        admit();
      }),
  };
}
