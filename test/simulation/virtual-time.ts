/** Puts the clock of a simulation in the place of the real one, for all code that looks at it or sets a timer. */
import { currentScheduler } from './current.ts';
import { currentProcess, type Planned } from './scheduler.ts';

/** A timer as Node returns it. */
class VirtualTimer {
  #planned: Planned | null = null;
  readonly #repeats: boolean;

  constructor(run: () => void, ms: number, repeats: boolean) {
    this.#repeats = repeats;
    const process = currentProcess();
    const plan = (): void => {
      this.#planned = currentScheduler().after(
        ms,
        () => {
          if (this.#repeats) plan();
          run();
        },
        process,
      );
    };
    plan();
  }

  clear(): void {
    this.#planned?.cancel();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}

const RealDate = Date;

class VirtualDate extends RealDate {
  constructor(...given: ConstructorParameters<typeof RealDate> | []) {
    // A date without a value is that of now.
    super(...(given.length === 0 ? ([currentScheduler().now()] as const) : (given as [number])));
  }

  static override now(): number {
    return currentScheduler().now();
  }
}

/** Replaces the clock and the timers of this process; called once, before the engine is loaded. */
export function installVirtualTime(): void {
  const clear = (timer: unknown): void => {
    if (timer instanceof VirtualTimer) timer.clear();
  };
  Object.assign(globalThis, {
    Date: VirtualDate,
    setTimeout: (run: () => void, ms = 0) => new VirtualTimer(run, ms, false),
    setInterval: (run: () => void, ms = 0) => new VirtualTimer(run, ms, true),
    clearTimeout: clear,
    clearInterval: clear,
  });
  Object.defineProperty(performance, 'now', { value: () => currentScheduler().now(), configurable: true });
}
