import { describe, expect, it } from 'vitest';
import { AppError } from '../../errors.ts';
import { createLocalTokens } from './local-tokens.ts';
import { createSharedTokens, type SharedTokensOptions } from './shared-tokens.ts';
import { isFresh, type Token } from './token.ts';
import { leaseSeconds, type StoredToken, type TokenStore } from './token-store.ts';

const { signal } = new AbortController();

describe('a token is fresh', () => {
  const token = { ...tokenOf('t'), obtainedAtMs: 0 };
  it.each([
    ['for ever when it does not expire', { ...token, expiresAtMs: null }, 1e15, true],
    ['until the buffer begins', { ...token, expiresAtMs: 1000_000 }, 879_999, true],
    ['no longer in the buffer', { ...token, expiresAtMs: 1000_000 }, 880_000, false],
    ['for half its life when that is shorter', { ...token, expiresAtMs: 60_000 }, 29_999, true],
    ['no longer in the second half of a short life', { ...token, expiresAtMs: 60_000 }, 30_000, false],
  ])('%s', (_name, one, nowMs, fresh) => {
    expect(isFresh(one, { nowMs, bufferMs: 120_000 })).toBe(fresh);
  });
});

describe('shared tokens', () => {
  it('are requested once and then read', async () => {
    const world = createWorld();
    const tokens = world.open();
    expect((await tokens.current(signal)).accessToken).toBe('t1');
    expect((await tokens.current(signal)).accessToken).toBe('t1');
    expect((await world.open().current(signal)).accessToken).toBe('t1');
    expect(world.requests()).toBe(1);
  });

  it('are requested by one process while the others wait for its result', async () => {
    const world = createWorld();
    const all = await Promise.all(Array.from({ length: 5 }, () => world.open().current(signal)));
    expect(all.map(({ accessToken }) => accessToken)).toEqual(['t1', 't1', 't1', 't1', 't1']);
    expect(world.requests()).toBe(1);
  });

  it('are replaced when they are about to expire, by a request that knows the one before', async () => {
    const world = createWorld();
    await world.open().current(signal);
    world.pass(3_500_000);
    expect((await world.open().current(signal)).accessToken).toBe('t2');
    expect(world.previous()).toEqual([undefined, 't1']);
  });

  it('that were refused are replaced, once for all processes that had them', async () => {
    const world = createWorld();
    const [one, other] = [world.open(), world.open()];
    const rejected = await one.current(signal);
    expect((await one.refresh(signal, rejected)).accessToken).toBe('t2');
    expect((await other.refresh(signal, rejected)).accessToken).toBe('t2');
    expect(world.requests()).toBe(2);
  });

  it('of other credentials count as absent', async () => {
    const world = createWorld();
    await world.open().current(signal);
    expect((await world.open({ madeFor: 'other' }).current(signal)).accessToken).toBe('t2');
    expect(world.previous()).toEqual([undefined, undefined]);
  });

  it('outlive a request that fails, and the next process need not wait for the lease to run out', async () => {
    const world = createWorld();
    await world.open().current(signal);
    const before = world.stored();
    const failing = world.open({ request: () => Promise.reject(new AppError('source_unavailable', 'away')) });
    await expect(failing.refresh(signal, tokenOf('t1'))).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(world.stored()).toBe(before);
    expect((await world.open().refresh(signal, tokenOf('t1'))).accessToken).toBe('t2');
  });

  it('are saved before anybody has them, again where that fails, even for a run that is stopped', async () => {
    const world = createWorld();
    const run = new AbortController();
    const rejected = await world.open().current(run.signal);
    world.failSaves(3, () => run.abort(new Error('stopped')));
    expect((await world.open().refresh(run.signal, rejected)).accessToken).toBe('t2');
    expect(world.stored()).toMatchObject({ accessToken: 't2', refreshToken: 'r2' });
    expect(world.requests()).toBe(2);
  });

  it('are saved within a second of the return of the database, and no more once the lease may have ended', async () => {
    const world = createWorld();
    const slow = world.open({
      request: async () => {
        world.pass(25_000);
        return tokenOf('t1');
      },
    });
    const times: number[] = [];
    world.failSaves(Infinity, () => times.push(world.nowMs()));
    await expect(slow.current(signal)).rejects.toThrow('not saved');
    const [first = 0, last = 0] = [times[0], times.at(-1)];
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(1000);
    expect(last - first).toBeGreaterThan(28_000);
    expect(last).toBeLessThan(leaseSeconds * 1000 - 4000);
  });

  it('that cannot be saved are used by nobody', async () => {
    const world = createWorld();
    world.failSaves(Infinity);
    await expect(world.open().current(signal)).rejects.toThrow('not saved');
  });

  it('are looked at again when a refusal was for one that has been replaced', async () => {
    const world = createWorld();
    const rejected = await world.open().current(signal);
    const refused = new AppError('auth_failed', 'invalid_grant');
    const overtaken = world.open({
      request: async () => {
        world.replace({ ...tokenOf('t9'), madeFor: 'these' });
        throw refused;
      },
    });
    expect((await overtaken.refresh(signal, rejected)).accessToken).toBe('t9');
    const latest = world.stored();
    await expect(world.open({ request: () => Promise.reject(refused) }).refresh(signal, tokenOf('t9'))).rejects.toBe(
      refused,
    );
    expect(world.stored()).toBe(latest);
  });

  it('are masked before anybody has them', async () => {
    const world = createWorld();
    await world.open().current(signal);
    await world.open().current(signal);
    expect(world.masked).toEqual(['t1', 'r1', 't1', 'r1']);
  });

  it('that nobody gets in two minutes are given up, for the run to try again later', async () => {
    const world = createWorld();
    await world.store.lease();
    await expect(world.open().current(signal)).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(world.requests()).toBe(0);
  });

  it('are not waited for by a run that was stopped', async () => {
    const world = createWorld();
    await world.store.lease();
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(world.open().current(stopped)).rejects.toThrow('stopped');
  });
});

describe('local tokens', () => {
  it('are made once for half their life, and anew when refused', async () => {
    let nowMs = 0;
    let made = 0;
    const masked: string[] = [];
    const tokens = createLocalTokens({
      make: async () => ({ ...tokenOf(`t${++made}`), obtainedAtMs: nowMs, expiresAtMs: nowMs + 10_000 }),
      mask: (secret) => masked.push(secret),
      now: () => new Date(nowMs),
    });
    const used = async () => (await tokens.current(signal)).accessToken;
    expect([await used(), await used()]).toEqual(['t1', 't1']);
    nowMs = 5_000;
    expect(await used()).toBe('t2');
    await tokens.refresh(signal, tokenOf('t2'));
    expect(await used()).toBe('t3');
    expect(masked).toEqual(['t1', 't2', 't3']);
  });
});

function tokenOf(accessToken: string): Token {
  const refreshToken = accessToken.replace('t', 'r');
  return { accessToken, refreshToken, obtainedAtMs: 0, expiresAtMs: 3_600_000, metadata: {} };
}

/** A store in memory, a clock that only sleeping moves, and an endpoint that numbers its tokens. */
function createWorld() {
  let nowMs = 0;
  let held: StoredToken | null = null;
  let leased = false;
  let savesToFail = 0;
  let onFailedSave = (): void => undefined;
  const previous: (string | undefined)[] = [];
  const masked: string[] = [];
  const store: TokenStore = {
    read: async () => held,
    lease: async () => {
      if (leased) return null;
      leased = true;
      return {
        stored: held,
        save: async (token) => {
          if (savesToFail-- > 0) {
            onFailedSave();
            throw new Error('not saved');
          }
          held = token;
        },
        release: async () => {
          leased = false;
        },
      };
    },
  };
  const request = async (before: Token | null): Promise<Token> => {
    previous.push(before?.accessToken);
    return { ...tokenOf(`t${previous.length}`), obtainedAtMs: nowMs, expiresAtMs: nowMs + 3_600_000 };
  };
  return {
    store,
    masked,
    requests: () => previous.length,
    previous: () => previous,
    nowMs: () => nowMs,
    stored: () => held,
    replace: (token: StoredToken) => {
      held = token;
    },
    failSaves: (count: number, onFailure = (): void => undefined) => {
      savesToFail = count;
      onFailedSave = onFailure;
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
    open: (changes: Partial<SharedTokensOptions> = {}) =>
      createSharedTokens({
        store,
        request,
        madeFor: 'these',
        bufferMs: 120_000,
        mask: (secret) => masked.push(secret),
        now: () => new Date(nowMs),
        sleep: async (ms) => {
          nowMs += ms;
        },
        ...changes,
      }),
  };
}
