import { AppError } from '../errors.ts';
import type { ListPosition } from '../model/run-position.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { countCombinations, partitionKey } from './combinations.ts';
import { combinationsList, ownLists } from './list-steps.ts';
import type { RunStore } from './run-store.ts';

const combinationsMax = 2000;
/** Maximum combinations to compare; those to read are rows of the control database until the run ends. */
const comparedMax = 10_000_000;

/**
 * Lists the combinations never read to their end, or not since a parent under `select: changed` changed. A new value
 * brings new combinations, which are read in any case.
 *
 * @returns the position after the list. Throws `spec_invalid` if there are too many.
 */
export async function listCombinations(
  { resource, store, signal }: { readonly resource: Resource; readonly store: RunStore; readonly signal: AbortSignal },
  begin: ListPosition,
): Promise<ListPosition> {
  const lists = ownLists(resource);
  const count = await countCombinations(store, lists);
  if (count > comparedMax) throw tooMany(resource, count);
  const next: ListPosition = { ...begin, dimension: begin.dimension + 1, part: null };
  let no = begin.part?.no ?? 0;
  if (no === 0) await store.clearDimension(combinationsList);
  do {
    signal.throwIfAborted();
    const found = await store.combinations(lists, { from: no, limit: combinationsMax });
    const combinations = found.map((combination) => ({ ...combination, key: partitionKey(combination.keys) }));
    const wanted = await store.changedPartitions(
      combinations.map(({ key, keys }) => ({ key, parents: changedParents(resource, keys) })),
    );
    const values = combinations
      .filter(({ key }) => wanted.has(key))
      .map((combination) => ({ key: String(combination.no), value: combination.no }));
    no += combinationsMax;
    const position = no < count ? { ...begin, part: { no, refused: 0 } } : next;
    await store.addToDimension(combinationsList, values, position);
  } while (no < count);
  return next;
}

const changedParents = ({ forEach }: Resource, keys: readonly string[]) =>
  forEach.flatMap(({ resource: resourceKey, select }, index) =>
    resourceKey !== undefined && select === 'changed' ? [{ resourceKey, externalId: keys[index] ?? '' }] : [],
  );

const tooMany = ({ key }: Resource, count: number): AppError =>
  new AppError(
    'spec_invalid',
    `The lists of forEach of ${key} have ${count} combinations, more than the ${comparedMax} that \`select: changed\` can compare. Shorten the lists.`,
  );
