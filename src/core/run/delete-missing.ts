import type { PartitionEntry } from '../model/receipt.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { RunReading, RunReadOptions, Stage } from './reading.ts';
import { stagePage } from './run-page.ts';

/** Tombstones on one page. */
export const tombstonesMax = 1000;

/** The part that was read, the position of the run, and the next position. */
interface MissingIn {
  readonly at: RunPosition;
  /** The key of the partition; null: the whole resource. */
  readonly partition: string | null;
  readonly next: RunPosition | null;
  /** Says that the partition is read to its end; called once everything before is recorded; null: already said. */
  readonly completion: () => Promise<PartitionEntry | null>;
}

/**
 * Tombstones for the known records that a complete read did not show. The brake: when more than `maxRatio` of them are
 * missing, and at least `minRecords`, none is sent and the run ends `partial`; a failing API looks just like this.
 */
export async function* deleteMissing(
  run: RunReading,
  { at, partition, next, completion }: MissingIn,
  options: RunReadOptions,
): Stage {
  const { deletes } = run.resource;
  if (deletes.mode !== 'full_scan') return next;
  await options.delivered();
  const { known, missing } = await run.store.countMissing(partition);
  if (!run.force && missing >= deletes.minRecords && missing > known * deletes.maxRatio) {
    yield stagePage('sweep', { positionAfter: next, incomplete: true, notes: ['deletes_held_back'] });
    return next;
  }
  for (let left = missing; left > 0; left -= tombstonesMax) {
    const externalIds = await run.store.findMissing(partition, tombstonesMax);
    const tombstones = externalIds.map((externalId) => ({ externalId, effect: deletes.effect }));
    const place =
      left <= tombstonesMax ? { positionAfter: next, partition: await completion() } : { positionAfter: at };
    yield stagePage('sweep', { tombstones, ...place });
    // A later partition may show the record: it must be known as deleted by then.
    await options.delivered();
  }
  if (missing === 0) yield stagePage('sweep', { positionAfter: next, partition: await completion() });
  return next;
}
