import type { Partition, PartitionRange } from '../../db/queries/maintenance/partitions.ts';

const dayMs = 86_400_000;
/**
 * The milliseconds from now to the begin of a partition, so that no row that comes meanwhile is in the default
 * partition already.
 */
const marginMs = 60_000;
/**
 * Partitions of a table at most, apart from those ahead: a statement that has to look into all of them takes as many index
 * look-ups, and as many locks. What is deleted by the partition is kept by a thirteenth longer.
 */
const partitionsMax = 13;

/** How partitions follow the time. */
interface PartitionPlan {
  readonly add: readonly PartitionRange[];
  readonly drop: readonly Partition[];
}

/** The partitions that are missing from now to two of them ahead, and those that have only ids from before `before`. */
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
    // At the same instants for every process, whenever it looks.
    const to = Math.min((Math.floor(at / widthMs) + 1) * widthMs, next);
    add.push({ from: new Date(at), to: new Date(to) });
    at = to;
  }
  return { add, drop: partitions.filter(({ to }) => to <= before) };
}
