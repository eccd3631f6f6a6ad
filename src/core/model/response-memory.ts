/** The memory that large responses take of a process, which serves many orgs. */
export interface ResponseMemory {
  /** Opens the account of one response, which holds nothing yet. */
  open(): HeldMemory;
  /** Runs work in the turn of its org: one at a time, and after a rest if the last one took the thread. */
  inTurn<Result>(work: () => Result | Promise<Result>): Promise<Result>;
}

/** The memory of one response. */
export interface HeldMemory {
  /** Holds so many bytes in all from now on. Throws `ThrottledError` when others hold what there is. */
  hold(bytes: number): void;
  /** Gives all of it back; once or several times. */
  release(): void;
}

/** Bytes of a response for which no memory is held: it becomes 50 MB of values at most. */
export const lightBytes = 2_000_000;

/** Any amount, at once: where one org has the process for itself. */
export const anyMemory: ResponseMemory = {
  open: () => ({ hold() {}, release() {} }),
  inTurn: async (work) => await work(),
};
