import { createHash } from 'node:crypto';

/**
 * `specChecksum` is the effective spec's, `partition` the values of `each`, and `backfillFrom` undefined for an
 * ordinary read. `isNumbered` tells whether pages have numbers and their list may move; for `masked` see Source.
 */
export function readFingerprint(parts: {
  readonly resourceKey: string;
  readonly partition: unknown;
  readonly watermarkBefore: string | null;
  readonly specChecksum: string;
  readonly backfillFrom: string | null | undefined;
  readonly isNumbered: boolean;
  readonly masked?: ((text: string) => string) | undefined;
}): string {
  const { resourceKey, partition, watermarkBefore, specChecksum, backfillFrom, isNumbered } = parts;
  const { masked = (text: string) => text } = parts;
  // The first entry is the form of ReadPosition, to be raised when a read cannot continue from old ones. Form 1 does
  // not prove how numbered pages follow each other.
  const content = [
    isNumbered ? 2 : 1,
    resourceKey,
    partition,
    watermarkBefore,
    specChecksum,
    backfillFrom ?? null,
    backfillFrom !== undefined,
  ];
  return createHash('sha256')
    .update(masked(JSON.stringify(content)))
    .digest('hex')
    .slice(0, 32);
}
