import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { HttpRequest, HttpResponse } from '../../model/http.ts';
import { sourceOf } from '../source-fixture.ts';
import { matchRule } from './error-rules.ts';
import { createEvaluate, type Evaluate } from './evaluate.ts';
import { interpretResponse } from './interpret-response.ts';

const now = new Date('2026-01-01T00:00:00.000Z');
let evaluator: TestEvaluator;
let evaluate: Evaluate;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
  evaluate = createEvaluate(evaluator, now);
});
afterAll(() => evaluator[Symbol.asyncDispose]());

interface Responded {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const request: HttpRequest = {
  method: 'GET',
  url: new URL('https://api.test/items'),
  headers: {},
  timeoutMs: 1000,
  responseBytesMax: 1000,
  allowedHosts: [],
};

function verdictOf(
  rules: readonly unknown[],
  responded: Responded,
  resource: Readonly<Record<string, unknown>> = {},
  auth: Readonly<Record<string, unknown>> = { kind: 'none' },
  page = { index: 1, startsFromToken: false },
) {
  const source = sourceOf({ api: { origin: 'https://api.test' }, evaluator, resource, http: { errors: rules }, auth });
  const { status, headers = {}, body = null } = responded;
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const response: HttpResponse = { status, headers, body: bytes, url: request.url };
  return interpretResponse(source, { evaluate, page })(response, request);
}

describe('without a rule the defaults of the format hold', () => {
  test.each([
    [200, 'accept'],
    [429, 'rate_limited'],
    [408, 'retry'],
    [503, 'retry'],
    [404, 'fail'],
  ])('%i: %s', async (status, action) => {
    expect(await verdictOf([], { status })).toMatchObject({ action });
  });

  test('401 is a refused credential', async () => {
    expect(await verdictOf([], { status: 401 })).toMatchObject({ action: 'fail', error: { code: 'auth_failed' } });
  });
});

describe('refused credentials', () => {
  const session = { kind: 'session', login: { path: '/login' }, tokenFrom: 'body.t' };
  const refreshRule = { when: { status: [200], expr: "body.error = 'expired'" }, action: 'refresh_auth' };
  const expired = { status: 200, body: { error: 'expired' } };

  test.each([
    ['401', [], { status: 401 }],
    ['a rule that says so', [refreshRule], expired],
  ])('by %s are refreshed where the auth kind can', async (_name, rules, responded) => {
    const refresh = { action: 'refresh', error: { code: 'auth_failed' } };
    expect(await verdictOf(rules, responded, {}, session)).toMatchObject(refresh);
    const bearer = { kind: 'bearer', token: 'x' };
    expect(await verdictOf(rules, responded, {}, bearer)).toMatchObject({ ...refresh, action: 'fail' });
  });

  test('are not refreshed where a rule fails the request', async () => {
    const rule = { when: { status: [401] }, action: 'fail' };
    expect(await verdictOf([rule], { status: 401 }, {}, session)).toMatchObject({ action: 'fail' });
  });
});

describe('rules', () => {
  const rateRule = {
    when: {
      status: [403, 429],
      expr: "$number(headers.'x-ratelimit-remaining') = 0 or $exists(headers.'retry-after')",
    },
    action: 'rate_limited',
    waitFrom: { header: 'X-RateLimit-Reset', format: 'epoch_s' },
  };

  test('all conditions of one must hold', async () => {
    const limited = { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1767225610' } };
    expect(await verdictOf([rateRule], limited)).toEqual({ action: 'rate_limited', waitMs: 10_000 });
    const forbidden = { status: 403, headers: { 'x-ratelimit-remaining': '7' } };
    expect(await verdictOf([rateRule], forbidden)).toMatchObject({ action: 'fail' });
  });

  test('whose expression throws on a response do not match it', async () => {
    const rule = { when: { status: [400], expr: '$number(body.code) = 7' }, action: 'retry' };
    expect(await verdictOf([rule], { status: 400, body: { code: 'x' } })).toMatchObject({ action: 'fail' });
  });

  test('the first that matches wins, those of the resource before those of http', async () => {
    const resource = { errors: [{ when: { status: [404] }, action: 'retry' }] };
    expect(await verdictOf([{ when: { status: ['4xx'] }, action: 'empty' }], { status: 404 }, resource)).toEqual({
      action: 'retry',
    });
    expect(await verdictOf([{ when: { status: ['4xx'] }, action: 'empty' }], { status: 404 })).toEqual({
      action: 'accept',
      meaning: { kind: 'empty', notModified: false },
    });
  });

  test('see an error in the body of a 200', async () => {
    const rule = { when: { status: [200], expr: "body.error.code = 'RATE'" }, action: 'rate_limited' };
    expect(await verdictOf([rule], { status: 200, body: { error: { code: 'RATE' } } })).toEqual({
      action: 'rate_limited',
    });
    expect(await verdictOf([rule], { status: 200, body: { data: [] } })).toEqual({ action: 'accept' });
  });

  test('see no body when it is HTML', async () => {
    const rule = { when: { status: [502], expr: 'body.fatal' }, action: 'fail' };
    expect(await verdictOf([rule], { status: 502, body: '<html>' })).toEqual({ action: 'retry' });
  });

  test('that fail carry their message, and say when the connection goes to error', async () => {
    const rule = { when: { status: [402] }, action: 'fail', message: 'The account is closed', connection: 'error' };
    expect(await verdictOf([rule], { status: 402 })).toMatchObject({
      action: 'fail',
      error: { code: 'auth_failed', message: 'The account is closed' },
    });
    expect(await verdictOf([{ when: { status: [402] }, action: 'fail' }], { status: 402 })).toMatchObject({
      error: { code: 'source_rejected' },
    });
  });

  test('an expired page token is accepted with that meaning, except on the first page', async () => {
    const onExpired = { status: [400], action: 'restart_window' };
    const resource = {
      pagination: { kind: 'cursor', next: 'x', inject: { in: 'query', name: 'c' }, onExpired },
    };
    const verdictOn = (index: number) =>
      verdictOf([{ when: { status: ['4xx'] }, action: 'fail' }], { status: 400 }, resource, undefined, {
        index,
        startsFromToken: false,
      });
    expect(await verdictOn(2)).toEqual({ action: 'accept', meaning: { kind: 'expired', what: 'page' } });
    expect(await verdictOn(1)).toMatchObject({ action: 'fail' });
  });

  test.each([
    ['seconds', '7', 7000],
    ['epoch_ms', '1767225603000', 3000],
    ['http_date', 'Thu, 01 Jan 2026 00:00:05 GMT', 5000],
    ['iso', '2026-01-01T00:01:00Z', 60_000],
    ['iso', '2025-01-01T00:00:00Z', 0],
  ])('read a wait as %s from %j', async (format, text, waitMs) => {
    const rule = { when: { status: [429] }, action: 'rate_limited', waitFrom: { header: 'wait', format } };
    expect(await verdictOf([rule], { status: 429, headers: { wait: text } })).toEqual({
      action: 'rate_limited',
      waitMs,
    });
  });

  test('an unreadable wait leaves the time to the client', async () => {
    const rule = { when: { status: [429] }, action: 'rate_limited', waitFrom: { header: 'wait', format: 'seconds' } };
    expect(await verdictOf([rule], { status: 429, headers: { wait: 'soon' } })).toEqual({ action: 'rate_limited' });
  });

  test('are evaluated no further after one over a body of more than 16 MB, or that ends its child', async () => {
    const asked: string[] = [];
    const counted: Evaluate = createEvaluate(
      {
        ...evaluator,
        evaluate: (task) => {
          asked.push(task.expression);
          return evaluator.evaluate(task);
        },
      },
      now,
    );
    const matched = async (expr: string, body: unknown) => {
      const rules = [
        ...Array.from({ length: 20 }, (_, n) => ({ when: { expr: `${expr} = ${n}` }, action: 'fail' as const })),
        { when: { status: [200] }, action: 'empty' as const },
      ];
      const outcome = { kind: 'response', status: 200, headers: {}, body: async () => body } as const;
      asked.length = 0;
      expect(await matchRule(rules, outcome, { evaluate: counted, params: {} })).toBe(rules.at(-1));
      expect(await matchRule(rules, outcome, { evaluate: counted, params: {} })).toBe(rules.at(-1));
      return asked.length;
    };
    expect(await matched('$length(body.text)', { text: 'x'.repeat(17_000_000) })).toBe(1);
    expect(await matched('$contains(body.text, /^(a+)+$/) and 1', { text: `${'a'.repeat(40)}!` })).toBe(1);
    expect(await matched('$number(body.text)', { text: 'x' })).toBe(40);
  });

  test('for the network match a request without a response, and no other does', async () => {
    const rules = [
      { when: { expr: 'true' }, action: 'fail' as const },
      { when: { status: ['timeout' as const] }, action: 'retry' as const },
    ];
    const options = { evaluate, params: {} };
    expect(await matchRule(rules, { kind: 'timeout' }, options)).toBe(rules[1]);
    expect(await matchRule(rules, { kind: 'network' }, options)).toBeNull();
  });
});

describe('a request without a response', () => {
  const checked = (rules: readonly unknown[], failure: 'network' | 'timeout') => {
    const source = sourceOf({ api: { origin: 'https://api.test' }, evaluator, resource: {}, http: { errors: rules } });
    const page = { index: 1, startsFromToken: false };
    return interpretResponse(source, { evaluate, page })({ status: null, failure }, request);
  };

  test.each([
    ['without a rule', [], 'retry'],
    ['with a rule for responses', [{ when: { status: ['5xx'] }, action: 'fail' }], 'retry'],
    ['with a rule for the other failure', [{ when: { status: ['network'] }, action: 'fail' }], 'retry'],
    ['with a rule for it', [{ when: { status: ['timeout'] }, action: 'fail' }], 'fail'],
    ['with a rule that waits', [{ when: { status: [500, 'timeout'] }, action: 'rate_limited' }], 'rate_limited'],
  ])('%s: %s', async (_name, rules, action) => {
    expect(await checked(rules, 'timeout')).toMatchObject({ action });
  });

  test.each([
    ['empty', { kind: 'empty', notModified: false }],
    ['skip_partition', { kind: 'skipped', reason: 'closed at night' }],
  ] as const)('that counts as %s fails with that meaning', async (action, meaning) => {
    const verdict = await checked([{ when: { status: ['timeout'] }, action, message: 'closed at night' }], 'timeout');
    expect(verdict).toMatchObject({ action: 'fail', error: { meaning } });
  });
});
