/**
 * Pages that are asked for before those in front of them are read. A page number or an offset follows from the one before
 * it, not from a response, so several can be under way and latency is paid once for all of them. A token or a link does
 * follow from a response, but can be seen in it before anything else is done with it (peek-next-page.ts): the page behind it is
 * then asked for at once, and logging, decoding and reading this one costs no time.
 *
 * Every page asked for ahead is a guess. It counts only if, when its turn comes, the page before it leads to the very same
 * request; what it came to, its failure included, is not looked at before. So a read is what it would be one by one: its
 * order, its end, its positions and its errors. Two things remain that a guess can spoil:
 *
 *  - Requests. A wrong guess is one in vain. Behind a count that the API gives there are none, nor behind a token, unless
 *    a body has several lists; elsewhere the guesses are at most half as many as the pages that the window has had. Each
 *    miss makes the next guess come later.
 *  - The moment. Of pages under way at once a later one may be answered first. If a record is then put in at the head of
 *    the list, the pages behind it move back by one, and the record between two responses would be in neither. But then some
 *    page before repeats the end of the one before it, as the first page of a window is always asked for alone: there all
 *    that is ahead is thrown away and asked for again. A declared overlap repeats records by itself and covers such moves.
 */

import { isDeepStrictEqual } from 'node:util';
import { durableWaitMs, ThrottledError } from '../../http/client.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Source } from '../source.ts';
import { rateLimitsOf } from './budget-left.ts';
import type { FetchOptions, Page, PageRequest } from './fetch-page.ts';
import { hasLeft } from './look-ahead.ts';
import { heavyBytes } from './page-size.ts';

/** The pages of one read. Disposing ends the requests that are under way. */
export interface PagesAhead extends AsyncDisposable {
  /** The page of `request`: the one that was asked for ahead, or else asked for now. Throws what fetching throws. */
  take(request: PageRequest): Promise<Page>;
  /** Told that `page` was read and that its window goes on at `next`: asks for pages from there on. */
  prefetch(read: { readonly request: PageRequest; readonly page: RecordsPage; readonly next: PagePosition }): void;
  /** Throws away what was asked for ahead: the window has ended. */
  drop(): void;
}

type RecordsPage = Extract<Page, { kind: 'records' }>;

/** How pages are asked for. */
export interface PagesAheadOptions {
  readonly fetch: (request: PageRequest, options: Omit<FetchOptions, 'evaluate'>) => Promise<Page>;
  readonly signal: AbortSignal;
  /** Asked before pages are asked for ahead; false: one by one for now. */
  readonly isTurn: () => boolean;
  /** Whether the page behind the one whose turn it is would be asked for as soon as that is read. */
  readonly hasRoom: () => boolean;
  /** Asked last, before a page is asked for ahead whose position a response gave; true: it is not. */
  readonly isEnough: () => boolean;
}

/** Pages of one window under way or waiting for their turn. */
const pagesMax = 8;

/** More would only wait for their tokens, which other runs could use: what the bucket gives in this time, s. */
const bucketSeconds = 2;

/** Pages that are read without a guess after a wrong one, for each that there was. */
const retryWindow = 16;

/** Pages ahead of a read. */
export function createPagesAhead(
  source: Source,
  { fetch, signal, isTurn, hasRoom, isEnough }: PagesAheadOptions,
): PagesAhead {
  const width = widthOf(source);
  const underWay = new Set<Promise<unknown>>();
  let ahead: readonly Guess[] = [];
  /** Whose turn it is; null: the first page has yet to be asked for. */
  let current: PageRequest | null = null;
  /** When its turn came. */
  let turnAt = 0;
  let misses = 0;
  let readSinceMiss = 0;
  let bodyBytesMax = 0;
  let itemsBefore: readonly unknown[] = [];

  const drop = (): void => {
    for (const { stop } of ahead) stop();
    ahead = [];
  };
  const miss = (): void => {
    drop();
    misses += 1;
    readSinceMiss = 0;
  };
  const guessesMax = (): number => (misses === 0 ? Number.POSITIVE_INFINITY : readSinceMiss - retryWindow * misses);
  const ask = (request: PageRequest, until: AbortSignal): Promise<Page> =>
    fetch(request, {
      signal: until,
      async onResponse(next) {
        if (request !== current || width > 1) return;
        // A response before it was not the last one: what that led to may be older than this page.
        drop();
        if (guessesMax() < 1 || !isTurn() || !hasRoom()) return;
        const position = await next();
        if (position === null || isEnough()) return;
        ahead = [guess({ ...request, position })];
        await hasLeft(performance.now() - turnAt);
      },
    });
  const askNow = (request: PageRequest): Promise<Page> => {
    current = request;
    return ask(request, signal);
  };
  const guess = (request: PageRequest): Guess => {
    const controller = new AbortController();
    const page = ask(request, AbortSignal.any([signal, controller.signal]));
    const failedAt = page.then(
      () => null,
      () => source.now().getTime(),
    );
    underWay.add(failedAt);
    void failedAt.then(() => underWay.delete(failedAt));
    return { request, page, failedAt, stop: () => controller.abort() };
  };
  const widthNow = ({ position: { index } }: PageRequest, { pagesLeft, budgetLeft }: RecordsPage): number => {
    const guesses = Number.isFinite(pagesLeft) ? guessesMax() : Math.min(guessesMax(), Math.floor(index / 2));
    if (guesses < 1 || !isTurn()) return 0;
    const allowed = source.resource.pagination.maxPages - index;
    return Math.min(width, 1 + guesses, pagesLeft, allowed, budgetLeft, Math.floor(heavyBytes / bodyBytesMax));
  };

  return {
    async take(request) {
      turnAt = performance.now();
      const [first, ...rest] = ahead;
      if (first === undefined || !isDeepStrictEqual(first.request, request)) {
        drop();
        return await askNow(request);
      }
      current = first.request;
      ahead = rest;
      try {
        return await first.page;
      } catch (error) {
        if (!(error instanceof ThrottledError)) throw error;
        const leftMs = error.waitMs - (source.now().getTime() - ((await first.failedAt) ?? 0));
        if (leftMs > durableWaitMs) throw new ThrottledError(leftMs);
        // What is left of the wait is the client's to sleep, as it would be had nothing been asked ahead.
        return await askNow(request);
      }
    },
    prefetch({ request, page, next }) {
      const { position } = request;
      const expected = ahead[0]?.request.position;
      readSinceMiss += 1;
      if (expected && !isDeepStrictEqual(expected, next)) miss();
      if (width < 2) return;
      bodyBytesMax = Math.max(bodyBytesMax, page.bodyBytes);
      const items = itemsOf(page);
      const hasMoved = position.index > 1 && !isOverlapping(source) && isRepeated(itemsBefore, items);
      itemsBefore = items;
      if (hasMoved && ahead.length > 0) miss();
      // The pages behind a heavy one have to wait.
      if (bodyBytesMax > heavyBytes) drop();
      const step = next.offset - position.offset;
      const wanted = widthNow(request, page);
      while (ahead.length < wanted) {
        const last = ahead.at(-1)?.request.position;
        ahead = [...ahead, guess({ ...request, position: last ? following(last, step) : next })];
      }
    },
    drop() {
      // Of numbered pages some are always ahead of the end.
      if (width < 2 && ahead.length > 0) miss();
      else drop();
    },
    async [Symbol.asyncDispose]() {
      drop();
      await Promise.all(underWay);
    },
  };
}

/** A page that was asked for ahead. */
interface Guess {
  readonly request: PageRequest;
  readonly page: Promise<Page>;
  /** Our clock when it failed, ms since the epoch; null: it did not. Never rejects. */
  readonly failedAt: Promise<number | null>;
  /** Ends the request. */
  readonly stop: () => void;
}

/** Requests at once; below 2 there is nothing to gain. Pages that are kept belong together: they are asked for in order. */
function widthOf(source: Source): number {
  const { resource, http, responses } = source;
  const { kind } = resource.pagination;
  if ((kind !== 'page' && kind !== 'offset') || responses !== null) return 0;
  const given = rateLimitsOf(source).map(({ requests, perSeconds }) =>
    Math.floor((requests / perSeconds) * bucketSeconds),
  );
  return Math.min(pagesMax, http.rateLimit.maxConcurrent, ...given);
}

/** The page after one whose response is not known, as the one before it was: of an offset, as many items further. */
const following = (position: PagePosition, step: number): PagePosition => ({
  ...position,
  index: position.index + 1,
  number: position.number + 1,
  offset: position.offset + step,
});

/** As the API gave them: by these its pages are recognised. */
const itemsOf = ({ identity }: RecordsPage): readonly unknown[] => (Array.isArray(identity) ? identity : []);

const isOverlapping = ({ resource: { pagination } }: Source): boolean =>
  pagination.kind === 'offset' && (pagination.overlap ?? 0) > 0;

/** Whether a page begins with an item of the page before it. */
const isRepeated = (before: readonly unknown[], [first]: readonly unknown[]): boolean =>
  first !== undefined && before.some((item) => isDeepStrictEqual(item, first));
