import type { PartitionTotals, RunPosition } from '../model/run-position.ts';
import type { ListedScan } from '../model/scan.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { exceeds, hasGaps } from './absence.ts';
import { bury } from './delete-missing.ts';
import { isOfResource } from './listed-deletions.ts';
import type { RunReading, RunReadOptions, Stage } from './reading.ts';
import { stagePage } from './run-page.ts';

/**
 * Sends tombstones at the end of the run for listed records, and for those that left the filter. Deletions that an
 * earlier run held back are included. If they exceed the brake, none is sent and the run ends `partial`.
 */
export async function* deleteListed(
  { resource, store, source, force }: RunReading,
  position: Extract<RunPosition, { readonly stage: 'sweep' }>,
  options: RunReadOptions,
): Stage {
  const { deletes } = resource;
  if (deletes.mode !== 'endpoint') return null;
  await options.delivered();
  const scan = listedScanOf(resource, position.totals, source.backfill !== null);
  const { due, open } = await store.countListed(scan);
  if (!force && exceeds(due, due < deletes.minRecords ? 0 : await store.countKnown(), deletes)) {
    const listedEnd = { ...scan, isHeld: true };
    yield stagePage('sweep', { positionAfter: null, incomplete: true, notes: ['deletes_held_back'], listedEnd });
    return null;
  }
  if (due > 0) yield* bury(position, { effect: deletes.effect, find: (page) => store.findDue(scan, page) }, options);
  yield stagePage('sweep', { positionAfter: null, listedEnd: open > 0 ? { ...scan, isHeld: false } : null });
  return null;
}

/** A backfill does not tell how far lists are read, and a run over changed partitions does not list the others. */
function listedScanOf(resource: Resource, totals: PartitionTotals, isBackfill: boolean): ListedScan {
  const listsAll = resource.forEach.every(({ select }) => select !== 'changed') && totals.listGaps?.length === 0;
  const isKnown = totals.isListUnknown === undefined;
  const coversAll = listsAll && isKnown && totals.skipped === 0 && !isBackfill && !isOfResource(resource);
  return { coversAll, hasGaps: hasGaps(totals) };
}
