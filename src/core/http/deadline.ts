export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** True once the time, not the parent, ended the work. */
  expired(): boolean;
}

/** Disposing frees the timer and stops listening to `parent`. */
export function startDeadline(parent: AbortSignal, ms: number): Deadline {
  const controller = new AbortController();
  let expired = false;
  const cancel = (): void => controller.abort(parent.reason);
  const timer = setTimeout(() => {
    expired = !controller.signal.aborted;
    controller.abort(new Error(`No complete response within ${ms} ms`));
  }, ms);
  if (parent.aborted) cancel();
  else parent.addEventListener('abort', cancel, { once: true });
  return {
    signal: controller.signal,
    expired: () => expired,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      parent.removeEventListener('abort', cancel);
    },
  };
}
