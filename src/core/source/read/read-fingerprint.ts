import { createHash } from 'node:crypto';

/**
 * The fingerprint of a plan. `specChecksum` is the effective spec's, `partition` the values of `each`, `backfillFrom`
 * undefined for an ordinary read.
 */
export function readFingerprint(parts: {
  readonly resourceKey: string;
  readonly partition: unknown;
  readonly watermarkBefore: string | null;
  readonly specChecksum: string;
  readonly backfillFrom: string | null | undefined;
}): string {
  const { resourceKey, partition, watermarkBefore, specChecksum, backfillFrom } = parts;
  // The first entry is the form of ReadPosition: raise it when a read can no longer continue from old ones.
  const content = [
    1,
    resourceKey,
    partition,
    watermarkBefore,
    specChecksum,
    backfillFrom ?? null,
    backfillFrom !== undefined,
  ];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);
}
