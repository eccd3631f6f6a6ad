import { AppError } from '../../errors.ts';
import { valueAt } from '../../json/dotted-path.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { Evaluate } from '../request/evaluate.ts';
import { linkOf } from '../request/link-header.ts';
import { positionText } from './position-text.ts';

/** A decoded response as expressions see it. */
export interface ResponseRoots {
  readonly body: unknown;
  /** The headers, their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly params: Readonly<Record<string, unknown>>;
  /** The watermark as requests carry it; null on the first read. */
  readonly watermark: string | number | null;
}

/** A page that was read, before `map` and filters. */
export interface PageItems {
  readonly response: ResponseRoots;
  readonly items: readonly unknown[];
  readonly position: PagePosition;
  readonly evaluate: Evaluate;
  /** The absolute address of a link in the response; throws `egress_blocked` when it leads away from the API. */
  resolveLink(link: string): string;
}

/** The position where a window continues. */
export interface NextPage {
  readonly position: PagePosition;
  /** Pages that the window has from `position` on, by the API's count; infinite when it does not say. */
  readonly pagesLeft: number;
}

/** The first page of a window. */
export const firstPage = (pagination: Pagination): PagePosition => ({
  index: 1,
  number: pagination.kind === 'page' ? pagination.start : 1,
  offset: pagination.kind === 'offset' ? pagination.start : 0,
  cursor: null,
  url: null,
});

/** What `page` is in expressions and templates. */
export const pageRoots = (pagination: Pagination, position: PagePosition) => ({
  ...sizeRoot(sizeOf(pagination, position)),
  number: position.number,
  offset: position.offset,
  ...(position.cursor === null ? {} : { cursor: position.cursor }),
});

const sizeRoot = (size: number | undefined) => (size === undefined ? {} : { size });

/** Items per page; undefined: the spec does not say. */
const sizeOf = (pagination: Pagination, position: PagePosition): number | undefined => position.size ?? pagination.size;

/**
 * The page after this one; null when it was the last.
 *
 * A signal of the API (stopWhen, total, totalPages, the absence of a link) decides where the spec names one; only
 * without it does a short page end the read, because APIs may cap or filter pages below the requested size. Throws
 * `page_limit` at `maxPages`, `source_rejected` for a response that cannot be followed.
 */
export async function nextPage(pagination: Pagination, page: PageItems): Promise<NextPage | null> {
  if (pagination.kind === 'none' || (await saysStop(pagination, page))) return null;
  if (page.items.length === 0 && pagination.emptyPage === 'stop') return null;
  const next = await following(pagination, page);
  if (next !== null && page.position.index >= pagination.maxPages) {
    const advice = 'Use smaller windows, a narrower request, or raise pagination.maxPages.';
    throw new AppError('page_limit', `The API has more than ${pagination.maxPages} pages in one window. ${advice}`);
  }
  return next;
}

/** The content that identifies a repeated page; null when it has none (an empty page). */
export function pageIdentity(
  pagination: Pagination,
  page: Pick<PageItems, 'items'>,
  next: PagePosition | null,
): unknown {
  if (pagination.kind === 'page' || pagination.kind === 'offset') return page.items.length === 0 ? null : page.items;
  return next?.url ?? next?.cursor ?? null;
}

async function saysStop(pagination: Pagination, page: PageItems): Promise<boolean> {
  return pagination.stopWhen !== undefined && (await ask(pagination.stopWhen, pagination, page)) === true;
}

async function following(pagination: Pagination, page: PageItems): Promise<NextPage | null> {
  const { position } = page;
  const step = { ...position, index: position.index + 1, number: position.number + 1 };
  switch (pagination.kind) {
    case 'none':
      return null;
    case 'page': {
      const last = await count(pagination.totalPages, pagination, page);
      if (last === null) return isShort(pagination, page) ? null : uncounted(step);
      const pagesLeft = last - (step.number - pagination.start);
      return pagesLeft <= 0 ? null : { position: step, pagesLeft };
    }
    case 'offset': {
      const offset = nextOffset(pagination, page);
      const total = await count(pagination.total, pagination, page);
      // The overlap is no progress: the end is where the items end, not where the next request begins.
      const read = position.offset + page.items.length;
      const next = { ...step, offset };
      if (total === null) return isShort(pagination, page) ? null : uncounted(next);
      if (read >= total) return null;
      const moved = offset - position.offset;
      return {
        position: next,
        pagesLeft: Math.max(1, Math.ceil((total - (pagination.overlap ?? 0) - offset) / moved)),
      };
    }
    case 'cursor':
      return uncounted(withToken(step, await ask(pagination.next, pagination, page)));
    case 'next_url':
      return uncounted(withLink(step, page, await ask(pagination.next, pagination, page)));
    case 'link_header':
      return uncounted(withLink(step, page, linkOf(page.response.headers['link'], pagination.rel)));
    case 'keyset':
      if (isShort(pagination, page) || page.items.length === 0) return null;
      return uncounted({ ...step, cursor: lastKey(pagination.field, page.items) });
  }
}

/** The API does not say how many pages follow. */
const uncounted = (position: PagePosition | null): NextPage | null =>
  position === null ? null : { position, pagesLeft: Number.POSITIVE_INFINITY };

function ask(expression: string, pagination: Pagination, page: PageItems): Promise<unknown> {
  const roots = { ...page.response, page: pageRoots(pagination, page.position), last: page.items.at(-1) };
  return page.evaluate(expression, roots);
}

/** A number the API gives; null when the spec or the response has none. */
async function count(expression: string | undefined, pagination: Pagination, page: PageItems): Promise<number | null> {
  if (expression === undefined) return null;
  const value = Number((await ask(expression, pagination, page)) ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

function isShort(pagination: Pagination, page: PageItems): boolean {
  const size = sizeOf(pagination, page.position);
  return pagination.stopWhen === undefined && size !== undefined && page.items.length < size;
}

function nextOffset(pagination: Extract<Pagination, { kind: 'offset' }>, page: PageItems): number {
  const { step, overlap = 0 } = pagination;
  const size = page.position.size ?? pagination.size;
  const moved = (step === 'size' ? size : page.items.length) - overlap;
  // A page that is all overlap would be requested again without end.
  return page.position.offset + Math.max(1, moved);
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

function lastKey(field: string, items: readonly unknown[]): string | number {
  const key = valueAt(items.at(-1), field);
  if (typeof key === 'string')
    return positionText(key, `The value of "${field}" in the last item of a page`, 'pagination.field');
  if (typeof key === 'number') return key;
  const advice = 'Correct the field in the spec, or use another pagination kind.';
  throw new AppError('source_rejected', `pagination.field "${field}" is missing in the last item of a page. ${advice}`);
}

const kindOf = (value: unknown) =>
  Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : typeof value;
