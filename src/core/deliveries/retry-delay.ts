/** Share by which a delay varies, so that events that failed together are not retried together. */
const jitter = 0.2;

/**
 * Milliseconds from the end of the `attempts`-th failed attempt to the next; `null` if it was the last.
 *
 * @param scheduleSeconds pauses between the attempts; n pauses make n + 1 attempts.
 * @param random from 0 up to but not including 1.
 */
export function retryDelayMs(
  attempts: number,
  scheduleSeconds: readonly number[],
  random: () => number,
): number | null {
  const seconds = scheduleSeconds[attempts - 1];
  return seconds === undefined ? null : Math.round(seconds * 1000 * (1 - jitter + random() * 2 * jitter));
}
