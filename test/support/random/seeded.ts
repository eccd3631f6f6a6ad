/** Whole numbers from 0 to below 2^32 that a seed decides (mulberry32): the same seed gives the same ones everywhere. */
export function seededNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** The same as fractions: from 0 up to but not including 1. */
export function seededFractions(seed: number): () => number {
  const next = seededNumbers(seed);
  return () => next() / 2 ** 32;
}
