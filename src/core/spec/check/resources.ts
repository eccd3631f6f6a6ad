import { type Issue, issueIf, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { isTableName } from '../../json/property-names.ts';
import { durationMs } from '../schema/duration.ts';
import { defaultTable } from '../schema/resource-schema.ts';
import { valuesAt } from './document-paths.ts';

export function checkResources(document: unknown): readonly Issue[] {
  return valuesAt(document, 'resources.*').flatMap(({ path, value }) =>
    isJsonObject(value) ? resourceRules.flatMap((rule) => rule(value, path)) : [],
  );
}

type ResourceRule = (resource: Readonly<Record<string, unknown>>, path: string) => readonly Issue[];

const resourceRules: readonly ResourceRule[] = [
  fullReadOnly,
  cursorRules,
  initialRule,
  changeFieldRule,
  forEachRules,
  enrichRules,
  starRule,
  tableRule,
];

/** Deletes by absence, and a replaced table, need a full read. */
function fullReadOnly(resource: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  if (resource['incremental'] === undefined) return [];
  const { deletes, target } = { deletes: part(resource, 'deletes'), target: part(resource, 'target') };
  return [
    ...issueIf(
      deletes['mode'] === 'full_scan',
      `${path}.deletes.mode`,
      'full_scan needs a full read: remove `incremental`',
    ),
    ...issueIf(target['mode'] === 'replace', `${path}.target.mode`, 'replace needs a full read: remove `incremental`'),
  ];
}

function cursorRules(resource: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  const incremental = part(resource, 'incremental');
  if (incremental['kind'] !== 'cursor') return [];
  const { window, resultCap, cursor, lookback } = incremental;
  const at = `${path}.incremental`;
  const total = part(resource, 'response')['total'];
  const size = part(incremental, 'window')['size'];
  return [
    ...issueIf(
      resultCap !== undefined && window === undefined,
      `${at}.resultCap`,
      'resultCap needs `window`, because it splits the window',
    ),
    ...issueIf(
      resultCap !== undefined && window !== undefined && total === undefined,
      `${at}.resultCap`,
      'resultCap needs `response.total`',
    ),
    ...issueIf(
      isJsonObject(cursor) && cursor['field'] === undefined && window === undefined,
      `${at}.cursor.field`,
      '`field` is required unless `window` is given',
    ),
    ...issueIf(
      typeof lookback === 'number' && isJsonObject(cursor) && cursor['type'] !== 'integer',
      `${at}.lookback`,
      'a number needs a cursor of type `integer`; expected a duration such as PT10M',
    ),
    ...issueIf(typeof size === 'string' && durationMs(size) === 0, `${at}.window.size`, 'expected more than zero'),
  ];
}

/** `now-P30D` is a special form; any other text is a template. */
function initialRule(resource: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  const { initial } = part(resource, 'incremental');
  const issue = typeof initial === 'string' && initial.startsWith('now') && relativeStartMs(initial) === null;
  return issueIf(issue, `${path}.incremental.initial`, 'expected now-<Duration>, such as now-P30D');
}

/** Milliseconds before now that `now-<Duration>` means; `null` for any other text. */
const relativeStartMs = (initial: string): number | null =>
  initial.startsWith('now-') ? durationMs(initial.slice('now-'.length)) : null;

function changeFieldRule(resource: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  const { mode, field } = part(resource, 'changeDetection');
  const issue = mode === 'field' && field === undefined;
  return issueIf(issue, `${path}.changeDetection.field`, '`field` is required with mode field');
}

function forEachRules(resource: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  return valuesAt(resource, 'forEach.*').flatMap(({ path: at, value }) => {
    if (!isJsonObject(value)) return [];
    return [
      ...sourceRule(value, `${path}.${at}`, ['values', 'resource', 'union']),
      ...valuesAt(value, 'union.*').flatMap((source) =>
        isJsonObject(source.value)
          ? sourceRule(source.value, `${path}.${at}.${source.path}`, ['values', 'resource'])
          : [],
      ),
      ...groupRules(value, `${path}.${at}`),
    ];
  });
}

/** Partitions come from exactly one place, and only a record has fields. */
function sourceRule(
  source: Readonly<Record<string, unknown>>,
  path: string,
  places: readonly string[],
): readonly Issue[] {
  const given = places.filter((key) => source[key] !== undefined);
  const listed = places
    .map((key) => `\`${key}\``)
    .join(', ')
    .replace(/, ([^,]*)$/, ' and $1');
  return [
    ...issueIf(given.length !== 1, path, `expected exactly one of ${listed}`),
    ...issueIf(
      source['value'] !== undefined && source['resource'] === undefined && given.length === 1,
      `${path}.value`,
      '`value` is the field of a record: it needs `resource`',
    ),
  ];
}

function groupRules(dimension: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  const { group, union, select } = dimension;
  const single = isJsonObject(group) || union !== undefined;
  const records = [{ path: '', value: dimension }, ...valuesAt(dimension, 'union.*')].filter(
    (source) => isJsonObject(source.value) && source.value['resource'] !== undefined,
  );
  return [
    ...issueIf(
      single && select === 'changed',
      `${path}.select`,
      '`changed` needs a partition for each parent: remove `group` and `union`',
    ),
    ...(isJsonObject(group) ? records : [])
      .filter(({ value }) => isJsonObject(value) && value['value'] === undefined)
      .map(({ path: at }) =>
        schemaIssue(`${at === '' ? path : `${path}.${at}`}.value`, 'a group of records needs `value`'),
      ),
  ];
}

function enrichRules(resource: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  return valuesAt(resource, 'enrich.*').flatMap(({ path: at, value }) => {
    if (!isJsonObject(value) || value['key'] !== undefined) return [];
    const cached = value['cache'] !== undefined && part(value, 'cache')['scope'] !== 'none';
    const needed = value['batch'] !== undefined || cached;
    return issueIf(needed, `${path}.${at}.key`, '`key` is required with `batch` and with `cache`');
  });
}

/** In XML a list of one element is the element itself: a `*` would take it apart. */
function starRule(resource: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  if (part(resource, 'response')['decoder'] !== 'xml') return [];
  return ['response', 'deletes'].flatMap((name) => {
    const { records } = part(resource, name);
    const has = typeof records === 'string' && records.split('.').includes('*');
    return issueIf(
      has,
      `${path}.${name}.records`,
      'with `decoder: xml` a list of one is no list: use `map` instead of `*`',
    );
  });
}

/** A table named after its resource must follow the table rules too. */
function tableRule(resource: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  const { key } = resource;
  if (typeof key !== 'string' || part(resource, 'target')['table'] !== undefined) return [];
  const issue = /^[A-Za-z]/.test(key) && key.length <= 63 && !isTableName(defaultTable(key));
  return issueIf(issue, `${path}.key`, `\`${defaultTable(key)}\` is not an allowed table name; set \`target.table\``);
}

const part = (value: Readonly<Record<string, unknown>>, key: string): Readonly<Record<string, unknown>> => {
  const child = value[key];
  return isJsonObject(child) ? child : {};
};
