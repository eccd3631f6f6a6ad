import { expect, it, vi } from 'vitest';
import { firstOf } from './first-of.ts';

/** Never opens, and notes when it is given up. */
const silent = (place: string, givenUp: string[]) => (signal: AbortSignal) =>
  new Promise<string>((_, reject) => {
    signal.addEventListener('abort', () => {
      givenUp.push(place);
      reject(new Error('given up'));
    });
  });

const opens = (place: string) => async () => place;
const fails = (place: string) => async () => {
  throw new Error(place);
};

interface Trial {
  readonly staggerMs?: number;
  readonly signal?: AbortSignal;
}

const tryAll = (
  places: readonly ((signal: AbortSignal) => Promise<string>)[],
  { staggerMs = 1, signal = new AbortController().signal }: Trial = {},
) => firstOf(places, { open: (place, lost) => place(lost), staggerMs, signal });

it('is the second place when the first says nothing, and the first is given up', async () => {
  const givenUp: string[] = [];
  expect(await tryAll([silent('a', givenUp), opens('b')])).toBe('b');
  expect(givenUp).toEqual(['a']);
});

it('is the next place at once when one fails', async () => {
  expect(await tryAll([fails('a'), fails('b'), opens('c')], { staggerMs: 60_000 })).toBe('c');
});

it('is the first place when it opens before the second is due, and the second is left alone', async () => {
  vi.useFakeTimers();
  expect(await tryAll([opens('a'), opens('b')], { staggerMs: 60_000 })).toBe('a');
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

it('is a slow place while a later one fails', async () => {
  const failed = Promise.withResolvers<void>();
  const slow = async () => {
    await failed.promise;
    return 'a';
  };
  const failing = async () => {
    failed.resolve();
    throw new Error('b');
  };
  expect(await tryAll([slow, failing])).toBe('a');
});

it('fails as the last place does when none opens', async () => {
  await expect(tryAll([fails('a'), fails('b')])).rejects.toThrow('b');
});

it('gives all places up when it is given up itself, with its reason', async () => {
  const givenUp: string[] = [];
  const asked = new AbortController();
  const first = (signal: AbortSignal) => {
    queueMicrotask(() => asked.abort(new Error('too late')));
    return silent('a', givenUp)(signal);
  };
  await expect(tryAll([first, opens('b')], { staggerMs: 60_000, signal: asked.signal })).rejects.toThrow('too late');
  expect(givenUp).toEqual(['a']);
});
