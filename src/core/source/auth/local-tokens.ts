import { isFresh, type Token, type TokenSource } from './token.ts';

/** Tokens made by this process, each used for half of its lifetime. */
export function createLocalTokens(options: {
  readonly make: () => Promise<Token>;
  readonly mask: (secret: string) => void;
  readonly now: () => Date;
}): TokenSource {
  let held: Token | null = null;
  const renew = async (): Promise<Token> => {
    held = await options.make();
    options.mask(held.accessToken);
    return held;
  };
  const usable = (): Token | null =>
    held && isFresh(held, { nowMs: options.now().getTime(), bufferMs: Number.POSITIVE_INFINITY }) ? held : null;
  return {
    current: async () => usable() ?? (await renew()),
    refresh: async () => await renew(),
  };
}
