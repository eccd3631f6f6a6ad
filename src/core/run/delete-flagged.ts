import type { PartitionTotals, RunPosition } from '../model/run-position.ts';
import type { Scan } from '../model/scan.ts';
import { readsToNow } from '../spec/connection/reads-all.ts';
import { hasGaps, isHeldBack } from './absence.ts';
import { bury } from './delete-missing.ts';
import type { RunReading, RunReadOptions, Stage } from './reading.ts';
import { stagePage } from './run-page.ts';

const everyRecord = { isPartitioned: false, coversAll: true, listsAll: true, confirm: 1 } as const;

/**
 * Sends tombstones for flagged records at the end of the run. If they exceed the brake, none is sent and the run ends
 * `partial`. A run that starts over, because the API forgot what changed, misses the deletions in between. If it was
 * whole, records it lacks are deleted. Until then its watermarks stay, so that the next run starts over too.
 */
export async function* deleteFlagged(
  { resource, source, store, force }: RunReading,
  position: Extract<RunPosition, { readonly stage: 'sweep' }>,
  options: RunReadOptions,
): Stage {
  const { deletes } = resource;
  if (deletes.mode !== 'flag') return null;
  await options.delivered();
  const { again, count, skipped } = position.totals;
  const isAgain = again !== undefined;
  const mayShow = isAgain && again + skipped === count && readsToNow(resource, source.http);
  const shows = mayShow && isWhole(position.totals);
  const scan: Scan = { ...everyRecord, hasGaps: hasGaps(position.totals), ...(!shows && { endsOnly: true }) };
  const found = await store.countMissing(scan);
  if (!force && (await isHeldBack(store, { ...found, countKnown: () => store.countKnown() }, deletes))) {
    yield stagePage('sweep', { positionAfter: null, incomplete: true, notes: ['deletes_held_back'] });
    return null;
  }
  if (found.due > 0) {
    yield* bury(position, { effect: deletes.effect, find: (page) => store.findMissing(scan, page) }, options);
  }
  if (!isAgain) {
    yield stagePage('sweep', { positionAfter: null });
    return null;
  }
  // The destination may have refused some.
  const left = found.missing === 0 ? 0 : (await store.countMissing(scan)).missing;
  const isPartitioned = resource.forEach.length > 0;
  yield stagePage('sweep', {
    positionAfter: isPartitioned ? null : position,
    scan: left > 0 || (mayShow && !shows) ? null : scan,
    incomplete: !shows,
    notes: shows ? [] : ['deletes_unknown'],
  });
  if (isPartitioned) return null;
  await options.delivered();
  // The row of the run also stores the watermark.
  const { watermark, validators } = await store.partition('');
  const partition = { partition: '', watermark, completed: { listedAt: null, validators } };
  yield stagePage('sweep', { positionAfter: null, partition });
  return null;
}

const isWhole = ({ skipped, gaps, listGaps }: PartitionTotals): boolean =>
  skipped === 0 && gaps.length === 0 && listGaps?.length === 0;
