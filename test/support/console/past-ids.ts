import { firstIdAt, type IdPrefix, newId } from '../../../src/core/ids.ts';

/** Letters of an id that say its time. */
const timeLength = 10;

/** An id as it would have been made then. */
export function idAt(prefix: IdPrefix, at: Date): string {
  const start = prefix.length + 1 + timeLength;
  return firstIdAt(prefix, at).slice(0, start) + newId(prefix).slice(start);
}
