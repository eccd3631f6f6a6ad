import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../expressions/evaluator-fixture.ts';
import { parseAllowList } from '../http/addresses.ts';
import { createEgressGuard } from '../http/egress.ts';
import type { HttpRequest } from '../model/http.ts';
import { openTokens } from './auth/open-tokens.ts';
import { createTokenClient } from './auth/token-client.ts';
import type { StoredToken } from './auth/token-store.ts';
import { type ApiReply, sourceOf, startApi } from './source-fixture.ts';

const { signal } = new AbortController();
const beginMs = Date.UTC(2026, 0, 1);
let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

/** A session with an API that gives these responses in turn, the last one for ever; and a clock. */
async function session(parts: Readonly<Record<string, unknown>>, replies: readonly ApiReply[]) {
  const stack = new AsyncDisposableStack();
  let asked = 0;
  const api = stack.use(await startApi(() => replies[Math.min(asked++, replies.length - 1)] ?? {}));
  const turns: HttpRequest[] = [];
  const client = stack.use(
    createTokenClient({
      egress: createEgressGuard({ allow: parseAllowList(new URL(api.origin).host), deny: [], allowHttp: false }),
      logCall: () => {},
      secrets: [],
      takeToken: async (request) => {
        turns.push(request);
        return 0;
      },
    }),
  );
  let nowMs = beginMs;
  let stored: StoredToken | null = null;
  const auth = { kind: 'session', tokenFrom: 'body.sid', ...parts };
  const source = sourceOf({ api, evaluator, resource: {}, auth }, { now: () => new Date(nowMs) });
  const store = {
    read: async () => stored,
    lease: async () => ({
      stored,
      save: async (token: StoredToken) => {
        stored = token;
      },
      release: async () => {},
    }),
  };
  const tokens = await openTokens(source, { client, store, resourceKey: null });
  if (!tokens) throw new Error('A session has a token');
  return {
    tokens,
    turns,
    conditions: () => api.requests.map(({ headers }) => headers['if-none-match']),
    pass: (seconds: number) => {
      nowMs += seconds * 1000;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const tagged = (sid: string, etag: string): ApiReply => ({ headers: { etag }, body: { sid, lasts: 1000 } });

describe('a conditional login', () => {
  const login = { path: '/login', cache: { mode: 'conditional' } };

  test('whose response is 304 begins the same session anew', async () => {
    await using of = await session({ login, expiresFrom: 'body.lasts' }, [tagged('sid-1', '"1"'), { status: 304 }]);
    expect(await of.tokens.current(signal)).toMatchObject({ accessToken: 'sid-1', expiresAtMs: beginMs + 1_000_000 });
    of.pass(1000);
    const renewed = { accessToken: 'sid-1', expiresAtMs: beginMs + 2_000_000 };
    expect(await of.tokens.current(signal)).toMatchObject(renewed);
    of.pass(1000);
    expect(await of.tokens.current(signal)).toMatchObject({ accessToken: 'sid-1' });
    expect(of.conditions()).toEqual([undefined, '"1"', '"1"']);
  });

  test('is not made for a token that the API refused', async () => {
    await using of = await session({ login }, [tagged('sid-1', '"1"'), tagged('sid-2', '"2"')]);
    const refused = await of.tokens.current(signal);
    expect(await of.tokens.refresh(signal, refused)).toMatchObject({ accessToken: 'sid-2' });
    expect(of.conditions()).toEqual([undefined, undefined]);
  });

  test('is refused when nobody asked for a 304', async () => {
    await using of = await session({ login }, [{ status: 304 }]);
    await expect(of.tokens.current(signal)).rejects.toMatchObject({ code: 'auth_failed' });
  });
});

test('a login with a time gives a token that lives no longer', async () => {
  const login = { method: 'POST', path: '/login', cache: { mode: 'ttl', ttlSeconds: 600 } };
  await using forEver = await session({ login }, [tagged('sid-1', '"1"')]);
  expect((await forEver.tokens.current(signal)).expiresAtMs).toBe(beginMs + 600_000);
  await using shorter = await session({ login, ttlSeconds: 60 }, [tagged('sid-1', '"1"')]);
  expect((await shorter.tokens.current(signal)).expiresAtMs).toBe(beginMs + 60_000);
});

test('a login takes its turn in a bucket of its own, each time it is sent', async () => {
  const login = { method: 'POST', path: '/login', rateLimit: { requests: 1, perSeconds: 60 } };
  await using of = await session({ login }, [tagged('sid-1', '"1"'), tagged('sid-2', '"2"')]);
  await of.tokens.refresh(signal, await of.tokens.current(signal));
  const limit = { name: 'POST /login', requests: 1, perSeconds: 60, burst: 1 };
  expect(of.turns.map(({ rateLimit }) => rateLimit)).toEqual([
    expect.objectContaining(limit),
    expect.objectContaining(limit),
  ]);
});
