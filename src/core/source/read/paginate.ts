import { AppError } from '../../errors.ts';
import { valueAt, valueAtNames } from '../../json/dotted-path.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { Evaluate } from '../request/evaluate.ts';
import { linkOf } from '../request/link-header.ts';
import { positionText } from './position-text.ts';

export interface ResponseRoots {
  readonly body: unknown;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly params: Readonly<Record<string, unknown>>;
  /** As requests carry it, or `null` on the first read. */
  readonly watermark: string | number | null;
}

export interface PageItems {
  readonly response: ResponseRoots;
  /** See `pagedElements`. */
  readonly items: readonly unknown[];
  readonly position: PagePosition;
  /** Items of the whole window by `response.total`, or `null` if unknown. */
  readonly total: number | null;
  /** See {@link Source.provesEnd}. */
  readonly provesEnd: boolean;
  /** Whether pages with offsets overlap by default. */
  readonly overlaps: boolean;
  readonly evaluate: Evaluate;
  /** Throws `egress_blocked` if the link leads away from the API. */
  resolveLink(link: string): string;
}

interface FollowingPage {
  readonly position: PagePosition;
  /** Pages of the window from `position` on by the API's count, or infinite if unknown. */
  readonly pagesLeft: number;
}

export interface NextPage extends Omit<FollowingPage, 'position'> {
  /** `null` after the last page. */
  readonly position: PagePosition | null;
  /** More follows behind an empty page that does not say where: its items are what the next request needs. */
  readonly isLost?: boolean;
}

export const firstPage = (pagination: Pagination): PagePosition => ({
  index: 1,
  number: pagination.kind === 'page' ? pagination.start : 1,
  offset: pagination.kind === 'offset' ? pagination.start : 0,
  cursor: null,
  url: null,
});

export const pageRoots = (pagination: Pagination, position: PagePosition) => ({
  ...sizeRoot(sizeOf(pagination, position)),
  number: position.number,
  offset: position.offset,
  ...(position.cursor === null ? {} : { cursor: position.cursor }),
});

const sizeRoot = (size: number | undefined) => (size === undefined ? {} : { size });

const sizeOf = (pagination: Pagination, position: PagePosition): number | undefined => position.size ?? pagination.size;

/**
 * A signal of the API (stopWhen, total, totalPages, the absence of a link) decides if the spec names one, because APIs
 * may cap or filter pages. Otherwise a short or empty page ends the read; where the end must be proved, one more page
 * is requested after a short one. Throws `page_limit` at `maxPages`, and `source_rejected` for a response that cannot
 * be followed.
 */
export async function nextPage(pagination: Pagination, page: PageItems): Promise<NextPage> {
  if (pagination.kind === 'none') return end;
  const isLast = await stopSignal(pagination, page);
  if (isLast === true) return end;
  const next = await following(pagination, { ...page, saysMore: isLast === false });
  if (next === null) return { ...end, isLost: pagination.kind === 'keyset' && isLast === false };
  if (page.position.index >= pagination.maxPages) {
    const advice = 'Use smaller windows, a narrower request, or raise pagination.maxPages.';
    throw new AppError('page_limit', `The API has more than ${pagination.maxPages} pages in one window. ${advice}`);
  }
  return next;
}

const end: NextPage = { position: null, pagesLeft: 0 };

/** Content that identifies a repeated page, or `null` if it has none (an empty page). */
export function pageIdentity(
  pagination: Pagination,
  page: Pick<PageItems, 'items'>,
  next: PagePosition | null,
): unknown {
  if (pagination.kind === 'page' || pagination.kind === 'offset') return page.items.length === 0 ? null : page.items;
  return next?.url ?? next?.cursor ?? null;
}

/** The result of `stopWhen`; `undefined` where a false one says nothing of an empty page. */
async function stopSignal(pagination: Pagination, page: PageItems): Promise<unknown> {
  const { stopWhen } = pagination;
  if (stopWhen === undefined) return undefined;
  const isLast = await ask(stopWhen, pagination, page);
  return isLast === false && isEmpty(page) && !isToldBy(stopWhen, page) ? undefined : isLast;
}

const mentioned = /\b(body|headers)((?:\.(?:\w+|"[^"]+"|`[^`]+`))+)/g;

/**
 * Whether a rule is about what the response says of its pages, and the response says it. The last item, an empty list
 * and the watermark are about items. A number that is not equal to another tells nothing: it may be behind it.
 */
function isToldBy(rule: string, { response }: PageItems): boolean {
  const paths = [...rule.matchAll(mentioned)];
  return (
    paths.length > 0 &&
    !/\b(?:last|watermark)\b(?!["`])/.test(rule.replace(mentioned, '')) &&
    paths.every(([, root, path = '']) => {
      const names = path
        .split('.')
        .slice(1)
        .map((name) => name.replace(/^["`]|["`]$/g, ''));
      const value = valueAtNames(root === 'body' ? response.body : response.headers, names.join('.'), names);
      if (Array.isArray(value)) return value.length > 0;
      return isNumeric(value) ? !/(?<![<>!:])=/.test(rule) : value !== undefined && value !== null;
    })
  );
}

const isNumeric = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && value !== '' && Number.isFinite(Number(value)));

/** A page, and whether `stopWhen` says that it is not the last. */
interface SignalledPage extends PageItems {
  readonly saysMore: boolean;
}

async function following(pagination: Pagination, page: SignalledPage): Promise<FollowingPage | null> {
  const { isProbe: _, overlap: _before, ...position } = page.position;
  const step = { ...position, index: position.index + 1, number: position.number + 1 };
  switch (pagination.kind) {
    case 'none':
      return null;
    case 'page': {
      const last = await numberOf(pagination.totalPages, pagination, page);
      if (last === null) return behindUncounted(pagination, page, step);
      const pagesLeft = last - (step.number - pagination.start);
      return pagesLeft <= 0 ? null : { position: step, pagesLeft };
    }
    case 'offset':
      return await behindOffset(pagination, page, step);
    case 'cursor':
      if (isEmptyEnd(pagination, page)) return null;
      return uncounted(withToken(step, await ask(pagination.next, pagination, page)));
    case 'next_url':
      if (isEmptyEnd(pagination, page)) return null;
      return uncounted(withLink(step, page, await ask(pagination.next, pagination, page)));
    case 'link_header':
      if (isEmptyEnd(pagination, page)) return null;
      return uncounted(withLink(step, page, linkOf(page.response.headers['link'], pagination.rel)));
    case 'keyset': {
      const next = page.items.length === 0 ? null : behindUncounted(pagination, page, step);
      return next && { ...next, position: { ...next.position, cursor: nextKey(pagination, page) } };
    }
  }
}

const isEmptyEnd = ({ emptyPage }: Pagination, page: SignalledPage): boolean =>
  isEmpty(page) && emptyPage === 'stop' && !page.saysMore;

/** Whether a page has at most what it repeats of the one before. */
const isEmpty = ({ items, position }: PageItems): boolean => items.length <= (position.overlap ?? 0);

/** Continues without a page count of the API; `null` after the last page. */
function behindUncounted(pagination: Pagination, page: SignalledPage, next: PagePosition): FollowingPage | null {
  if (countsMore(pagination, page)) return uncounted(next);
  if (isEmpty(page)) return isEmptyEnd(pagination, page) ? null : uncounted(next);
  if (!isShort(pagination, page)) return uncounted(next);
  return page.provesEnd ? uncounted({ ...next, isProbe: true }) : null;
}

async function behindOffset(
  pagination: Extract<Pagination, { kind: 'offset' }>,
  page: SignalledPage,
  step: PagePosition,
): Promise<FollowingPage | null> {
  const next = { ...step, ...nextOffset(pagination, page) };
  const total = await countOf(pagination, page);
  if (total === null) return behindUncounted(pagination, page, next);
  if (itemsUpTo(pagination, page) >= total) return null;
  const moved = next.offset - page.position.offset;
  const left = total - (next.overlap ?? 0) - (next.offset - pagination.start);
  const pagesLeft = Math.max(1, Math.ceil(left / moved));
  return { position: next, pagesLeft };
}

/** Whether `response.total` promises further items, if the place of the page in the list is known. */
function countsMore(pagination: Pagination, page: PageItems): boolean {
  const upTo = itemsUpTo(pagination, page);
  return page.total !== null && upTo !== null && upTo < page.total;
}

/** Items of the window up to the end of the page by its place, or `null` if unknown. */
function itemsUpTo(pagination: Extract<Pagination, { kind: 'offset' }>, page: PageItems): number;
function itemsUpTo(pagination: Pagination, page: PageItems): number | null;
function itemsUpTo(pagination: Pagination, page: PageItems): number | null {
  const { position, items } = page;
  const size = sizeOf(pagination, position);
  // An empty page counts as a full one, as the API may have left all items out.
  const filled = items.length === 0 ? (size ?? 0) : items.length;
  if (pagination.kind === 'offset') return position.offset - pagination.start + filled;
  if (pagination.kind !== 'page' || size === undefined) return null;
  return (position.number - pagination.start) * size + filled;
}

/** The API's own count of items in the window, or `null`. */
export async function countOf(pagination: Pagination, page: PageItems): Promise<number | null> {
  return pagination.kind === 'offset' ? await numberOf(pagination.total, pagination, page) : null;
}

const uncounted = (position: PagePosition | null): FollowingPage | null =>
  position === null ? null : { position, pagesLeft: Number.POSITIVE_INFINITY };

function ask(expression: string, pagination: Pagination, page: PageItems): Promise<unknown> {
  const roots = { ...page.response, page: pageRoots(pagination, page.position), last: page.items.at(-1) };
  return page.evaluate(expression, roots);
}

async function numberOf(
  expression: string | undefined,
  pagination: Pagination,
  page: PageItems,
): Promise<number | null> {
  if (expression === undefined) return null;
  const value = Number((await ask(expression, pagination, page)) ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

function isShort(pagination: Pagination, page: PageItems): boolean {
  const size = sizeOf(pagination, page.position);
  return pagination.stopWhen === undefined && size !== undefined && page.items.length < size;
}

function overlapBehind(
  { overlap = 0, stable, step }: Extract<Pagination, { kind: 'offset' }>,
  { count, size, overlaps }: { readonly count: number; readonly size: number; readonly overlaps: boolean },
): number {
  // Where the API has left some items out, the last item is not known by its place.
  const automatic = stable || !overlaps || (step === 'size' && count !== size) ? 0 : 1;
  // A page that is all overlap would be requested forever.
  return Math.max(0, Math.min(Math.max(overlap, automatic), count - 1));
}

function nextOffset(
  pagination: Extract<Pagination, { kind: 'offset' }>,
  { items, position, overlaps }: PageItems,
): Pick<PagePosition, 'offset' | 'overlap'> {
  const size = position.size ?? pagination.size;
  const count = items.length;
  const overlap = overlapBehind(pagination, { count, size, overlaps });
  const moved = pagination.step === 'size' || count === 0 ? size : count;
  return { offset: position.offset + moved - overlap, ...(overlap > 0 && { overlap }) };
}

function withToken(step: PagePosition, token: unknown): PagePosition | null {
  if (token === null || token === undefined || token === '') return null;
  if (typeof token === 'string') {
    return { ...step, cursor: positionText(token, 'The page token of a response', 'pagination.next') };
  }
  if (typeof token === 'number') return { ...step, cursor: token };
  throw new AppError(
    'source_rejected',
    `pagination.next returns ${kindOf(token)}; it must return text, a number or nothing.`,
  );
}

function withLink(step: PagePosition, page: PageItems, link: unknown): PagePosition | null {
  if (link === null || link === undefined || link === '') return null;
  if (typeof link === 'string') {
    const sound = positionText(link, 'The link to the next page', 'the pagination');
    return { ...step, url: page.resolveLink(sound) };
  }
  throw new AppError(
    'source_rejected',
    `pagination.next returns ${kindOf(link)}; it must return an address or nothing.`,
  );
}

/** Throws `source_rejected` if later items could have the same key and would be skipped. */
function nextKey(pagination: Extract<Pagination, { kind: 'keyset' }>, page: PageItems): string | number {
  const { field } = pagination;
  const key = keyOf(field, page.items.at(-1));
  const isRepeated = page.items.length > 1 && valueAt(page.items.at(-2), field) === key;
  if (!isShort(pagination, page) && (isRepeated || page.position.cursor === key)) {
    throw new AppError(
      'source_rejected',
      `Two items of a page have the same value of pagination.field "${field}", so items between two pages could be passed over. Use a field that is unique, or another pagination kind.`,
    );
  }
  return key;
}

function keyOf(field: string, item: unknown): string | number {
  const key = valueAt(item, field);
  if (typeof key === 'string')
    return positionText(key, `The value of "${field}" in the last item of a page`, 'pagination.field');
  if (typeof key === 'number') return key;
  const advice = 'Correct the field in the spec, or use another pagination kind.';
  throw new AppError('source_rejected', `pagination.field "${field}" is missing in the last item of a page. ${advice}`);
}

const kindOf = (value: unknown) =>
  Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : typeof value;
