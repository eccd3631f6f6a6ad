/** The pages of a read that are requested before their turn, and how many may be. */

import { isDeepStrictEqual } from 'node:util';
import type { Page, PageRequest } from './fetch-page.ts';

/** A prefetched page. */
export interface Guess {
  readonly request: PageRequest;
  readonly page: Promise<Page>;
  /** The time of our clock when it failed, in milliseconds since the epoch; null: it did not. Never rejects. */
  readonly failedAt: Promise<number | null>;
  /** Ends the request. */
  readonly stop: () => void;
}

/** The guesses of a read, in the order of their turns. */
export interface Guesses {
  count(): number;
  first(): PageRequest | undefined;
  last(): PageRequest | undefined;
  add(request: PageRequest): void;
  /** Takes the first one if it is this request; otherwise all were wrong, and are dropped: null. */
  take(request: PageRequest): Guess | null;
  /** Ends them. */
  drop(): void;
  /** Ends them as wrong ones: fewer are allowed from now on. */
  miss(): void;
  /** A page was read. */
  noteRead(): void;
  /** How many may be made: none for a while after a wrong one, and longer after each further one. */
  most(): number;
  /** Resolves when no request of a guess is in progress. */
  ended(): Promise<void>;
}

interface GuessesOptions {
  readonly ask: (request: PageRequest, until: AbortSignal) => Promise<Page>;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Pages that are read without a guess after a wrong one, for each wrong one so far. */
const retryWindow = 16;

/** Starts with none. */
export function createGuesses({ ask, signal, now }: GuessesOptions): Guesses {
  const inProgress = new Set<Promise<unknown>>();
  let ahead: readonly Guess[] = [];
  let misses = 0;
  let readSinceMiss = 0;

  const drop = (): void => {
    for (const { stop } of ahead) stop();
    ahead = [];
  };
  return {
    count: () => ahead.length,
    first: () => ahead[0]?.request,
    last: () => ahead.at(-1)?.request,
    add(request) {
      const controller = new AbortController();
      const page = ask(request, AbortSignal.any([signal, controller.signal]));
      const failedAt = page.then(() => null, now);
      inProgress.add(failedAt);
      void failedAt.then(() => inProgress.delete(failedAt));
      ahead = [...ahead, { request, page, failedAt, stop: () => controller.abort() }];
    },
    take(request) {
      const [first, ...rest] = ahead;
      if (first === undefined || !isDeepStrictEqual(first.request, request)) {
        drop();
        return null;
      }
      ahead = rest;
      return first;
    },
    drop,
    miss() {
      drop();
      misses += 1;
      readSinceMiss = 0;
    },
    noteRead() {
      readSinceMiss += 1;
    },
    most: () => (misses === 0 ? Number.POSITIVE_INFINITY : readSinceMiss - retryWindow * misses),
    async ended() {
      await Promise.all(inProgress);
    },
  };
}
