import { isJsonObject } from './is-json-object.ts';

/** The property that identifies the items of a list, by the list's place. */
const listKeys: ReadonlyMap<string, string> = new Map([
  ['resources', 'key'],
  ['connectionParams', 'key'],
  ['lookups', 'assignTo'],
  ['resources.enrich', 'assignTo'],
  ['resources.forEach', 'as'],
]);

/**
 * Applies overrides to a spec document as a keyed merge patch and changes neither: objects merge, null deletes. Items
 * of the lists in `listKeys` merge by their key: `"$delete": true` removes one, and a new key appends. Other lists and
 * values are replaced.
 */
export const mergeOverrides = (document: unknown, overrides: unknown): unknown => merge(document, overrides, '');

function merge(target: unknown, patch: unknown, place: string): unknown {
  const listKey = listKeys.get(place);
  if (Array.isArray(patch) && listKey !== undefined) {
    return mergeList(Array.isArray(target) ? target : [], patch, { listKey, place });
  }
  return isJsonObject(patch) ? mergeObject(isJsonObject(target) ? target : {}, patch, place) : patch;
}

function mergeObject(target: Record<string, unknown>, patch: Record<string, unknown>, place: string): unknown {
  const merged = new Map(Object.entries(target));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, merge(merged.get(key), value, place === '' ? key : `${place}.${key}`));
  }
  return Object.fromEntries(merged);
}

interface KeyedList {
  readonly listKey: string;
  readonly place: string;
}

function mergeList(target: readonly unknown[], patch: readonly unknown[], { listKey, place }: KeyedList): unknown[] {
  let items = [...target];
  for (const change of patch) {
    const index = items.findIndex((item) => isSameItem(item, change, listKey));
    if (isJsonObject(change) && change['$delete'] === true) items = items.filter((_, at) => at !== index);
    else if (index === -1) items.push(merge(undefined, change, place));
    else items[index] = merge(items[index], change, place);
  }
  return items;
}

const isSameItem = (item: unknown, change: unknown, listKey: string): boolean =>
  isJsonObject(item) &&
  isJsonObject(change) &&
  typeof change[listKey] === 'string' &&
  item[listKey] === change[listKey];
