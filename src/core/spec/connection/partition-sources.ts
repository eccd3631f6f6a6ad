import { textOf } from '../../json/json-text.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';

type Dimension = Resource['forEach'][number];

/** A list with values of a dimension, from either `values` or `resource`. */
export type PartitionSource = Omit<Dimension, 'union' | 'group'>;

/** The lists of a dimension in order: itself, or those of its union. */
export function sourcesOf(dimension: Dimension): readonly PartitionSource[] {
  const { as, union } = dimension;
  return union === undefined ? [dimension] : union.map((source) => ({ ...source, as, select: 'all' }));
}

/** The value of `each.<as>` for a group. */
export const groupValue = (group: NonNullable<Dimension['group']>, values: readonly unknown[]): unknown =>
  group.join === undefined ? values : values.map(textOf).join(group.join);

/** Resources whose records supply the partitions of a resource, then their own ancestors, each once. */
export function ancestorsOf({ resources }: Pick<ConnectorSpec, 'resources'>, resource: Resource): readonly Resource[] {
  const found = new Set<Resource>();
  const add = (child: Resource): void => {
    const keys = child.forEach.flatMap(sourcesOf).map((source) => source.resource);
    for (const parent of resources.filter(({ key }) => keys.includes(key))) {
      if (found.has(parent)) continue;
      found.add(parent);
      add(parent);
    }
  };
  add(resource);
  return [...found];
}
