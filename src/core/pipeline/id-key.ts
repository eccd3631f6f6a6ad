/** The key of a record in a map of this process. */
export type IdKey = string | number;

/** V8 keeps numbers of up to nine digits without an object. */
const digitsMax = 9;

/**
 * The key of an external id in a `Map` or `Set`: a number if the id is written as a whole number, else the id. V8
 * interns each text that becomes a key, which takes longer than all other work of a map.
 */
export function idKey(externalId: string): IdKey {
  const { length } = externalId;
  if (length === 0 || length > digitsMax) return externalId;
  let number = 0;
  for (let index = 0; index < length; index += 1) {
    const digit = externalId.charCodeAt(index) - 0x30;
    const isLeadingZero = digit === 0 && index === 0 && length > 1;
    if (digit < 0 || digit > 9 || isLeadingZero) return externalId;
    number = number * 10 + digit;
  }
  return number;
}
