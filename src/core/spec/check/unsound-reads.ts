/**
 * Reads that lose records without an error. Versions published before such a rule still run, because their data is
 * better than none.
 */
import { type Issue, issueIf } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { valuesAt } from './document-paths.ts';

export const checkUnsoundReads = (document: unknown): readonly Issue[] =>
  valuesAt(document, 'resources.*').flatMap(({ path, value }) =>
    isJsonObject(value)
      ? [keysetRule, chunksRule, limitRule, newestFirstRule].flatMap((rule) => rule(value, path))
      : [],
  );

/** Items that share the key of a page's last item would be skipped. */
function keysetRule(resource: JsonObject, path: string): readonly Issue[] {
  const { kind, field, unique } = partOf(resource, 'pagination');
  const { primaryKey } = resource;
  const isKey = Array.isArray(primaryKey) ? primaryKey.length === 1 && primaryKey[0] === field : primaryKey === field;
  return issueIf(
    kind === 'keyset' && unique !== true && !isKey,
    `${path}.pagination.field`,
    'items that share the last value of a page would be passed over: use the primary key, or say `unique: true` if no two items have the same value',
  );
}

/** Only the first chunk tells where the next page is. */
function chunksRule(resource: JsonObject, path: string): readonly Issue[] {
  const { kind = 'none' } = partOf(resource, 'pagination');
  return issueIf(
    partOf(resource, 'fieldChunks')['onMissing'] === 'keep' && kind !== 'none',
    `${path}.fieldChunks.onMissing`,
    '`keep` lets the first chunk lack records, and only that one says where the next page is: use `fail`, or pagination `none`',
  );
}

/**
 * A limited run continues from its watermark, which only an ascending order moves before the end. Page numbers do not
 * move it, because they show only at the end whether the list moved. A first read moves it only if no record without a
 * cursor value can come last.
 */
function limitRule(resource: JsonObject, path: string): readonly Issue[] {
  const incremental = partOf(resource, 'incremental');
  const { kind, order, window, initial, clientFilter } = incremental;
  const { missing = 'include' } = partOf(incremental, 'cursor');
  const tellsAtEnd = tellsMovesAtEnd(resource);
  const advances = kind === 'cursor' && ((order === 'asc' && !tellsAtEnd) || window !== undefined);
  const advancesAtFirst =
    window !== undefined || initial !== undefined || clientFilter === true || missing !== 'include';
  const isLimited = partOf(resource, 'limits')['maxRecords'] !== undefined;
  const again = 'each run would read the same first records and end there';
  const advice = advances
    ? 'name `incremental.initial`, or set `incremental.cursor.missing` to `exclude` or `fail`, since records without a cursor value may come last'
    : tellsAtEnd && order === 'asc'
      ? 'pages with numbers claim at their end only: say `pagination.stable: true` if the list only grows at its end, or use `incremental.window`'
      : 'use an ascending cursor (`incremental.order: asc`) or `incremental.window`';
  return issueIf(
    isLimited && !(advances && advancesAtFirst),
    `${path}.limits.maxRecords`,
    `${again}: ${advice}, or remove the limit`,
  );
}

/** A read that ends at old records never reaches new ones without a cursor value that come last. */
function newestFirstRule(resource: JsonObject, path: string): readonly Issue[] {
  const incremental = partOf(resource, 'incremental');
  const { kind, order, clientFilter } = incremental;
  const { missing = 'include' } = partOf(incremental, 'cursor');
  return issueIf(
    kind === 'cursor' && order === 'desc' && clientFilter === true && missing === 'include',
    `${path}.incremental.cursor.missing`,
    'the read ends below the watermark, so records without a cursor value that come last would never be read: use `exclude` or `fail`, or `order: none`, which reads the whole list',
  );
}

/** Whether a moved list shows only behind the last page. */
function tellsMovesAtEnd(resource: JsonObject): boolean {
  const { kind, stable, step, overlap = 0 } = partOf(resource, 'pagination');
  const isNumbered = kind === 'page' || (kind === 'offset' && step === 'size' && overlap === 0);
  return isNumbered && stable !== true && resource['job'] === undefined;
}

function partOf(value: JsonObject, key: string): JsonObject {
  const child = value[key];
  return isJsonObject(child) ? child : {};
}
