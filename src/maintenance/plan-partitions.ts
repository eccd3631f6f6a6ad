import type { Partition, PartitionRange } from '../../db/queries/maintenance/partitions.ts';

const dayMs = 86_400_000;
/**
 * Milliseconds from now to the start of a new partition, so that the default partition does not get rows for it meanwhile.
 */
const marginMs = 60_000;
/**
 * The most partitions of a table, apart from those ahead: a statement over all of them takes as many index look-ups and
 * locks. Rows that are deleted by partition are thus kept a thirteenth longer.
 */
const partitionsMax = 13;

interface PartitionPlan {
  readonly add: readonly PartitionRange[];
  readonly drop: readonly Partition[];
}

/** Adds the missing partitions from now to two widths ahead, and drops those that only have ids from before `before`. */
export function planPartitions(
  partitions: readonly Partition[],
  { now, keptDays, before }: { readonly now: Date; readonly keptDays: number; readonly before: Date },
): PartitionPlan {
  const widthMs = Math.max(1, Math.ceil(keptDays / partitionsMax)) * dayMs;
  const end = now.getTime() + 2 * widthMs;
  const add: PartitionRange[] = [];
  for (let at = now.getTime() + marginMs; at < end; ) {
    const covering = partitions.find(({ from, to }) => from.getTime() <= at && at < to.getTime());
    if (covering) {
      at = covering.to.getTime();
      continue;
    }
    const next = partitions.find(({ from }) => from.getTime() > at)?.from.getTime() ?? Number.POSITIVE_INFINITY;
    // The same boundaries in every process, at any time.
    const to = Math.min((Math.floor(at / widthMs) + 1) * widthMs, next);
    add.push({ from: new Date(at), to: new Date(to) });
    at = to;
  }
  return { add, drop: partitions.filter(({ to }) => to <= before) };
}
