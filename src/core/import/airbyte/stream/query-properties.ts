import { type Component, partOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import { refuse } from '../refusal.ts';

interface WithChunks {
  /** Absent when one request has all names. */
  chunks?: Readonly<Record<string, unknown>>;
}

/** The value of a parameter that lists names: all of them, or those of a chunk. */
export function readProperties(component: Component, draft: WithChunks): string {
  if (component.type !== 'QueryProperties') refuseType(component, 'a parameter is a text, or QueryProperties');
  if (valueOf(component, 'property_selector') !== undefined)
    refuse(pathAt(component, 'property_selector'), 'names are chosen by no schema of a destination');
  const names = namesOf(component, 'property_list');
  const always = namesOf(component, 'always_include_properties');
  const chunking = partOf(component, 'property_chunking');
  if (chunking === null) return [...always, ...names].join(',');
  if (draft.chunks !== undefined) refuse(component.path, 'a request has one list of names');
  const size = valueOf(chunking, 'property_limit');
  if (typeof size !== 'number' || !Number.isInteger(size) || size < 1)
    return refuse(pathAt(chunking, 'property_limit'), 'expected the number of names of a request');
  if (textOf(chunking, 'property_limit_type') === 'characters')
    refuse(pathAt(chunking, 'property_limit_type'), 'a limit of characters has no counterpart; write one of names');
  draft.chunks = { fields: names, always, size, join: ',', mergeBy: mergeKeys(chunking), onMissing: 'keep' };
  return '{{ chunk.fields }}';
}

function namesOf(component: Component, key: string): readonly string[] {
  const list = valueOf(component, key) ?? [];
  const isPlain = (name: unknown): name is string => typeof name === 'string' && !name.includes('{');
  if (!Array.isArray(list) || !list.every(isPlain) || (key === 'property_list' && list.length === 0))
    return refuse(pathAt(component, key), 'the names that an endpoint or an expression gives have no counterpart');
  return list;
}

function mergeKeys(chunking: Component): readonly string[] {
  const strategy = partOf(chunking, 'record_merge_strategy');
  if (strategy === null) return refuse(chunking.path, 'parts of a record are found by record_merge_strategy');
  if (strategy.type !== 'GroupByKeyMergeStrategy') refuseType(strategy, 'GroupByKeyMergeStrategy is converted');
  const key = valueOf(strategy, 'key');
  const keys: readonly unknown[] = Array.isArray(key) ? key : [key];
  return keys.map((name) =>
    typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)
      ? name
      : refuse(pathAt(strategy, 'key'), 'expected names of fields'),
  );
}

/** Refuses filters and maps: parts of a record are merged before anything else. */
export function refuseShapedParts(
  draft: WithChunks,
  records: { readonly map: string | null; readonly filter: string | null },
  path: string,
): void {
  if (draft.chunks !== undefined && (records.map !== null || records.filter !== null))
    refuse(path, 'the parts of a record are merged first; the manifest filters or shapes each part');
}
