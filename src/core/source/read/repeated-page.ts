import { AppError } from '../../errors.ts';
import type { PagePosition, ReadPosition } from '../../model/read-position.ts';
import type { Source } from '../source.ts';
import type { Page } from './fetch-page.ts';
import { type PageGuard, pageKey } from './page-guard.ts';

type RecordsPage = Extract<Page, { kind: 'records' }>;

/**
 * `no`, or the window ends with the page: `proved` if its items were read before, so that nothing can follow.
 * `unproved` if it leads back to an earlier page, which says nothing about skipped items.
 */
export type Repetition = 'no' | 'proved' | 'unproved';

/** Checks the page and the next one, throwing `page_loop` unless a repetition is allowed. */
export function repetitionOf(
  page: RecordsPage,
  at: { readonly position: ReadPosition; readonly guard: PageGuard },
  source: Source,
): Repetition {
  const { kind, onRepeat } = source.resource.pagination;
  const { masked = asItIs } = source;
  const place = at.position.page;
  // The first address does not come from a response, but a link may lead back to it.
  const links = kind === 'next_url' || kind === 'link_header';
  if (links && place.index === 1) at.guard.repeats(pageKey(masked(page.url)));
  if (page.identity === null) return 'no';
  if (isScroll(page, place, source)) return scrolled(page, at, source);
  if (!at.guard.repeats(pageKey(maskedToken(page.identity, masked)))) return 'no';
  const isNumbered = kind === 'page' || kind === 'offset';
  if (place.isProbe) return 'proved';
  if (onRepeat === 'stop') return isNumbered ? 'proved' : 'unproved';
  throw loop(place);
}

/** Whether the API has one token for all pages, so that a page cannot be requested again. */
export function isScroll(
  page: RecordsPage,
  place: PagePosition,
  { resource: { pagination } }: Pick<Source, 'resource'>,
): boolean {
  const { identity } = page;
  const mayBe = pagination.kind === 'cursor' || pagination.onRepeat === 'stop';
  return mayBe && identity !== null && !Array.isArray(identity) && namesItself(page, place);
}

/** Whether the next page has the token or address of this one. */
const namesItself = ({ next, url }: RecordsPage, { index, ...place }: PagePosition): boolean =>
  next !== null && (next.url === null ? index > 1 && next.cursor === place.cursor : next.url === (place.url ?? url));

/** An API may use one token for all pages: it has ended on a page that is empty or repeats the one before. */
function scrolled(
  page: RecordsPage,
  { position, guard }: { readonly position: ReadPosition; readonly guard: PageGuard },
  { resource, masked = asItIs }: Pick<Source, 'resource' | 'masked'>,
): Repetition {
  const { onRepeat } = resource.pagination;
  if (page.count === 0) return 'proved';
  if (!guard.repeats(pageKey([maskedToken(page.identity, masked), page.records]))) return 'no';
  if (onRepeat === 'stop') return 'proved';
  throw loop(position.page);
}

const asItIs = (text: string): string => text;

/** Removes secrets from a token or address; a page is known by all of its records. */
const maskedToken = (identity: unknown, masked: (text: string) => string): unknown =>
  typeof identity === 'string' ? masked(identity) : identity;

function loop({ index }: PagePosition): AppError {
  const message = `The API returned a page of this window again after page ${index}.`;
  const advice = 'Correct the pagination, or set pagination.onRepeat to "stop" if its last page points to itself.';
  return new AppError('page_loop', `${message} ${advice}`);
}
