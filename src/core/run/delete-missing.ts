import type { Tombstone } from '../model/batch.ts';
import { hidingGaps } from '../model/coverage.ts';
import type { PartitionEntry } from '../model/receipt.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { ScanResult } from '../model/scan.ts';
import { isHeldBack, scanOf } from './absence.ts';
import type { RunReading, RunReadOptions, Stage } from './reading.ts';
import { type RunPage, stagePage, tombstoneOf } from './run-page.ts';
import type { GonePage, GoneRecord } from './run-store.ts';

/** Maximum tombstones on one page. */
export const tombstonesMax = 1000;

type SweepPosition = Extract<RunPosition, { readonly stage: 'sweep' }>;

/**
 * Sends tombstones for records that the run proves missing, once, over all partitions read whole. If they exceed the
 * brake, none is sent and the run ends `partial`, as it does if a gap may hide missing records.
 */
export async function* deleteMissing(run: RunReading, position: SweepPosition, options: RunReadOptions): Stage {
  const { resource, store, force } = run;
  const { deletes } = resource;
  const { totals } = position;
  const scan = scanOf(resource, totals);
  if (deletes.mode !== 'full_scan' || scan === null) {
    yield stagePage('sweep', { positionAfter: null });
    return null;
  }
  await options.delivered();
  const gaps = hidingGaps(totals.gaps);
  const hidden = gaps.length > 0 && (await store.hidesMissing(scan)) ? gaps : [];
  const isCompared = scan.isPartitioned || totals.gaps.length === 0;
  const result = isCompared ? await store.countMissing(scan) : nothing;
  if (!force && (await isHeldBack(store, { ...result, countKnown: () => store.countKnown() }, deletes))) {
    const notes = ['deletes_held_back', ...hidden] as const;
    yield stagePage('sweep', { positionAfter: null, incomplete: true, notes });
    return null;
  }
  if (result.due > 0)
    yield* bury(position, { effect: deletes.effect, find: (page) => store.findMissing(scan, page) }, options);
  // The destination may have refused some.
  const { missing, flagged } = result.due === 0 ? result : await store.countMissing(scan);
  yield stagePage('sweep', {
    positionAfter: null,
    partition: missing + flagged === 0 ? await completion(run, position) : null,
    scan: isCompared && (scan.isPartitioned || scan.confirm > 1) ? scan : null,
    incomplete: hidden.length > 0,
    notes: hidden,
  });
  return null;
}

interface Burial {
  readonly effect: Tombstone['effect'];
  readonly find: (page: GonePage) => Promise<readonly GoneRecord[]>;
}

/** Sends tombstones page by page, each record once, since the destination may refuse some. */
export async function* bury(
  position: SweepPosition,
  { effect, find }: Burial,
  { delivered }: Pick<RunReadOptions, 'delivered'>,
): AsyncGenerator<RunPage, void, undefined> {
  for (let after: string | null = null; ; ) {
    const gone = await find({ after, limit: tombstonesMax });
    const last = gone.at(-1);
    if (last === undefined) return;
    after = last.externalId;
    yield stagePage('sweep', { tombstones: gone.map((each) => tombstoneOf(each, effect)), positionAfter: position });
    await delivered();
    if (gone.length < tombstonesMax) return;
  }
}

const nothing: ScanResult = { missing: 0, flagged: 0, due: 0 };

/**
 * Completion of a read without partitions, or `null` without validators. Valid only once every missing record is
 * deleted: after a 304 no later run would delete it.
 */
async function completion({ store }: RunReading, { validators = null }: SweepPosition): Promise<PartitionEntry | null> {
  if (validators === null) return null;
  const { watermark } = await store.partition('');
  return { partition: '', watermark, completed: { listedAt: null, validators } };
}
