/** How figures of several rounds become one. */

/** The least value that this share of all values does not exceed. Throws when there is none. */
export function percentile(values: readonly number[], share: number): number {
  const found = values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1];
  if (found === undefined) throw new Error('Nothing was measured');
  return found;
}

/** The middle one of an odd number of values, the lower middle of an even number. */
export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** With as many digits as a reader needs. */
export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));

/** A setting of a bench: a whole number of 1 or more. */
export function setting(name: string, usual: number): number {
  const given = process.env[name];
  if (given === undefined) return usual;
  if (!/^[1-9]\d*$/.test(given)) throw new Error(`${name} has to be a whole number of 1 or more`);
  return Number(given);
}
