/** The most by which a delay is shortened or extended, so that events that failed together are not retried together. */
const jitter = 0.2;

/**
 * Milliseconds from the end of the `attempts`-th failed attempt to the next; null: it was the last.
 *
 * @param scheduleSeconds the pauses between the attempts; with n pauses there are n + 1 attempts.
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
