import { isDeepStrictEqual } from 'node:util';
import type { Page, PageRequest } from './fetch-page.ts';

export interface Guess {
  readonly request: PageRequest;
  readonly page: Promise<Page>;
  /** Our clock at the failure, in milliseconds since the epoch, or `null` on success; never rejects. */
  readonly failedAt: Promise<number | null>;
  readonly stop: () => void;
}

export interface Guesses {
  count(): number;
  first(): PageRequest | undefined;
  last(): PageRequest | undefined;
  add(request: PageRequest): void;
  /** Takes the first guess if it is this request; otherwise drops all of them and returns `null`. */
  take(request: PageRequest): Guess | null;
  drop(): void;
  /** Drops them as wrong guesses: fewer are allowed from now on. */
  miss(): void;
  noteRead(): void;
  /** Number of guesses allowed: none for a while after a wrong one, and longer after each further one. */
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

/** Pages without guesses after a wrong one, for each wrong one so far. */
const retryWindow = 16;

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
