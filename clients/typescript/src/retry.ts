/** When a request is repeated, and how long the client waits before that. */
export interface RetryOptions {
  /** Attempts besides the first one. 3 unless given. */
  readonly retries?: number;
  /** The wait before the first repetition is up to this, and doubles from one to the next, ms. 500 unless given. */
  readonly firstDelayMs?: number;
  /** No wait is longer, ms. A `Retry-After` beyond it ends the attempts. 30,000 unless given. */
  readonly delayMsMax?: number;
}

/** Statuses of a proxy or a gateway in front of the service, behind which a later attempt may succeed. */
const passingStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/** The outcome of an attempt; null: no response came. */
export type Outcome = Pick<Response, 'status' | 'headers'> | null;

/**
 * How long to wait before the next attempt, ms; null: there is none. A request that must not be sent twice is repeated
 * only when the service says that it did not execute it (429).
 */
export function retryDelayMs(
  outcome: Outcome,
  { attempt, repeatable }: { readonly attempt: number; readonly repeatable: boolean },
  { retries = 3, firstDelayMs = 500, delayMsMax = 30_000 }: RetryOptions,
): number | null {
  const refused = outcome?.status === 429;
  const passing = outcome === null || passingStatuses.has(outcome.status);
  if (attempt > retries || !(refused || (passing && repeatable))) return null;
  const asked = outcome === null ? null : retryAfterMs(outcome.headers.get('retry-after'));
  if (asked !== null) return asked <= delayMsMax ? asked : null;
  return Math.random() * Math.min(delayMsMax, firstDelayMs * 2 ** (attempt - 1));
}

/** Of seconds or an HTTP date; null: it says neither. */
function retryAfterMs(text: string | null): number | null {
  if (text === null) return null;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

/** Waits. Rejects with the reason of the signal as soon as it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
