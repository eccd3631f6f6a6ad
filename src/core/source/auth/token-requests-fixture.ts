/** For tests: an API that issues tokens, and the credentials of a client. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { parseAllowList } from '../../http/addresses.ts';
import { createEgressGuard } from '../../http/egress.ts';
import type { LoggedCall } from '../../http/logged-call.ts';
import { type ApiReply, type ApiRequest, sourceOf, startApi } from '../source-fixture.ts';
import { openTokens } from './open-tokens.ts';
import type { Token } from './token.ts';
import { createTokenClient } from './token-client.ts';
import type { StoredToken } from './token-store.ts';

export const nowMs = Date.UTC(2026, 0, 1);
const { signal } = new AbortController();

export const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  jwk: generateKeyPairSync('ed25519'),
};

/** Private keys in the forms in which customers have them. */
export const secrets = {
  id: 'client:1',
  secret: 'p ss/word',
  rsa: String(pairs.rsa.privateKey.export({ type: 'pkcs8', format: 'pem' })),
  pkcs1: String(pairs.rsa.privateKey.export({ type: 'pkcs1', format: 'pem' })).replaceAll('\n', '\\n'),
  ec: String(pairs.ec.privateKey.export({ type: 'sec1', format: 'pem' })),
  jwk: JSON.stringify({ ...pairs.jwk.privateKey.export({ format: 'jwk' }), kid: 'key-7' }),
};

export const standard = { body: { access_token: 'at-1234567', expires_in: 60 } };

export interface Obtained {
  readonly token: Token;
  readonly requests: readonly ApiRequest[];
  readonly calls: readonly LoggedCall[];
  readonly masked: readonly string[];
  readonly origin: string;
}

export function useObtain() {
  let evaluator: TestEvaluator;
  beforeAll(() => {
    evaluator = createTestEvaluator({ size: 1 });
  });
  afterAll(() => evaluator[Symbol.asyncDispose]());
  return obtain;

  /** The API gives the responses in turn, the last one forever. */
  async function obtain(
    auth: Readonly<Record<string, unknown>>,
    replies: readonly ApiReply[] = [standard],
    allowed = true,
  ): Promise<Obtained> {
    let asked = 0;
    await using api = await startApi(() => replies[Math.min(asked++, replies.length - 1)] ?? standard);
    const calls: LoggedCall[] = [];
    const masked: string[] = [];
    const allow = parseAllowList(allowed ? new URL(api.origin).host : '');
    await using tokenClient = createTokenClient({
      egress: createEgressGuard({ allow, deny: [], allowHttp: false }),
      logCall: (call) => void calls.push(call),
      secrets: [],
      sleep: async () => {},
    });
    const source = sourceOf(
      { api, evaluator, resource: {}, auth },
      {
        params: { url: api.origin },
        secrets,
        mask: (secret) => {
          masked.push(secret);
          tokenClient.addSecret(secret);
        },
        now: () => new Date(nowMs),
      },
    );
    let stored: StoredToken | null = null;
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
    const tokens = await openTokens(source, { client: tokenClient, store, resourceKey: null });
    if (!tokens) throw new Error('The kind needs no token');
    const token = await tokens.current(signal);
    return { token, requests: api.requests, calls, masked, origin: api.origin };
  }
}

export const fieldsOf = ({ requests: [request] }: Obtained) => Object.fromEntries(new URLSearchParams(request?.body));
