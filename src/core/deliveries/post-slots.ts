/** Places for requests under way, shared by everything that sends in a process. */
export interface PostSlots {
  /** Takes up to `max` places; waits while there is none. */
  take(max: number): Promise<number>;
  /** Gives places back. */
  give(count: number): void;
}

/** Makes `total` of them. */
export function createPostSlots(total: number): PostSlots {
  const waiting: (() => void)[] = [];
  let free = total;
  return {
    async take(max) {
      while (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      const taken = Math.min(max, free);
      free -= taken;
      return taken;
    },
    give(count) {
      free += count;
      for (const wake of waiting.splice(0, count)) wake();
    },
  };
}
