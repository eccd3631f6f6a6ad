import type { PartitionTotals, RunPosition } from '../model/run-position.ts';
import type { Scan } from '../model/scan.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { brakeOf, isHeldBack } from './absence.ts';
import { tombstonesMax } from './delete-missing.ts';
import type { RunReading, RunReadOptions, Stage } from './reading.ts';
import { stagePage, tombstoneOf } from './run-page.ts';

/** Such a read shows every record, wherever it is. */
const scan: Scan = { isPartitioned: false, coversAll: true, listsAll: true, confirm: 1 };

/**
 * Ends a run that has read everything again, as the API had forgotten what changed: a record that it marked as deleted
 * meanwhile is absent. If the run was whole, what it lacks is deleted, as by a full scan. Until then its watermarks stay, so
 * that the next run reads everything again.
 */
export async function* deleteUnseen(
  { resource, store, force }: RunReading,
  position: Extract<RunPosition, { readonly stage: 'sweep' }>,
  options: RunReadOptions,
): Stage {
  const { deletes } = resource;
  if (deletes.mode !== 'flag') return null;
  await options.delivered();
  const shows = showsAll(resource, position.totals);
  const { missing } = shows ? await store.countMissing(scan) : { missing: 0 };
  if (!force && (await isHeldBack(store, { missing, countKnown: () => store.countKnown() }, brakeOf({})))) {
    yield stagePage('sweep', { positionAfter: null, incomplete: true, notes: ['deletes_held_back'] });
    return null;
  }
  for (let left = missing; left > 0; left -= tombstonesMax) {
    const gone = await store.findMissing(scan, tombstonesMax);
    const tombstones = gone.map((record) => tombstoneOf(record, deletes.effect));
    yield stagePage('sweep', { tombstones, positionAfter: position });
    await options.delivered();
  }
  // The destination may have refused some.
  const left = missing === 0 ? 0 : (await store.countMissing(scan)).missing;
  const isPartitioned = resource.forEach.length > 0;
  yield stagePage('sweep', {
    positionAfter: isPartitioned ? null : position,
    scan: left > 0 ? null : shows ? scan : { ...scan, endsOnly: true },
    incomplete: !shows,
    notes: shows ? [] : ['deletes_unknown'],
  });
  if (isPartitioned) return null;
  await options.delivered();
  // The row of the run has the watermark as well.
  const { watermark, validators } = await store.partition('');
  const partition = { partition: '', watermark, completed: { listedAt: null, validators } };
  yield stagePage('sweep', { positionAfter: null, partition });
  return null;
}

/** Whether the run has read every partition again from its start, and whole. */
const showsAll = ({ forEach }: Resource, { count, again, skipped, gaps, listGaps }: PartitionTotals): boolean =>
  again === count &&
  skipped === 0 &&
  gaps.length === 0 &&
  listGaps?.length === 0 &&
  forEach.every(({ select }) => select !== 'changed');
