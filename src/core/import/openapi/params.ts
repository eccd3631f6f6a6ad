import type { JsonObject } from '../../json/json-object.ts';
import { identifier, unique } from './names.ts';

/** The values that connections will supply, one param per purpose for all resources. */
export interface Params {
  add(purpose: string, name: string, definition: JsonObject): string;
  definitionsOf(keys: ReadonlySet<string>): readonly JsonObject[];
}

export function createParams(): Params {
  const byPurpose = new Map<string, string>();
  const definitions: { readonly key: string; readonly definition: JsonObject }[] = [];
  const taken = new Map<string, number>();
  return {
    add(purpose, name, definition) {
      const before = byPurpose.get(purpose);
      if (before !== undefined) return before;
      const key = unique(identifier(name, 'param'), taken);
      byPurpose.set(purpose, key);
      definitions.push({ key, definition });
      return key;
    },
    definitionsOf: (keys) =>
      definitions.filter(({ key }) => keys.has(key)).map(({ key, definition }) => ({ key, ...definition })),
  };
}
