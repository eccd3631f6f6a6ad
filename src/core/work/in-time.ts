export interface TimeLimit {
  readonly ms: number;
  readonly late: Error;
}

/** Throws what `work` throws, or `late`; late work continues unobserved. */
export async function inTime<Result>(work: Promise<Result>, { ms, late }: TimeLimit): Promise<Result> {
  const over = Promise.withResolvers<never>();
  const timer = setTimeout(() => over.reject(late), ms);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
