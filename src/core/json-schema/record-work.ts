import { jsonLimits } from '../json/json-limits.ts';

/** Most work for one record: the cost of the schema times the size of the record. It takes some 0.3 s at most. */
const workMax = 4_000_000;

/** Characters that take as long to check as one value: a limit of length counts each of them. */
const charsPerValue = 50;

/** Whether a record takes too long against a schema of this cost. A usual schema stays in the limit with any record. */
export function takesTooLong(record: unknown, cost: number): boolean {
  const sizeMax = workMax / cost;
  return sizeMax < jsonLimits.nodesMax && sizeOf(record, sizeMax) > sizeMax;
}

/** The values of a record, long texts as several; above `max` it stops counting. */
export function sizeOf(value: unknown, max: number): number {
  if (typeof value === 'string') return 1 + value.length / charsPerValue;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  for (const child of Object.values(value)) {
    size += sizeOf(child, max - size);
    if (size > max) break;
  }
  return size;
}
