import { describe, expect, it } from 'vitest';
import type { HttpRequest, HttpResponse } from '../../core/model/http.ts';
import { findResource } from '../../core/spec/connection/find-resource.ts';
import { specOf } from '../../core/spec-tests/spec-tests-fixture.ts';
import { type RecordedOptions, recordedMocks } from './recorded-mocks.ts';

const spec = specOf({}, { pagination: { kind: 'next_url', next: "headers.'x-next'" } });
const defaults: RecordedOptions = {
  spec,
  resource: findResource(spec, 'items'),
  mask: (text) => text.replaceAll('hunter2', 'test-key'),
  recordsMax: null,
};

function exchange(
  path: string,
  body: unknown,
  more: { request?: Partial<HttpRequest>; response?: Partial<HttpResponse> } = {},
) {
  const url = new URL(path, 'https://api.test');
  const limits = { timeoutMs: 1, responseBytesMax: 1, allowedHosts: [] };
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  return {
    request: { method: 'GET' as const, url, headers: {}, ...limits, ...more.request },
    response: { status: 200, headers: { 'content-type': 'application/json' }, body: bytes, url, ...more.response },
  };
}

describe('what was exchanged, as mocks', () => {
  it('tells requests of one path apart by the parameters that some of them lack', () => {
    const mocks = recordedMocks(
      [exchange('/items?n=1', { data: [1] }), exchange('/items?n=1&after=2&id=a&id=b', { data: [] })],
      defaults,
    );
    expect(mocks.map(({ request }) => request)).toEqual([
      { path: '/items', query: { n: '1', after: null, id: null } },
      { path: '/items', query: { n: '1', after: '2', id: ['a', 'b'] } },
    ]);
  });

  it('has one response for equal requests with equal responses, and one each where they differ', () => {
    const [same] = [exchange('/items', { data: [] })];
    expect(recordedMocks([same, same], defaults)).toHaveLength(1);
    const differing = recordedMocks([same, exchange('/items', { data: [1] })], defaults);
    expect(differing.map(({ times }) => times)).toEqual([1, 1]);
  });

  it('has the headers that the spec may read, and no others', () => {
    const headers = {
      'content-type': 'application/json',
      'x-next': '/a?k=hunter2',
      link: '<b>',
      date: 'x',
      'set-cookie': 'x',
      etag: 'x',
    };
    const [mock] = recordedMocks([exchange('/items', { data: [] }, { response: { headers } })], defaults);
    expect(mock?.respond.headers).toEqual({ 'x-next': '/a?k=test-key', link: '<b>' });
  });

  it('has of a long list only the first items, and of a request its body', () => {
    const json = { 'content-type': 'application/json' };
    const post = { method: 'POST' as const, headers: json, body: '{"limit":2}' };
    const [mock] = recordedMocks([exchange('/items', { data: [1, 2, 3], n: 3 }, { request: post })], {
      ...defaults,
      recordsMax: 2,
    });
    expect(mock).toMatchObject({
      request: { method: 'POST', body: { limit: 2 } },
      respond: { body: { data: [1, 2], n: 3 } },
    });
  });

  it('has at each * of a path only the first elements', () => {
    const resource = { ...defaults.resource, response: { ...defaults.resource.response, records: 'data.*.x.*' } };
    const body = { data: { a: { x: [1, 2, 3], n: 1 }, b: {}, c: { x: [4] } } };
    const [mock] = recordedMocks([exchange('/items', body)], { ...defaults, resource, recordsMax: 2 });
    expect(mock?.respond.body).toEqual({ data: { a: { x: [1, 2], n: 1 }, b: {} } });
  });

  it('keeps as text what JavaScript would change, and what is not JSON', () => {
    const big = recordedMocks([exchange('/items', '{"data":[{"id":12345678901234567890}]}')], defaults);
    expect(big[0]?.respond).toMatchObject({
      headers: { 'content-type': 'application/json' },
      body: '{"data":[{"id":12345678901234567890}]}',
    });
    const csv = { headers: { 'content-type': 'text/csv' } };
    const [mock] = recordedMocks([exchange('/items', 'id\nhunter2', { response: csv })], defaults);
    expect(mock?.respond).toEqual({ status: 200, headers: { 'content-type': 'text/csv' }, body: 'id\ntest-key' });
    const binary = { body: new Uint8Array([0x50, 0x4b, 0xff, 0xfe]) };
    expect(() => recordedMocks([exchange('/items', '', { response: binary })], defaults)).toThrow(
      'The response of /items is no text',
    );
  });
});
