import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

interface LookAheadOptions<Value> {
  readonly count: number;
  /** Nothing is requested while a heavy value waits or is with the consumer, as a few of them would fill the memory. */
  readonly isHeavy: (value: Value) => boolean;
  readonly signal: AbortSignal;
}

/**
 * Yields the values of `start` in order while working on up to `count` further ones; values before a failure come
 * first. Leaving early aborts the signal of `start` and waits for its end. `hasRoom` tells whether a further value is
 * requested right after the current one, if that is light.
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
  // A failure waits as a value, because the consumer does not listen while it works on an earlier page.
  const ask = async (): Promise<void> => {
    const requestedAt = performance.now();
    ahead.push(await settledOf(source.next()));
    waitedMs = performance.now() - requestedAt;
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

/** A longer wait for a response leaves time to spare. */
const idleMs = 10;

/**
 * Sends the next request before the consumer keeps the process busy. On a reused socket, undici writes one turn after
 * the call: 2 ms of each page of a slow API. After a long wait, other processes that carry the request get these cores
 * for a moment: a proxy, the sidecar of a mesh, a local API. That is 0.3 ms of a page of 20 ms, on 2 cores.
 */
export async function hasLeft(waitedMs: number): Promise<void> {
  await nextTurn();
  await nextTurn();
  if (waitedMs >= idleMs) await sleep(1);
}

type Settled<Value> =
  | { readonly ok: true; readonly result: IteratorResult<Value, void> }
  | { readonly ok: false; readonly error: unknown };

const settledOf = <Value>(next: Promise<IteratorResult<Value, void>>): Promise<Settled<Value>> =>
  next.then(
    (result) => ({ ok: true, result }),
    (error: unknown) => ({ ok: false, error }),
  );
