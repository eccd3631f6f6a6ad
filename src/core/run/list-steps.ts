import type { Resource } from '../spec/schema/spec-schema.ts';

type Dimension = Resource['forEach'][number];

/** One list that a run makes before its first partition. */
export type ListStep =
  | {
      readonly kind: 'dimension';
      /** Whose entry of `forEach` it is: the run's own resource, or a parent that is read live. */
      readonly resource: Resource;
      readonly dimension: Dimension;
      /** Where its values are kept. */
      readonly list: number;
      /** Where those of the parent's own entries are kept, which are listed before; empty: it has none, or is stored. */
      readonly within: readonly number[];
    }
  /** The combinations of the values that are to be read, where not all are. */
  | { readonly kind: 'combinations' };

/** Under which the lists of a run's own resource are kept: those of its entries, in their order. */
export const ownLists = ({ forEach }: Pick<Resource, 'forEach'>): readonly number[] => [...forEach.keys()];

/** Under which the combinations are kept. Lists that are not of the resource's own entries are below 0. */
export const combinationsList = -1;

/** What decides which partitions a run has. */
interface ListedRun {
  readonly resource: Resource;
  readonly source: { readonly backfill: unknown };
}

/**
 * Whether a run reads some combinations of its values only: each as its parents changed since it was read. With one
 * entry alone its list has the changed parents and no others. A backfill reads the past of those, too, that did not
 * change.
 */
export const comparesCombinations = ({ resource: { forEach }, source }: ListedRun): boolean =>
  source.backfill === null && forEach.length > 1 && forEach.some(({ select }) => select === 'changed');

/**
 * The lists of a run in the order in which they are made. A parent that is read live and has partitions itself needs
 * theirs first.
 */
export function listSteps(
  run: ListedRun & { readonly findResource: (resourceKey: string) => Resource },
): readonly ListStep[] {
  let lists = combinationsList;
  const stepsOf = (resource: Resource, own: readonly number[]): readonly ListStep[] =>
    resource.forEach.flatMap((dimension, index): readonly ListStep[] => {
      const { resource: parentKey, from } = dimension;
      const parent = parentKey !== undefined && from === 'live' ? run.findResource(parentKey) : null;
      const within = (parent?.forEach ?? []).map(() => (lists -= 1));
      const step = { kind: 'dimension', resource, dimension, list: own[index] ?? index, within } as const;
      return [...(parent ? stepsOf(parent, within) : []), step];
    });
  const steps = stepsOf(run.resource, ownLists(run.resource));
  return comparesCombinations(run) ? [...steps, { kind: 'combinations' }] : steps;
}
