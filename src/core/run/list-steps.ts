import { type PartitionSource, sourcesOf } from '../spec/connection/partition-sources.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';

type Group = NonNullable<Resource['forEach'][number]['group']>;

/** One list that a run makes before its first partition. */
export type ListStep =
  | {
      readonly kind: 'dimension';
      /** The owner of the entry of `forEach`: the run's own resource, or a parent that is read live. */
      readonly resource: Resource;
      /** The list of values, of which a union has several. */
      readonly dimension: PartitionSource;
      /** Whether its values begin a new list; otherwise they follow those of the union's list before it. */
      readonly begins: boolean;
      /** What the keys of its values begin with, so that two lists of a union share none; null: there is only one. */
      readonly keySpace: readonly string[] | null;
      /** Where its values are stored. */
      readonly list: number;
      /** The lists of the parent's own entries, which are made before; empty: it has none, or is stored. */
      readonly within: readonly number[];
    }
  /** Groups of the values of a list. */
  | { readonly kind: 'groups'; readonly group: Group; readonly members: number; readonly list: number }
  /** The combinations of the values to read, if not all. */
  | { readonly kind: 'combinations' };

/** The lists of a run's own resource, one for each entry, in their order. */
export const ownLists = ({ forEach }: Pick<Resource, 'forEach'>): readonly number[] => [...forEach.keys()];

/** The number of the list of combinations. Numbers from 0 are of the resource's own entries, all others are below 0. */
export const combinationsList = -1;

/** What decides which partitions a run has. */
interface ListedRun {
  readonly resource: Resource;
  readonly source: { readonly backfill: unknown };
}

/**
 * Whether a run reads only some combinations of its values: those whose parents changed since they were read. With a
 * single entry, its list has only the changed parents. A backfill also reads the past of parents that did not change.
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
      const { group, union } = dimension;
      const list = own[index] ?? index;
      const members = group === undefined ? list : (lists -= 1);
      const steps = sourcesOf(dimension).flatMap((source, nth): readonly ListStep[] => {
        const { resource: parentKey, from, value } = source;
        const parent = parentKey !== undefined && from === 'live' ? run.findResource(parentKey) : null;
        const within = (parent?.forEach ?? []).map(() => (lists -= 1));
        const keySpace = union === undefined ? null : [parentKey ?? '', value ?? ''];
        const place = { resource, dimension: source, begins: nth === 0, keySpace, list: members, within };
        return [...(parent ? stepsOf(parent, within) : []), { kind: 'dimension', ...place }];
      });
      return group === undefined ? steps : [...steps, { kind: 'groups', group, members, list }];
    });
  const steps = stepsOf(run.resource, ownLists(run.resource));
  return comparesCombinations(run) ? [...steps, { kind: 'combinations' }] : steps;
}
