import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** How far ahead. */
interface LookAheadOptions<Value> {
  /** Values that may wait for the consumer. */
  readonly count: number;
  /** Nothing is asked for while such a value waits or is with the consumer: a few of them would fill the memory. */
  readonly isHeavy: (value: Value) => boolean;
  readonly signal: AbortSignal;
}

/**
 * Yields what `start` yields, in order, while it already works on up to `count` further values. Values before a
 * failure are yielded first. Leaving early aborts the signal that `start` was given and waits until it has ended.
 * `start` can ask whether a further value will be asked for as soon as the one at hand is there, light as it may be.
 */
export async function* lookAhead<Value>(
  start: (signal: AbortSignal, hasRoom: () => boolean) => AsyncGenerator<Value, void, undefined>,
  { count, isHeavy, signal }: LookAheadOptions<Value>,
): AsyncGenerator<Value, void, undefined> {
  const stop = new AbortController();
  const ahead: Settled<Value>[] = [];
  const hasRoom = (): boolean => ahead.length + 1 < count;
  const source = start(AbortSignal.any([signal, stop.signal]), hasRoom);
  const current: { ask: Promise<void> | null } = { ask: null };
  let waitedMs = 0;
  // A failure waits here as a value, because nobody listens while the consumer is at work on an earlier page.
  const ask = async (): Promise<void> => {
    const askedAt = performance.now();
    ahead.push(await settle(source.next()));
    waitedMs = performance.now() - askedAt;
    current.ask = null;
    fill(count);
  };
  const fill = (wanted: number): void => {
    const last = ahead.at(-1);
    const halted = last !== undefined && (!last.ok || last.result.done === true || isHeavy(last.result.value));
    if (current.ask === null && ahead.length < wanted && !halted && !stop.signal.aborted) current.ask = ask();
  };
  try {
    for (;;) {
      fill(Math.max(count, 1));
      if (ahead.length === 0) await current.ask;
      const settled = ahead.shift();
      if (settled === undefined) continue;
      if (!settled.ok) throw settled.error;
      if (settled.result.done) return;
      if (!isHeavy(settled.result.value)) fill(count);
      if (current.ask !== null) await hasLeft(waitedMs);
      yield settled.result.value;
    }
  } finally {
    stop.abort();
    await current.ask;
    await source.return();
  }
}

/** Milliseconds of waiting for a response from which on there is time to spare. */
const idleMs = 10;

/**
 * The next request is on its way, before the consumer keeps the process busy with the value at hand, which took
 * `waitedMs`. undici writes to a socket that it has kept one turn after it was told to: 2 ms of each page that an API
 * takes its time for. Then, if the API is slow anyway, who carries the request on these cores (a proxy, the sidecar of a
 * mesh, the API itself on a developer's machine) gets them for a moment: 0.3 ms of a page of 20 ms, on 2 cores.
 */
export async function hasLeft(waitedMs: number): Promise<void> {
  await nextTurn();
  await nextTurn();
  if (waitedMs >= idleMs) await sleep(1);
}

type Settled<Value> =
  | { readonly ok: true; readonly result: IteratorResult<Value, void> }
  | { readonly ok: false; readonly error: unknown };

const settle = <Value>(next: Promise<IteratorResult<Value, void>>): Promise<Settled<Value>> =>
  next.then(
    (result) => ({ ok: true, result }),
    (error: unknown) => ({ ok: false, error }),
  );
