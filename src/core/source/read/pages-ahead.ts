/**
 * Fetches pages before the pages in front of them are read. A page number or an offset follows from the one before it,
 * not from a response, so several requests can be concurrent and the latency is paid once for all. A token or a link
 * does follow from a response, but can be found in it early (peek-next-page.ts): the next page is then requested at
 * once, and logging, decoding and reading this one costs no time.
 *
 * Every prefetched page is a guess. It counts only if, when its turn comes, the page before it leads to exactly the
 * same request; its result, failures included, is not read before. So a read gives the same as one page at a time: the
 * same order, end, positions and errors. A guess can still affect two things:
 *
 * - Requests. A wrong guess wastes one. There are no wrong guesses with a count given by the API, nor with a token,
 * unless a body has several lists; otherwise there are at most half as many guesses as pages read in the window. Each
 * miss delays the next guess.
 *
 * - Timing. Of concurrent pages the API may respond to a later one first. If a record is then inserted at the head
 * of the list, the pages behind it move back by one, and the record between two responses is in neither. But then some
 * page before repeats the end of the one before it, as the first page of a window is always requested alone: all
 * prefetched pages are then dropped and requested again. Pages that overlap show by themselves whether they follow.
 */

import { isDeepStrictEqual } from 'node:util';
import type { PagePosition } from '../../model/read-position.ts';
import { durableWaitMs, ThrottledError } from '../../model/throttled.ts';
import type { Source } from '../source.ts';
import { rateLimitsOf } from './budget-left.ts';
import type { FetchOptions, Page, PageRequest } from './fetch-page.ts';
import { createGuesses, type Guess, type Guesses } from './guesses.ts';
import { hasLeft } from './look-ahead.ts';
import { heavyBytes } from './page-size.ts';

/** The pages of one read. Disposing ends the requests in progress. */
export interface PagesAhead extends AsyncDisposable {
  /** The page of `request`: the prefetched one, or else requested now. Throws what fetching throws. */
  take(request: PageRequest): Promise<Page>;
  /** Called when `page` was read and its window continues at `next`: requests pages from there on. */
  prefetch(read: { readonly request: PageRequest; readonly page: RecordsPage; readonly next: PagePosition }): void;
  /** Drops the prefetched pages: the window has ended. */
  drop(): void;
}

type RecordsPage = Extract<Page, { kind: 'records' }>;

/** How pages are requested. */
export interface PagesAheadOptions {
  readonly fetch: (request: PageRequest, options: Omit<FetchOptions, 'evaluate'>) => Promise<Page>;
  readonly signal: AbortSignal;
  /** Checked before pages are prefetched; false: one by one for now. */
  readonly mayFetchSeveral: () => boolean;
  /** Whether the page after the current one would be requested as soon as the current one is read. */
  readonly hasRoom: () => boolean;
  /** Checked last, before a page is prefetched whose position a response gave; true: it is not. */
  readonly isEnough: () => boolean;
}

/** Pages of one window in progress or waiting for their turn. */
const pagesMax = 8;

/**
 * The seconds whose tokens of a bucket are requested ahead: more pages would only wait for tokens that other runs could
 * use.
 */
const bucketSeconds = 2;

/** Prefetches the pages of a read. */
export function createPagesAhead(source: Source, options: PagesAheadOptions): PagesAhead {
  const { fetch, signal, mayFetchSeveral, hasRoom, isEnough } = options;
  const width = widthOf(source);
  const now = (): number => source.now().getTime();
  const guesses = createGuesses({ ask: (request, until) => ask(request, until), signal, now });
  const prefetchNumbered = createNumberedPrefetch(source, { guesses, width, mayFetchSeveral });
  /** The current request; null: the first page is not requested yet. */
  let current: PageRequest | null = null;
  /** When its turn came. */
  let turnAt = 0;

  const ask = (request: PageRequest, until: AbortSignal): Promise<Page> =>
    fetch(request, {
      signal: until,
      async onResponse(next) {
        if (request !== current || width > 1) return;
        // An earlier response to this request was not its last: pages that it led to may be older than this page.
        guesses.drop();
        if (guesses.most() < 1 || !mayFetchSeveral() || !hasRoom()) return;
        const position = await next();
        if (position === null || isEnough()) return;
        guesses.drop();
        guesses.add({ ...request, position });
        await hasLeft(performance.now() - turnAt);
      },
    });

  return {
    async take(request) {
      turnAt = performance.now();
      const guess = guesses.take(request);
      if (guess !== null) {
        current = guess.request;
        const page = await pageUnlessThrottled(guess, now);
        if (page !== null) return page;
      }
      current = request;
      return await ask(request, signal);
    },
    prefetch(read) {
      const expected = guesses.first()?.position;
      guesses.noteRead();
      if (expected && !isDeepStrictEqual(expected, read.next)) guesses.miss();
      if (width > 1) prefetchNumbered(read);
    },
    drop() {
      // With numbered pages some prefetched ones are always past the end.
      if (width < 2 && guesses.count() > 0) guesses.miss();
      else guesses.drop();
    },
    async [Symbol.asyncDispose]() {
      guesses.drop();
      await guesses.ended();
    },
  };
}

/**
 * The prefetched page; null: the API throttled it, and the rest of the wait is short. The page is then requested again,
 * and the client waits as it would without a prefetch. Throws what fetching threw.
 */
async function pageUnlessThrottled(guess: Guess, now: () => number): Promise<Page | null> {
  try {
    return await guess.page;
  } catch (error) {
    if (!(error instanceof ThrottledError)) throw error;
    const leftMs = error.waitMs - (now() - ((await guess.failedAt) ?? 0));
    if (leftMs > durableWaitMs) throw new ThrottledError(leftMs, { reason: error.reason });
    return null;
  }
}

/** Guesses the pages behind one that was read, by their numbers: up to `width` at once. */
function createNumberedPrefetch(
  source: Source,
  {
    guesses,
    width,
    mayFetchSeveral,
  }: Pick<PagesAheadOptions, 'mayFetchSeveral'> & { readonly guesses: Guesses; readonly width: number },
): PagesAhead['prefetch'] {
  let bodyBytesMax = 0;
  let itemsBefore: readonly unknown[] = [];

  const widthNow = (index: number, { pagesLeft, budgetLeft }: RecordsPage): number => {
    const mostGuesses = Number.isFinite(pagesLeft) ? guesses.most() : Math.min(guesses.most(), Math.floor(index / 2));
    if (mostGuesses < 1 || !mayFetchSeveral()) return 0;
    const allowed = source.resource.pagination.maxPages - index;
    return Math.min(width, 1 + mostGuesses, pagesLeft, allowed, budgetLeft, Math.floor(heavyBytes / bodyBytesMax));
  };

  return ({ request, page, next }) => {
    const { position } = request;
    bodyBytesMax = Math.max(bodyBytesMax, page.bodyBytes);
    const items = itemsOf(page);
    const hasMoved = position.index > 1 && position.overlap === undefined && isRepeated(itemsBefore, items);
    itemsBefore = items;
    if (hasMoved && guesses.count() > 0) guesses.miss();
    // The pages after a heavy one have to wait.
    if (bodyBytesMax > heavyBytes) guesses.drop();
    const step = next.offset - position.offset;
    const wanted = widthNow(position.index, page);
    while (guesses.count() < wanted) {
      const last = guesses.last()?.position;
      guesses.add({ ...request, position: last ? following(last, step) : next });
    }
  };
}

/** Concurrent requests; below 2 there is nothing to gain. Cached pages belong together: they are requested in order. */
function widthOf(source: Source): number {
  const { resource, http, responses } = source;
  const { kind } = resource.pagination;
  if ((kind !== 'page' && kind !== 'offset') || responses !== null) return 0;
  const given = rateLimitsOf(source).map(({ requests, perSeconds }) =>
    Math.floor((requests / perSeconds) * bucketSeconds),
  );
  return Math.min(pagesMax, http.rateLimit.maxConcurrent, ...given);
}

/** The page after one whose response is not known; an offset grows by the same number of items, `step`. */
const following = (position: PagePosition, step: number): PagePosition => ({
  ...position,
  index: position.index + 1,
  number: position.number + 1,
  offset: position.offset + step,
});

/** The items as the API gave them: these identify its pages. */
const itemsOf = ({ identity }: RecordsPage): readonly unknown[] => (Array.isArray(identity) ? identity : []);

/** Whether a page begins or ends with an item of the page before it. */
const isRepeated = (before: readonly unknown[], items: readonly unknown[]): boolean =>
  items.length > 0 &&
  [items[0], items.at(-1)].some((item) => before.some((earlier) => isDeepStrictEqual(earlier, item)));
