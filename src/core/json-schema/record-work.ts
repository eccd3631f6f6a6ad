import { jsonLimits } from '../json/json-limits.ts';

/** Most work for one record, some 0.3 s: the cost of the schema times the size of the record. */
const workMax = 4_000_000;

/** Characters that take as long to check as one value: a limit of length counts each of them. */
const charsPerValue = 25;

/** A usual schema stays within the limit with any record. */
export function takesTooLong(record: unknown, cost: number): boolean {
  const sizeMax = workMax / cost;
  return sizeMax < jsonLimits.nodesMax && sizeOf(record, sizeMax) > sizeMax;
}

export function sizeOf(value: unknown, max: number): number {
  if (typeof value === 'string') return 1 + value.length / charsPerValue;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && size <= max; index += 1) size += sizeOf(value[index], max - size);
    return size;
  }
  // Records are plain data; `Object.values` takes twice as long.
  for (const name in value) {
    size += sizeOf((value as Readonly<Record<string, unknown>>)[name], max - size);
    if (size > max) break;
  }
  return size;
}
