/** Stands in for `node:timers/promises` in code that is simulated. */

interface SleepOptions {
  readonly signal?: AbortSignal;
}

/** Resolves after `ms` of virtual time; an abort rejects it. */
function sleep<Value>(ms: number, value?: Value, { signal }: SleepOptions = {}): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = globalThis.setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    }, ms);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** A turn of the event loop takes no virtual time. */
const turn = <Value>(value?: Value): Promise<Value | undefined> => Promise.resolve().then(() => value);

export { sleep as setTimeout, turn as setImmediate };
