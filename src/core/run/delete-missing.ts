import { hidingGaps } from '../model/coverage.ts';
import type { PartitionEntry } from '../model/receipt.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { Scan } from '../model/scan.ts';
import { isHeldBack, scanOf } from './absence.ts';
import type { RunReading, RunReadOptions, Stage } from './reading.ts';
import { stagePage, tombstoneOf } from './run-page.ts';

/** Tombstones on one page. */
export const tombstonesMax = 1000;

type SweepPosition = Extract<RunPosition, { readonly stage: 'sweep' }>;

/**
 * Tombstones for the known records that the run proves to be missing, and those that have left the filter: once, at its end,
 * over all partitions that it read whole. If they are too many at once, none is sent and the run ends `partial`; so does one
 * whose gaps may hide missing ones.
 */
export async function* deleteMissing(run: RunReading, position: SweepPosition, options: RunReadOptions): Stage {
  const { resource, store, force } = run;
  const { deletes } = resource;
  const { totals } = position;
  if (deletes.mode !== 'full_scan') return null;
  const found = scanOf(resource, totals);
  await options.delivered();
  const gaps = found === null ? [] : hidingGaps(totals.gaps);
  const hidden = found !== null && gaps.length > 0 && (await store.hidesMissing(found)) ? gaps : [];
  const isCompared = found !== null && (found.isPartitioned || totals.gaps.length === 0);
  const scan: Scan = isCompared ? found : onlyFlagged;
  const result = await store.countMissing(scan);
  const { due } = result;
  if (!force && (await isHeldBack(store, { ...result, countKnown: () => store.countKnown() }, deletes))) {
    const notes = ['deletes_held_back', ...hidden] as const;
    yield stagePage('sweep', { positionAfter: null, incomplete: true, notes });
    return null;
  }
  for (let left = due; left > 0; left -= tombstonesMax) {
    const gone = await store.findMissing(scan, tombstonesMax);
    const tombstones = gone.map((record) => tombstoneOf(record, deletes.effect));
    yield stagePage('sweep', { tombstones, positionAfter: position });
    await options.delivered();
  }
  // The destination may have refused some.
  const { missing, flagged } = due === 0 ? result : await store.countMissing(scan);
  yield stagePage('sweep', {
    positionAfter: null,
    partition: isCompared && missing + flagged === 0 ? await completion(run, position) : null,
    scan: isCompared && (scan.isPartitioned || scan.confirm > 1) ? scan : null,
    incomplete: hidden.length > 0,
    notes: hidden,
  });
  return null;
}

/** Nothing is concluded from absence. */
export const onlyFlagged: Scan = {
  isPartitioned: false,
  coversAll: true,
  listsAll: true,
  confirm: 1,
  endsOnly: true,
};

/**
 * The end of a read without partitions, whose response may be asked for by its validators from now on: not before every
 * missing record is deleted, or no later run would delete it. Null: it has no validators.
 */
async function completion({ store }: RunReading, { validators = null }: SweepPosition): Promise<PartitionEntry | null> {
  if (validators === null) return null;
  const { watermark } = await store.partition('');
  return { partition: '', watermark, completed: { listedAt: null, validators } };
}
