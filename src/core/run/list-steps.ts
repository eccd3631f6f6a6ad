import { type PartitionSource, sourcesOf } from '../spec/connection/partition-sources.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';

type Group = NonNullable<Resource['forEach'][number]['group']>;

/** A list that a run makes before its first partition. */
export type ListStep =
  | {
      readonly kind: 'dimension';
      /** Owner of the entry of `forEach`: the run's own resource, or a parent that is read live. */
      readonly resource: Resource;
      readonly dimension: PartitionSource;
      /** If false, the values are appended to the previous list of the union. */
      readonly begins: boolean;
      /** Prefix of the keys, so that two lists of a union share none; `null` without a union. */
      readonly keySpace: readonly string[] | null;
      readonly list: number;
      /** Lists of the parent's own entries, made before; empty if it has none or is stored. */
      readonly within: readonly number[];
    }
  | { readonly kind: 'groups'; readonly group: Group; readonly members: number; readonly list: number }
  | { readonly kind: 'combinations' };

/** The lists of a run's own resource, one for each entry, in order. */
export const ownLists = ({ forEach }: Pick<Resource, 'forEach'>): readonly number[] => [...forEach.keys()];

/** Number of the list of combinations: a resource's own entries count from 0, all other lists are below 0. */
export const combinationsList = -1;

interface ListedRun {
  readonly resource: Resource;
  readonly source: { readonly backfill: unknown };
}

/**
 * Whether a run reads only combinations whose parents changed since their last read; a single entry lists only those
 * parents. A backfill also reads the past of unchanged parents.
 */
export const comparesCombinations = ({ resource: { forEach }, source }: ListedRun): boolean =>
  source.backfill === null && forEach.length > 1 && forEach.some(({ select }) => select === 'changed');

/** The lists of a run in the order they are made; the partitions of a live parent are listed before its records. */
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
