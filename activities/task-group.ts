export interface TaskGroup {
  size(): number;
  /** Failures are thrown by {@link TaskGroup.all}. */
  add(work: Promise<void>): void;
  next(ms: number): Promise<void>;
  /** Throws the first failure. */
  all(): Promise<void>;
}

export function createTaskGroup(): TaskGroup {
  const inProgress = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | null = null;
  let landed = Promise.withResolvers<void>();
  const track = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      failure ??= { error };
    }
  };
  const next = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      void landed.promise.finally(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  return {
    size: () => inProgress.size,
    add(work) {
      const tracked: Promise<void> = track(work).finally(() => {
        inProgress.delete(tracked);
        landed.resolve();
        landed = Promise.withResolvers();
      });
      inProgress.add(tracked);
    },
    next,
    async all() {
      await Promise.all(inProgress);
      if (failure) throw failure.error;
    },
  };
}
