/** The memory that large responses take in a process, which serves many orgs. */
export interface ResponseMemory {
  open(): HeldMemory;
  /** Runs work in the turn of its org: one at a time, with a rest after work that took the thread. */
  inTurn<Result>(work: () => Result | Promise<Result>): Promise<Result>;
}

/** The memory of one response. */
export interface HeldMemory {
  /** Sets the total bytes held; throws `ThrottledError` if others hold the available memory. */
  hold(bytes: number): void;
  /** Releases all of it; idempotent. */
  release(): void;
}

/** Bytes of a response for which no memory is held: decoded, it takes at most 50 MB. */
export const lightBytes = 2_000_000;

/** Unlimited memory, for a process that serves one org. */
export const anyMemory: ResponseMemory = {
  open: () => ({ hold() {}, release() {} }),
  inTurn: async (work) => await work(),
};
