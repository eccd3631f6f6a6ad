import { describe, expect, it } from 'vitest';
import type { HttpRequest } from '../model/http.ts';
import { matchesRequest } from './match-request.ts';

const request = (parts: Partial<HttpRequest> & { readonly at?: string } = {}): HttpRequest => ({
  method: 'GET',
  url: new URL(parts.at ?? 'https://api.test/v2/items/a%20b?limit=100&tag=x&tag=y&since=2026-01-01T00%3A00%3A00Z'),
  headers: { accept: 'application/json' },
  timeoutMs: 1000,
  responseBytesMax: 1000,
  allowedHosts: [],
  ...parts,
});

const json = { method: 'POST', headers: { 'content-type': 'application/json' } } as const;
const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } } as const;

describe('a pattern', () => {
  it.each([
    ['nothing', {}, request()],
    ['the method', { method: 'GET' }, request()],
    ['the path below the base', { path: '/items/a b' }, request()],
    ['the whole path', { path: '/v2/items/a%20b' }, request()],
    ['a number in the query', { query: { limit: 100 } }, request()],
    ['a repeated parameter', { query: { tag: ['x', 'y'] } }, request()],
    ['a parameter that is not there', { query: { cursor: null } }, request()],
    ['a decoded parameter', { query: { since: '2026-01-01T00:00:00Z' } }, request()],
    ['a header in any case', { headers: { Accept: 'application/json' } }, request()],
    [
      'fields of a JSON body',
      { body: { a: { b: [1, { c: 2 }] } } },
      request({ ...json, body: '{"z":1,"a":{"y":1,"b":[1,{"c":2}]}}' }),
    ],
    ['fields of a form', { body: { a: 1, b: ['x', 'y'] } }, request({ ...form, body: 'a=1&b=x&b=y&c=3' })],
    ['the text of a body', { body: 'a=1&c=3' }, request({ ...form, body: 'a=1&c=3' })],
  ] as const)('matches %s', (_what, pattern, found) => {
    expect(matchesRequest(pattern as never, found, '/v2')).toBe(true);
  });

  it.each([
    ['another method', { method: 'POST' }, request()],
    ['the end of a path', { path: '/a b' }, request()],
    ['the beginning of a path', { path: '/items' }, request()],
    ['another value in the query', { query: { limit: 10 } }, request()],
    ['one value of several', { query: { tag: 'x' } }, request()],
    ['a parameter that is there', { query: { limit: null } }, request()],
    ['a header that is missing', { headers: { 'x-version': '2' } }, request()],
    ['a field that is missing', { body: { a: null } }, request({ ...json, body: '{}' })],
    ['part of a list', { body: { a: [1] } }, request({ ...json, body: '{"a":[1,2]}' })],
    ['a body that is no JSON', { body: { a: 1 } }, request({ ...json, body: 'a=1' })],
    ['a missing field of a form', { body: { a: 1 } }, request({ ...form, body: 'b=1' })],
    ['a body that is missing', { body: {} }, request()],
  ] as const)('does not match %s', (_what, pattern, found) => {
    expect(matchesRequest(pattern as never, found, '/v2')).toBe(false);
  });
});
