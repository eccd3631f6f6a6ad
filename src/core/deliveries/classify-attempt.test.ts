import { describe, expect, it } from 'vitest';
import type { PostOutcome } from '../http/webhook-post.ts';
import { classifyAttempt } from './classify-attempt.ts';

const classify = (outcome: Partial<PostOutcome>) =>
  classifyAttempt({ statusCode: null, errorCode: null, headers: {}, body: '', durationMs: 1, ...outcome }, 0);

describe('an attempt', () => {
  it.each([200, 201, 204, 299])('with the response %d is delivered', (statusCode) => {
    expect(classify({ statusCode })).toMatchObject({ delivered: true, disables: false, pauseMs: null });
  });

  it.each([
    ['no response', { errorCode: 'timeout' }],
    ['a redirect', { statusCode: 302, errorCode: 'redirect' }],
    ['400', { statusCode: 400, errorCode: 'http_status' }],
    ['401', { statusCode: 401, errorCode: 'http_status' }],
    ['404', { statusCode: 404, errorCode: 'http_status' }],
    ['429', { statusCode: 429, errorCode: 'http_status' }],
    ['500', { statusCode: 500, errorCode: 'http_status' }],
    ['DNS trouble', { errorCode: 'dns_error' }],
  ] as const)('that ended with %s is made again', (_what, outcome) => {
    expect(classify(outcome)).toMatchObject({ delivered: false, otherwise: 'retry', disables: false });
  });

  it('with the response 410 is the last attempt of this event and of every other event', () => {
    const gone = classify({ statusCode: 410, errorCode: 'http_status' });
    expect(gone).toMatchObject({ otherwise: 'canceled', disables: true });
  });

  it('is the last one of its event, or of all events, when the response header requests it', () => {
    const responding = (control: string) =>
      classify({ statusCode: 500, errorCode: 'http_status', headers: { 'webhook-delivery': control } });
    expect(responding('abort-message')).toMatchObject({ otherwise: 'canceled', disables: false });
    expect(responding(' Disable ')).toMatchObject({ otherwise: 'canceled', disables: true });
    expect(responding('anything')).toMatchObject({ otherwise: 'retry', disables: false });
  });

  it('can be delivered and be the last one', () => {
    const headers = { 'webhook-delivery': 'disable' };
    expect(classify({ statusCode: 200, headers })).toMatchObject({ delivered: true, disables: true });
  });

  it('that the guard refused is not made again', () => {
    expect(classify({ errorCode: 'egress_blocked' })).toMatchObject({ otherwise: 'exhausted', disables: false });
  });

  it.each([
    [429, '30', 30_000],
    [503, '30', 30_000],
    [503, 'Thu, 01 Jan 1970 00:00:20 GMT', 20_000],
    [429, '86400', 3_600_000],
    [429, '0', null],
    [429, 'soon', null],
    [500, '30', null],
  ])('with the response %d and Retry-After %s pauses for %s ms', (statusCode, retryAfter, pauseMs) => {
    const response = { statusCode, errorCode: 'http_status', headers: { 'retry-after': retryAfter } } as const;
    expect(classify(response)).toMatchObject({ otherwise: 'retry', pauseMs });
  });
});
