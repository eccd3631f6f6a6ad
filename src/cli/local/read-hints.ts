/**
 * Hints at mistakes in a spec that no response contradicts: a page token in the wrong place reads like a list of one
 * page.
 */

import { valueAt } from '../../core/json/dotted-path.ts';
import { isJsonObject } from '../../core/json/is-json-object.ts';
import { canonicalCursor } from '../../core/source/cursor/cursor-value.ts';
import { concludesAbsence } from '../../core/spec/connection/concludes-absence.ts';
import type { HttpSettings } from '../../core/spec/schema/http-schema.ts';
import type { CursorType } from '../../core/spec/schema/incremental-schema.ts';
import type { Resource } from '../../core/spec/schema/spec-schema.ts';
import { counted } from '../output.ts';

interface ReadRecords {
  readonly pages: readonly (readonly unknown[])[];
  readonly rows: readonly unknown[];
  readonly isWhole: boolean;
  readonly http: Pick<HttpSettings, 'baseUrl' | 'query' | 'headers'>;
}

export function readHints(resource: Resource, { pages, rows, isWhole, http }: ReadRecords): readonly string[] {
  const withRecords = pages.filter(({ length }) => length > 0);
  return [
    ...(isWhole ? pageHints(resource, withRecords) : []),
    ...moveHints(resource, withRecords.length),
    ...cursorHints(resource, withRecords.flat()),
    ...windowHints(resource, http),
    ...orderHints(resource, withRecords.length),
    ...columnHints(resource, rows),
  ];
}

/** Such a count is more likely a limit of the API than the length of a list. */
const looksCut = (count: number): boolean => [10, 20, 25, 30].includes(count) || (count > 0 && count % 50 === 0);

function pageHints({ pagination, forEach }: Resource, pages: readonly (readonly unknown[])[]): readonly string[] {
  const count = pages.at(-1)?.length ?? 0;
  const isOnly = pages.length === 1;
  if (count === 0 || forEach.length > 0) return [];
  const { kind, size } = pagination;
  const last = `The ${isOnly ? 'only' : 'last'} page has exactly ${counted(count, 'record')}`;
  switch (kind) {
    case 'none':
      return isOnly && looksCut(count)
        ? [`${last}, which may be a limit of the API. If it has more, describe how its pages follow: pagination.`]
        : [];
    case 'cursor':
    case 'next_url':
      return count === size || (isOnly && looksCut(count))
        ? [
            `${last}, and pagination.next (${pagination.next}) finds nothing in its response. If it has more, correct it.`,
          ]
        : [];
    case 'link_header':
      return count === size || (isOnly && looksCut(count))
        ? [
            `${last}, and its response has no Link header with rel="next". If it has more, use another kind of pagination.`,
          ]
        : [];
    case 'page':
    case 'offset':
    case 'keyset':
      return isOnly && size !== undefined && count < size && looksCut(count)
        ? [
            `${last}, fewer than pagination.size (${size}), so it counts as the last. If that is the limit of the API, set size to ${count}.`,
          ]
        : [];
  }
}

/** Numbered pages without overlap: when a record leaves the list during the read, another one slips past unread. */
function moveHints(resource: Resource, pages: number): readonly string[] {
  const { pagination, deletes, incremental, forEach, job } = resource;
  if ((pagination.kind !== 'page' && pagination.kind !== 'offset') || job !== undefined) return [];
  const slips = 'A record that leaves the list while it is read lets another one slip past unread';
  if (pagination.stable) {
    if (deletes.mode !== 'full_scan' && deletes.mode !== 'endpoint') return [];
    const effect = deletes.mode === 'full_scan' ? ', which is then deleted' : '';
    return [
      `pagination.stable: true says that nothing leaves the list, but by deletes.mode: ${deletes.mode} records do. ${slips}${effect}. ` +
        'Remove stable, unless the API keeps the places of deleted records.',
    ];
  }
  // These reads overlap their pages, or look at page ends again.
  const isJoined = incremental !== undefined || deletes.mode === 'flag' || concludesAbsence(resource);
  if (isJoined || pages < 2 || forEach.length > 0) return [];
  if (pagination.kind !== 'offset' || pagination.overlap !== undefined) return [];
  return [
    `${slips}, until the next run. Set pagination.overlap: 1, which notices it, or stable: true if the list only grows at its end.`,
  ];
}

function cursorHints({ incremental }: Resource, records: readonly unknown[]): readonly string[] {
  if (incremental?.kind !== 'cursor' || incremental.cursor.field === undefined || records.length === 0) return [];
  const { cursor } = incremental;
  const { field = '', type } = cursor;
  const values = records
    .map((record) => valueAt(record, field))
    .filter((value) => value !== undefined && value !== null);
  const unreadable = values.filter((value) => canonicalCursor(value, cursor) === null);
  const effect = 'no later run can begin after them';
  if (values.length === 0)
    return [`No record has a value at "${field}" (incremental.cursor.field): ${effect}, every run reads all of them.`];
  const [first] = unreadable;
  if (first === undefined) return [];
  const other = cursorTypeOf(first);
  const advice = other === null || cursor.format !== undefined ? 'Correct type or format' : `Use type: ${other}`;
  return [
    `${unreadable.length} of ${counted(records.length, 'record')} ${records.length === 1 ? 'has' : 'have'} a value at "${field}" that is no ${type} ` +
      `(incremental.cursor.type): ${effect}. ${advice}.`,
  ];
}

function windowHints(
  { incremental, request, job, pagination }: Resource,
  { baseUrl, query, headers }: ReadRecords['http'],
): readonly string[] {
  if (incremental?.kind !== 'cursor' || incremental.clientFilter) return [];
  const texts = JSON.stringify([request, job, pagination, baseUrl, query, headers]);
  if (/\b(?:window|watermark)\b/.test(texts)) return [];
  return [
    'No request has window.from, so each run reads everything. Send it as the API takes it, such as in request.query. ' +
      'If the API cannot filter, set incremental.clientFilter: true.',
  ];
}

/** The watermark of such a read passes only what its first page has. */
function orderHints({ incremental }: Resource, pages: number): readonly string[] {
  if (incremental?.kind !== 'cursor' || incremental.order !== 'none' || pages < 2) return [];
  // Such a read begins at the start in any case.
  if (incremental.clientFilter) return [];
  const { type } = incremental.cursor;
  if ((type !== 'integer' && type !== 'string') || incremental.lookback !== 'PT0S') return [];
  return [
    'A record that changes during the read may be on a page already read, so the watermark goes no further than the greatest value of the ' +
      'first page, and the next run reads the rest again. Let the API sort by the cursor and set incremental.order: asc' +
      (type === 'integer' ? ', or set incremental.lookback to how far the numbers grow during a read.' : '.'),
  ];
}

/** Milliseconds since 1970 have twelve digits from 1973 on. */
function cursorTypeOf(value: unknown): CursorType | null {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number === 'number') return number >= 1e11 ? 'epoch_ms' : number >= 1e8 ? 'epoch_s' : 'integer';
  return canonicalCursor(value, { type: 'datetime' }) === null ? null : 'datetime';
}

function columnHints({ validate }: Resource, rows: readonly unknown[]): readonly string[] {
  const properties = validate?.schema['properties'];
  if (rows.length === 0 || !isJsonObject(properties)) return [];
  const empty = Object.keys(properties).filter((name) =>
    rows.every((row) => !isJsonObject(row) || row[name] === undefined),
  );
  return empty.length === 0
    ? []
    : [`No row has a value for ${empty.join(', ')}. If the API has one, correct its path in transform.`];
}
