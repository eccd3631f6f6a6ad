import { type Issue, issueIf } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { namesPartition } from '../connection/deleted-list.ts';
import { type Located, valuesAt } from './document-paths.ts';

export function checkPartitions(document: unknown): readonly Issue[] {
  const resources = valuesAt(document, 'resources.*').flatMap(({ path, value }) =>
    isJsonObject(value) ? [{ path, value }] : [],
  );
  const byKey = new Map(resources.map(({ value }) => [value['key'], value]));
  return resources.flatMap(({ path, value }) => [
    ...dimensionIssues({ path, value }, byKey),
    ...issueIf(
      readsChanged(value) && part(value, 'target')['mode'] === 'replace',
      `${path}.target.mode`,
      'a run that reads only changed partitions would miss all others: remove `select`',
    ),
    ...deleteIssues(path, value),
  ]);
}

interface LocatedResource extends Located {
  readonly value: JsonObject;
}

function dimensionIssues({ path, value }: LocatedResource, byKey: ReadonlyMap<unknown, JsonObject>): readonly Issue[] {
  const sources = ['forEach.*', 'forEach.*.union.*'].flatMap((pattern) => valuesAt(value, pattern));
  return sources.flatMap(({ path: at, value: dimension }) => {
    if (!isJsonObject(dimension) || dimension['resource'] === undefined) return [];
    const parent = byKey.get(dimension['resource']) ?? {};
    const place = `${path}.${at}`;
    return dimension['from'] === 'store'
      ? issueIf(
          !keepsState(parent),
          `${place}.from`,
          'the records of this resource are not stored: use `live`, or turn on its change detection',
        )
      : issueIf(dimension['select'] === 'changed', `${place}.select`, '`changed` needs `from: store`');
  });
}

function deleteIssues(path: string, resource: JsonObject): readonly Issue[] {
  const { mode, scope = 'resource' } = part(resource, 'deletes');
  if (mode === undefined || mode === 'none') return [];
  const at = `${path}.deletes`;
  const partial = readsChanged(resource);
  const replaced = part(resource, 'target')['mode'] === 'replace';
  return [
    ...issueIf(replaced, `${at}.mode`, 'a replaced table holds only what was read: remove `deletes`'),
    ...issueIf(
      !replaced && mode !== 'flag' && !keepsState(resource),
      `${at}.mode`,
      'this mode compares with known records: turn on change detection',
    ),
    ...issueIf(
      mode === 'full_scan' && scope === 'resource' && partial,
      `${at}.scope`,
      'a run that reads only changed partitions never sees all records: use `partition`',
    ),
    ...issueIf(
      mode === 'full_scan' && scope === 'partition' && valuesAt(resource, 'forEach.*.group').length > 0,
      `${at}.scope`,
      'a group whose values change is another partition, so nothing would compare with the old one: use `resource`',
    ),
    ...issueIf(
      mode === 'endpoint' &&
        valuesAt(resource, 'forEach.*.group').length > 0 &&
        namesPartition(part(resource, 'deletes')),
      `${at}.request`,
      'a group whose values change is another partition, so a record would stay in the old one: read a list of the whole resource, or a partition for each value',
    ),
  ];
}

const readsChanged = (resource: JsonObject): boolean =>
  valuesAt(resource, 'forEach.*.select').some(({ value }) => value === 'changed');

const keepsState = (resource: JsonObject): boolean =>
  part(resource, 'changeDetection')['mode'] !== 'none' && part(resource, 'target')['mode'] !== 'replace';

const part = (value: JsonObject, key: string): JsonObject => {
  const child = value[key];
  return isJsonObject(child) ? child : {};
};
