/** The memory that large responses take of a process, which serves many orgs. */
export interface ResponseMemory {
  /** Holds so many bytes more for a response. Throws `ThrottledError` when others hold what there is. */
  hold(bytes: number): void;
  /** Gives back what was held for a response. */
  release(bytes: number): void;
}

/** Bytes of a response for which no memory is held: it becomes 50 MB of values at most. */
export const lightBytes = 2_000_000;

/** Any amount: where one org has the process for itself. */
export const anyMemory: ResponseMemory = { hold() {}, release() {} };
