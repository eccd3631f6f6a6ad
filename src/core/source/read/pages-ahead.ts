/**
 * Fetches pages before the preceding ones are read. A page number or an offset does not depend on a response, so
 * several requests can be concurrent. A token or a link can be found early in a response (peek-next-page.ts), so that
 * processing the page costs no time.
 *
 * Every prefetched page is a guess, which counts only if the page before it leads to exactly the same request. Its
 * result, failures included, is not read before its turn, so order, end, positions and errors are those of one page at
 * a time. A guess can still affect two things:
 *
 * - Requests: a wrong guess wastes one and delays the next guess. The API's count allows none, nor does a token, unless
 * a body has several lists. Otherwise there are at most half as many guesses as pages read in the window.
 *
 * - Timing: the API may respond to a later page first. If a record is then inserted at the head of the list, the later
 * pages move back by one, and the record between two responses is in neither. But then some earlier page repeats the
 * end of the one before it, as the first page of a window is always requested alone. All prefetched pages are then
 * dropped and requested again. Overlapping pages show by themselves whether they follow.
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

/** Disposing ends the requests in progress. */
export interface PagesAhead extends AsyncDisposable {
  /** Returns the prefetched page, or requests it now, throwing what `fetch` throws. */
  take(request: PageRequest): Promise<Page>;
  /** Requests pages from `next` on, where the window continues after `page`. */
  prefetch(read: { readonly request: PageRequest; readonly page: RecordsPage; readonly next: PagePosition }): void;
  drop(): void;
}

type RecordsPage = Extract<Page, { kind: 'records' }>;

export interface PagesAheadOptions {
  readonly fetch: (request: PageRequest, options: Omit<FetchOptions, 'evaluate'>) => Promise<Page>;
  readonly signal: AbortSignal;
  /** Checked before prefetching; false means one page at a time for now. */
  readonly mayFetchSeveral: () => boolean;
  /** Whether the next page would be requested as soon as the current one is read. */
  readonly hasRoom: () => boolean;
  /** Checked last, before a page is prefetched whose position a response gave; true prevents that. */
  readonly isEnough: () => boolean;
}

/** Pages of one window in progress or waiting for their turn. */
const pagesMax = 8;

/** Seconds whose tokens of a bucket are used ahead: more pages would only wait for tokens that other runs could use. */
const bucketSeconds = 2;

export function createPagesAhead(source: Source, options: PagesAheadOptions): PagesAhead {
  const { fetch, signal, mayFetchSeveral, hasRoom, isEnough } = options;
  const width = widthOf(source);
  const now = (): number => source.now().getTime();
  const guesses = createGuesses({ ask: (request, until) => ask(request, until), signal, now });
  const prefetchNumbered = createNumberedPrefetch(source, { guesses, width, mayFetchSeveral });
  let current: PageRequest | null = null;
  let turnAt = 0;

  const ask = (request: PageRequest, until: AbortSignal): Promise<Page> =>
    fetch(request, {
      signal: until,
      async onResponse(next) {
        if (request !== current || width > 1) return;
        // Pages that an earlier response to this request led to may be older than this one.
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
      // With numbered pages, some prefetched ones are always past the end.
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
 * `null` if the API throttled the page and the remaining wait is short, so that it is requested again; throws what
 * `fetch` threw.
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
    // Pages after a heavy one have to wait.
    if (bodyBytesMax > heavyBytes) guesses.drop();
    const step = next.offset - position.offset;
    const wanted = widthNow(position.index, page);
    while (guesses.count() < wanted) {
      const last = guesses.last()?.position;
      guesses.add({ ...request, position: last ? following(last, step) : next });
    }
  };
}

/** Below 2 there is nothing to gain; cached pages belong together, so they are requested in order. */
function widthOf(source: Source): number {
  const { resource, http, responses } = source;
  const { kind } = resource.pagination;
  if ((kind !== 'page' && kind !== 'offset') || responses !== null) return 0;
  const given = rateLimitsOf(source).map(({ requests, perSeconds }) =>
    Math.floor((requests / perSeconds) * bucketSeconds),
  );
  return Math.min(pagesMax, http.rateLimit.maxConcurrent, ...given);
}

/** The page after one without a known response: an offset always grows by `step`. */
const following = (position: PagePosition, step: number): PagePosition => ({
  ...position,
  index: position.index + 1,
  number: position.number + 1,
  offset: position.offset + step,
});

/** Raw items, which identify the API's pages. */
const itemsOf = ({ identity }: RecordsPage): readonly unknown[] => (Array.isArray(identity) ? identity : []);

const isRepeated = (before: readonly unknown[], items: readonly unknown[]): boolean =>
  items.length > 0 &&
  [items[0], items.at(-1)].some((item) => before.some((earlier) => isDeepStrictEqual(earlier, item)));
