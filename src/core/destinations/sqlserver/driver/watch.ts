export interface Watch {
  responded(): void;
  restart(): void;
  stop(): void;
}

export interface Watched {
  readonly timeoutMs: number;
  readonly ping: () => void;
  readonly onFrozen: () => void;
  readonly onOverdue: () => void;
}

/** Milliseconds without a response after which a driver counts as frozen; reading or writing a batch takes a few of them. */
export const frozenMs = 5000;
const pingMs = 1000;

export function watchOver({ timeoutMs, ping, onFrozen, onOverdue }: Watched): Watch {
  let noResponse = 0;
  let isStopped = false;
  // Pending messages are read before the immediate runs: this process may have been the busy one.
  const unless = (isFine: () => boolean, act: () => void) =>
    setImmediate(() => {
      if (!isStopped && !isFine()) act();
    });
  const clock = setTimeout(() => unless(() => false, onOverdue), timeoutMs);
  const pings = setInterval(() => {
    noResponse += 1;
    ping();
    if (noResponse * pingMs > frozenMs) unless(() => noResponse === 0, onFrozen);
  }, pingMs);
  return {
    responded() {
      noResponse = 0;
    },
    restart: () => void clock.refresh(),
    stop() {
      isStopped = true;
      clearTimeout(clock);
      clearInterval(pings);
    },
  };
}
