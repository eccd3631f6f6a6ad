interface FirstOfOptions<Place, Opened> {
  /** When aborted, it leaves nothing behind. */
  readonly open: (place: Place, signal: AbortSignal) => Promise<Opened>;
  /** Milliseconds until the next place is also tried; after a failure it is tried at once. */
  readonly staggerMs: number;
  readonly signal: AbortSignal;
}

/**
 * Tries the places side by side: a silent one delays the others by at most `staggerMs`. Throws the failure of the last one tried
 * when none opens, or the reason of `signal`.
 */
export async function firstOf<Place, Opened>(
  places: readonly Place[],
  { open, staggerMs, signal }: FirstOfOptions<Place, Opened>,
): Promise<Opened> {
  signal.throwIfAborted();
  const decided = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<Opened>();
  let inProgress = 0;
  let next = 0;
  let timer: NodeJS.Timeout | undefined;
  const attempt = async (place: Place): Promise<void> => {
    try {
      const opened = await open(place, decided.signal);
      resolve(opened);
      decided.abort();
    } catch (error) {
      inProgress -= 1;
      if (next < places.length) tryNext();
      else if (inProgress === 0) reject(error);
    }
  };
  const tryNext = (): void => {
    clearTimeout(timer);
    const place = places[next];
    if (place === undefined || decided.signal.aborted) return;
    next += 1;
    inProgress += 1;
    timer = setTimeout(tryNext, staggerMs);
    void attempt(place);
  };
  const giveUp = (): void => {
    decided.abort(signal.reason);
    reject(signal.reason);
  };
  signal.addEventListener('abort', giveUp, { once: true });
  tryNext();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}
