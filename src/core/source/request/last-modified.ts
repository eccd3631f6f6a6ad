/** Content may change without its time: within a second, or where clocks are a little apart. */
const settleMs = 60_000;

/**
 * `Last-Modified` of a response, or `undefined` where it names no version: if it is not a minute older than `Date`, the
 * content may change without it (RFC 9110 8.8.2.2).
 */
export function lastModifiedOf(headers: Readonly<Record<string, string>>): string | undefined {
  const { date = '', 'last-modified': lastModified = '' } = headers;
  return isSettled(lastModified, date) ? lastModified : undefined;
}

/** Whether a time of a change is old enough at another time to name a version; false without one of them. */
export const isSettled = (lastModified: string, at: string): boolean =>
  Date.parse(at) - Date.parse(lastModified) >= settleMs;
