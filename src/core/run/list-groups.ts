import { digestOf } from '../crypto/digest.ts';
import type { ListPosition } from '../model/run-position.ts';
import { groupValue } from '../spec/connection/partition-sources.ts';
import type { ListStep } from './list-steps.ts';
import type { DimensionValue, RunStore } from './run-store.ts';

type GroupsStep = Extract<ListStep, { readonly kind: 'groups' }>;

/** Values that are grouped before the run's position moves on. */
const membersMax = 1000;

/**
 * Groups the values of a list, in its order. The key derives from the values: a changed group is a new partition, read
 * from the beginning, so that it misses nothing.
 *
 * @returns the position after the groups.
 */
export async function listGroups(
  { store, signal }: { readonly store: RunStore; readonly signal: AbortSignal },
  { group, members, list }: GroupsStep,
  begin: ListPosition,
): Promise<ListPosition> {
  const [count = 0] = await store.dimensionCounts([members]);
  const next: ListPosition = { ...begin, dimension: begin.dimension + 1, part: null };
  const groupsAtOnce = Math.max(1, Math.floor(membersMax / group.size));
  let no = begin.part?.no ?? 0;
  if (no === 0) await store.clearDimension(list);
  do {
    const groups: DimensionValue[] = [];
    while (groups.length < groupsAtOnce && no < count) {
      signal.throwIfAborted();
      const values: DimensionValue[] = [];
      for (const end = Math.min(no + group.size, count); no < end; no += 1) {
        values.push(await store.dimensionValue(members, no));
      }
      const keys = values.map(({ key }) => key).toSorted();
      const value = groupValue(
        group,
        values.map((member) => member.value),
      );
      groups.push({ key: `group:${digestOf(JSON.stringify(keys))}`, value });
    }
    const position = no < count ? { ...begin, part: { no, refused: 0 } } : next;
    await store.addToDimension(list, groups, position);
  } while (no < count);
  return next;
}
