import { AppError } from '../../errors.ts';
import type { ReadPosition } from '../../model/read-position.ts';
import type { Source } from '../source.ts';
import type { Page } from './fetch-page.ts';
import { type PageGuard, pageKey } from './page-guard.ts';

/** Whether the page, or the next one, was read before in this window. Throws `page_loop` unless that is allowed. */
export function isRepeated(
  page: Extract<Page, { kind: 'records' }>,
  at: { readonly position: ReadPosition; readonly guard: PageGuard },
  source: Source,
): boolean {
  const { kind, onRepeat } = source.resource.pagination;
  // The first address is not a token that a response gave, but a link may lead back to it.
  const links = kind === 'next_url' || kind === 'link_header';
  if (links && at.position.page.index === 1) at.guard.repeats(pageKey(page.url));
  if (page.identity === null || !at.guard.repeats(pageKey(page.identity))) return false;
  if (onRepeat === 'stop') return true;
  const message = `The API returned a page of this window again after page ${at.position.page.index}.`;
  const advice = 'Correct the pagination, or set pagination.onRepeat to "stop" if its last page points to itself.';
  throw new AppError('page_loop', `${message} ${advice}`);
}
