/**
 * Yields what `start` yields, in order, while it already works on up to `count` further values. Values before a
 * failure are yielded first. Leaving early aborts the signal that `start` was given and waits until it has ended.
 */
export async function* lookAhead<Value>(
  start: (signal: AbortSignal) => AsyncGenerator<Value, void, undefined>,
  options: { readonly count: number; readonly signal: AbortSignal },
): AsyncGenerator<Value, void, undefined> {
  const stop = new AbortController();
  const source = start(AbortSignal.any([options.signal, stop.signal]));
  // An async generator queues calls of next() and runs them one after the other. A failure waits here as a value,
  // because nobody listens to the promise while the consumer is at work on an earlier page.
  const ask = (): Promise<Settled<Value>> =>
    source.next().then(
      (result) => ({ ok: true as const, result }),
      (error: unknown) => ({ ok: false as const, error }),
    );
  const asked = Array.from({ length: options.count }, ask);
  try {
    for (;;) {
      const settled = await (asked.shift() ?? ask());
      if (!settled.ok) throw settled.error;
      if (settled.result.done) return;
      if (options.count > 0) asked.push(ask());
      yield settled.result.value;
    }
  } finally {
    stop.abort();
    await Promise.all(asked);
    await source.return();
  }
}

type Settled<Value> =
  | { readonly ok: true; readonly result: IteratorResult<Value, void> }
  | { readonly ok: false; readonly error: unknown };
