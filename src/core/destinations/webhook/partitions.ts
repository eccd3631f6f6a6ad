import { mapWithPauses } from '../../work/map-with-pauses.ts';
import type { OutboxPart } from './outbox.ts';
import { partitionOf, recordsOf } from './parts.ts';

/**
 * At most `parallelism` ordered lists, with all versions of a record in the same one. Parts that were stored with another
 * `parallelism` may span several partitions; they stay in a single list.
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
