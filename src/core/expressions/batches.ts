/** Limits of one batch: 100 to 500 records amortise a round trip, 1 MB keeps both ends responsive. */
const limits = { recordsMax: 500, recordsMin: 100, lengthMax: 1_000_000 } as const;

/**
 * A page above 100 records makes at least two batches, for two children; a record above the length limit is a batch of
 * its own.
 */
export function cutBatches(texts: readonly string[]): readonly (readonly string[])[] {
  const size = Math.min(limits.recordsMax, Math.max(limits.recordsMin, Math.ceil(texts.length / 2)));
  const batches: string[][] = [];
  let batch: string[] = [];
  let length = 0;
  for (const text of texts) {
    if (batch.length > 0 && (batch.length >= size || length + text.length > limits.lengthMax)) {
      batches.push(batch);
      batch = [];
      length = 0;
    }
    batch.push(text);
    length += text.length;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
