/** Reads a decoded response: whether it is a success, its records, and where the read continues. */

import { AppError } from '../../errors.ts';
import { valueAt } from '../../json/dotted-path.ts';
import { externalIdOf } from '../../model/external-id.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { Evaluate } from '../request/evaluate.ts';
import { loggingBlocked } from '../request/log-blocked.ts';
import type { RequestRoots } from '../request/request.ts';
import type { Source } from '../source.ts';
import { jsonOf } from './page-guard.ts';
import { countOf, nextPage, type PageItems, pageIdentity, pageRoots, type ResponseRoots } from './paginate.ts';
import { positionText } from './position-text.ts';
import { type SelectedItems, shapeRecords } from './select-records.ts';

export interface PageRecords {
  readonly kind: 'records';
  /** After `map` and `addFields`, in the API's order. */
  readonly records: readonly unknown[];
  /** `null` for the last page of its window. */
  readonly next: PagePosition | null;
  /** More follows, but the page does not say where. */
  readonly isCutOff: boolean;
  /** Pages of the window from `next` on by the API's count, or infinite if unknown. */
  readonly pagesLeft: number;
  /** Number of elements that the API pages by. */
  readonly count: number;
  /** Key of the item at an index below `count`, or its content if it has none. */
  keyAt(index: number): string;
  /** Whether each item is one record. */
  readonly isFlat: boolean;
  /** The API's count of the whole window, or `null` if unknown. */
  readonly counted: number | null;
  /** Content by which a repeated page is recognized, or `null`. */
  readonly identity: unknown;
  /** Where the next token read starts, or `null` if the response has none. */
  readonly token: string | null;
  /** The body lacked an expected list (`recordsMissing: empty`). */
  readonly recordsMissing: boolean;
}

interface SelectedResponse extends Pick<PageItems, 'evaluate' | 'resolveLink'> {
  readonly roots: ResponseRoots;
  readonly selected: SelectedItems;
  readonly elements: readonly unknown[];
}

/** Throws `page_limit`, `source_rejected`, `egress_blocked` and `spec_invalid`. */
export async function readRecords(
  source: Source,
  page: RequestRoots & { readonly position: PagePosition; readonly isAgain?: true },
  read: SelectedResponse,
): Promise<PageRecords> {
  const { roots, selected, elements, resolveLink, evaluate } = read;
  const { resource, params, each, lookups, run, evaluator } = source;
  const { response: rules, pagination, incremental } = resource;
  const { items, missing } = selected;
  const total = await totalOf(rules.total, roots, evaluate);
  const provesEnd = source.provesEnd === true || (source.provesEnd === 'again' && page.isAgain === true);
  const { position } = page;
  refuseLarger(pagination, position, elements);
  const overlaps = (provesEnd || incremental !== undefined) && resource.job === undefined;
  const paged = { response: roots, items: elements, position, total, provesEnd, overlaps, evaluate, resolveLink };
  const next = await loggingBlocked(source.client, resource.request.method, () => nextPage(pagination, paged));
  const now = new Date(run.startedAt);
  const records = await shapeRecords(items, rules, {
    roots: { params, each, lookups, run },
    request: { window: page.window, watermark: page.watermark },
    evaluator,
    evaluate,
    now,
  });
  const isFlat = elements === items;
  const last = { page: pageRoots(pagination, page.position), last: elements.at(-1) };
  const token = incremental?.kind === 'token' ? await evaluate(incremental.next, { ...roots, ...last }) : null;
  return {
    kind: 'records',
    records,
    next: next.position,
    isCutOff: next.isLost === true,
    pagesLeft: next.pagesLeft,
    count: elements.length,
    keyAt: (index) => (isFlat ? keyOf(records[index], source) : jsonOf(elements[index])),
    isFlat,
    counted: (await countOf(pagination, paged)) ?? total,
    identity: pageIdentity(pagination, { items: elements }, next.position),
    token: tokenText(token),
    recordsMissing: missing,
  };
}

function keyOf(record: unknown, source: Source): string {
  const { incremental } = source.resource;
  const key = idOf(record, source);
  if (incremental?.kind !== 'cursor' || incremental.order !== 'asc') return key;
  const { field } = incremental.cursor;
  // A record with another cursor value has another place in an ascending list.
  return field === undefined ? key : jsonOf([key, valueAt(record, field)]);
}

function idOf(record: unknown, { resource: { primaryKey = [] }, itemKey }: Source): string {
  const named = itemKey?.(record);
  if (typeof named === 'string' || typeof named === 'number') return jsonOf(named);
  const id = primaryKey.length === 0 ? null : externalIdOf(record, primaryKey);
  return id?.ok ? id.externalId : jsonOf(record);
}

/** Throws `source_rejected` if the API ignores a smaller size, to which page numbers were converted. */
function refuseLarger(pagination: Pagination, { size }: PagePosition, elements: readonly unknown[]): void {
  const isConverted = pagination.kind === 'page' || (pagination.kind === 'offset' && pagination.step === 'size');
  if (!isConverted || size === undefined || elements.length <= size) return;
  throw new AppError(
    'source_rejected',
    `The API gave ${elements.length} items where ${size} were asked for after a page had failed: it does not keep to page.size, so pages would be passed over. Correct where the request sends page.size, or remove pagination.shrink.`,
  );
}

function tokenText(token: unknown): string | null {
  if (typeof token === 'number') return String(token);
  // An empty token would request everything and look like an empty response.
  if (token === '') return null;
  return typeof token === 'string' ? positionText(token, 'The token for the next read', 'incremental.next') : null;
}

async function totalOf(
  expression: string | undefined,
  roots: ResponseRoots,
  evaluate: Evaluate,
): Promise<number | null> {
  if (expression === undefined) return null;
  const total = Number((await evaluate(expression, { ...roots }, { seesBodyFields: true })) ?? Number.NaN);
  return Number.isFinite(total) ? total : null;
}
