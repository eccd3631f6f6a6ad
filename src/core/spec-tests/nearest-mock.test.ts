import { describe, expect, it } from 'vitest';
import type { HttpRequest } from '../model/http.ts';
import { nearestMock } from './nearest-mock.ts';

const request: HttpRequest = {
  method: 'GET',
  url: new URL('https://api.test/v3/stock?size=50&tag=x&tag=y'),
  headers: { 'x-warehouse': 'north' },
  timeoutMs: 1000,
  responseBytesMax: 1000,
  allowedHosts: [],
};

const nearest = (...patterns: readonly object[]) =>
  nearestMock(
    patterns.map((pattern) => ({ pattern })),
    request,
    '/v3',
  );

const wants = (...parts: readonly string[]) => `${parts.join('; ')}. Correct it, or add one`;

describe('the mock that is nearest to a request without one', () => {
  it('is none where no mock has the method and the path', () => {
    const none = { mock: null, reason: 'add one for it' };
    expect(nearest()).toEqual(none);
    expect(nearest({ path: '/items' }, { method: 'POST', path: '/stock' })).toEqual(none);
  });

  it.each([
    [{ query: { size: 10 } }, 'query.size 10, the request has "50"'],
    [{ query: { tag: 'x' } }, 'query.tag "x", the request has ["x","y"]'],
    [{ query: { size: null } }, 'query.size null, the request has "50"'],
    [{ query: { page: 2 } }, 'query.page 2, the request has nothing'],
    [{ headers: { 'X-Warehouse': 'south' } }, 'headers.X-Warehouse "south", the request has "north"'],
    [{ body: { a: 1 } }, 'body {"a":1}, the request has nothing'],
    [
      { headers: { Authorization: 'Bearer t' } },
      'headers.Authorization "Bearer t", the request has nothing (a test neither logs in nor sends credentials)',
    ],
  ])('says what of it differs: %j', (pattern, part) => {
    expect(nearest({ path: '/stock', ...pattern })).toEqual({ mock: 0, reason: wants(`mocks.0 wants ${part}`) });
  });

  it('is the one with the fewest differences; the next two are named after it', () => {
    const found = nearest({ query: { size: 1, page: 2 } }, { path: '/other' }, { query: { size: 2 } });
    const parts = [
      'mocks.2 wants query.size 2, the request has "50"',
      'mocks.0 wants query.size 1, the request has "50"',
    ];
    expect(found).toEqual({ mock: 2, reason: wants(...parts) });
    const many = nearest(...Array.from({ length: 5 }, () => ({ query: { size: 2 } })));
    expect(many.reason.match(/mocks\.\d/g)).toEqual(['mocks.0', 'mocks.1', 'mocks.2']);
  });

  it('may be one that is used up', () => {
    expect(nearest({ path: '/stock' })).toEqual({ mock: 0, reason: 'mocks.0 is used up (times); add one' });
  });
});
