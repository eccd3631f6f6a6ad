/** Which requests of a batch may be concurrent: those that have no record in common. */
import { mapWithPauses } from '../../work/map-with-pauses.ts';
import type { OutboxPart } from './outbox.ts';
import { partitionOf, recordsOf } from './parts.ts';

/**
 * The parts of a batch in at most `parallelism` rows, each of them in the order given: all versions of a record are in the
 * same one. Parts that were stored while `parallelism` was another number may span several partitions; they stay in a
 * single row.
 */
export async function partitionsOf(
  parts: readonly OutboxPart[],
  parallelism: number,
): Promise<readonly (readonly OutboxPart[])[]> {
  if (parallelism === 1) return [parts];
  const spans = await mapWithPauses(
    parts,
    (part) => new Set(recordsOf(part).map(({ externalId }) => partitionOf(externalId, parallelism))),
  );
  if (spans.some(({ size }) => size > 1)) return [parts];
  return [...Map.groupBy(parts, (_part, index) => spans[index]?.values().next().value).values()];
}
