import { randomInt } from 'node:crypto';

export interface JsonSize {
  /** Includes lists and objects. */
  readonly values: number;
  /** Distinct names, counted by a hash: a few percent too low. */
  readonly names: number;
}

/** Counts without parsing, in a few ms per MB: parsing tiny values takes a hundred times as long, and memory. */
export function jsonSize(bytes: Uint8Array): JsonSize {
  const names = countDifferent();
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === 0x22) {
      const open = at;
      at = closingQuote(bytes, at);
      if (isName(bytes, at + 1)) names.add(bytes, open, at);
    } else if (byte === 0x2c || byte === 0x5b || byte === 0x7b) values += 1;
  }
  return { values, names: names.count() };
}

/** Parses JSON of `valuesMax` values at most; lists and objects count twice. Throws for more, and for what is not JSON. */
export function parseBounded(bytes: Uint8Array, valuesMax: number): unknown {
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === 0x22) at = closingQuote(bytes, at);
    else if (byte === 0x2c || byte === 0x5b || byte === 0x7b) values += 1;
    if (values > valuesMax) throw new RangeError(`More than ${valuesMax} JSON values`);
  }
  return JSON.parse(Buffer.from(bytes).toString('utf8'));
}

function closingQuote(bytes: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < bytes.length && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1;
  return at;
}

function isName(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
  return bytes[at] === 0x3a;
}

/** A power of two: sixteen bits for each name that a page may have. */
const hashBits = 23;

/** Counts distinct byte ranges by a hash with a random seed, so that an API cannot craft collisions. */
function countDifferent() {
  const seen = new Uint8Array(2 ** (hashBits - 3));
  const seed = randomInt(2 ** 32);
  let count = 0;
  return {
    add(bytes: Uint8Array, from: number, to: number): void {
      let hash = seed;
      for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
      const bit = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> (32 - hashBits);
      const mask = 1 << (bit & 7);
      const before = seen[bit >>> 3] ?? 0;
      if ((before & mask) !== 0) return;
      seen[bit >>> 3] = before | mask;
      count += 1;
    },
    count: () => count,
  };
}
