/** The clocks of a command that another process carries out. */
export interface Watch {
  /** A ping has been responded to. */
  responded(): void;
  /** The time of the command restarts. */
  restart(): void;
  stop(): void;
}

/** The watched command. */
export interface Watched {
  /** Milliseconds for the command. */
  readonly timeoutMs: number;
  readonly ping: () => void;
  /** No ping has been responded to for {@link frozenMs}. */
  readonly onFrozen: () => void;
  readonly onOverdue: () => void;
}

/** Milliseconds without a response after which a driver is frozen; a batch that it reads or writes takes a few of them. */
export const frozenMs = 5000;
const pingMs = 1000;

/** Starts the clocks. */
export function watchOver({ timeoutMs, ping, onFrozen, onOverdue }: Watched): Watch {
  let noResponse = 0;
  let isStopped = false;
  // What has been said meanwhile is read before the immediate runs: this process may have been the busy one.
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
