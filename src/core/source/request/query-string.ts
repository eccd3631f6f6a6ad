import { textOf } from '../../json/json-text.ts';

export type ArrayFormat = 'repeat' | 'comma' | 'brackets' | 'indices';

export type Pairs = [string, string][];

/**
 * `{created: {gte: 1}}` becomes `created[gte]`, and lists follow `arrayFormat`, but objects inside always carry their
 * index. Null and missing values are left out.
 */
export function queryPairs(query: Readonly<Record<string, unknown>>, arrayFormat: ArrayFormat): Pairs {
  return Object.entries(query).flatMap(([name, value]) => pairsOf(name, value, arrayFormat));
}

function pairsOf(name: string, value: unknown, arrayFormat: ArrayFormat): Pairs {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return listPairs(name, value, arrayFormat);
  if (typeof value !== 'object') return [[name, textOf(value)]];
  return Object.entries(value).flatMap(([key, child]) => pairsOf(`${name}[${key}]`, child, arrayFormat));
}

function listPairs(name: string, list: readonly unknown[], arrayFormat: ArrayFormat): Pairs {
  const items = list.filter((item) => item !== null && item !== undefined);
  if (items.length === 0) return [];
  if (arrayFormat === 'comma' && items.every((item) => typeof item !== 'object'))
    return [[name, items.map(textOf).join(',')]];
  return items.flatMap((item, index) => {
    const plain = typeof item !== 'object' && arrayFormat !== 'indices';
    const suffix = plain ? (arrayFormat === 'brackets' ? '[]' : '') : `[${index}]`;
    return pairsOf(name + suffix, item, arrayFormat);
  });
}
