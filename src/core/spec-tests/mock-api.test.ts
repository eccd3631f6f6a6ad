import { describe, expect, it } from 'vitest';
import type { HttpRequest } from '../model/http.ts';
import type { Mock } from '../spec/schema/test-schema.ts';
import { createMockApi } from './mock-api.ts';

const request: HttpRequest = {
  method: 'GET',
  url: new URL('https://api.test/items?key=hidden'),
  headers: {},
  timeoutMs: 1000,
  responseBytesMax: 1000,
  allowedHosts: [],
};
const now = new Date('2026-01-01T00:00:00Z');

function apiOf(...mocks: readonly (Partial<Mock['respond']> & Pick<Mock, 'times'>)[]) {
  const full = mocks.map(({ times, ...respond }) => ({
    request: {},
    respond: { status: 200, headers: {}, ...respond },
    ...(times === undefined ? {} : { times }),
  }));
  const api = createMockApi(full, now);
  return { ...api, ask: () => api.response(request, ''), noResponse: () => api.noResponse };
}

describe('the API of a test', () => {
  it('responds from the first mock that is not used up', () => {
    const api = apiOf({ status: 500, times: 2 }, { status: 204 });
    expect([1, 2, 3, 4].map(() => api.ask().status)).toEqual([500, 500, 204, 204]);
    expect(api.requests).toHaveLength(4);
  });

  it('fails a request that no mock matches, and does not show the values of its query', () => {
    const api = apiOf({ times: 1 });
    api.ask();
    expect(api.noResponse()).toBeNull();
    expect(() => api.ask()).toThrow('No mock matches GET /items.');
    expect(api.noResponse()).toEqual({ request: 'GET /items', mock: 0, reason: 'mocks.0 is used up (times); add one' });
  });

  it.each([
    [{ a: [1] }, '{"a":[1]}', 'application/json'],
    [null, 'null', 'application/json'],
    ['id,name\n1,A', 'id,name\n1,A', undefined],
    [undefined, '', undefined],
  ])('sends %j as %j', (body, text, contentType) => {
    const { headers, body: bytes } = apiOf(body === undefined ? {} : { body }).ask();
    expect(new TextDecoder().decode(bytes)).toBe(text);
    expect(headers['content-type']).toBe(contentType);
  });

  it('sends its time in the Date header of every response, unless the mock sets one', () => {
    expect(apiOf({}).ask().headers['date']).toBe('Thu, 01 Jan 2026 00:00:00 GMT');
    const given = 'Wed, 31 Dec 2025 23:59:00 GMT';
    expect(apiOf({ headers: { Date: given } }).ask().headers['date']).toBe(given);
  });

  it('does not send without end', () => {
    const api = apiOf({ body: 'x'.repeat(9_000_000) });
    api.ask();
    api.ask();
    expect(() => api.ask()).toThrow('more than 20 MB');
  });
});
