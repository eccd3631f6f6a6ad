import { describe, expect, it } from 'vitest';
import { documentOf, get, imported, item, list, object, query, resourceOf } from './openapi-fixture.ts';

const text = { type: 'string' };
const number = { type: 'integer' };
const pageOf = (more: Readonly<Record<string, unknown>>) => object({ data: list(item), ...more });

/** What a resource asks for and how it goes on. */
const pagesOf = (schema: unknown, parameters: readonly unknown[], more = {}) => {
  const { pagination, request } = resourceOf(schema, { parameters, ...more });
  return { ...pagination, query: request.query };
};

const size50 = { type: 'integer', maximum: 50 };

describe('the pages of a list', () => {
  it.each([
    [
      'a page number',
      pageOf({}),
      [query('page', number), query('per_page', size50)],
      { kind: 'page', start: 1, size: 50, query: { per_page: '{{ page.size }}' } },
    ],
    [
      'a page number from 0 and a number of pages',
      pageOf({ totalPages: number }),
      [query('page', { type: 'integer', default: 0 })],
      { kind: 'page', start: 0, totalPages: 'body.totalPages' },
    ],
    [
      'a number of pages in an object',
      pageOf({ meta: object({ last_page: number }) }),
      [query('page[number]', number)],
      { kind: 'page', totalPages: 'body.meta.last_page', inject: { in: 'query', name: 'page[number]' } },
    ],
    [
      'an offset and a total',
      pageOf({ total: number }),
      [query('offset', number), query('limit', size50)],
      { kind: 'offset', size: 50, total: 'body.total' },
    ],
    [
      'an offset, whose limit the document does not tell',
      list(item),
      [query('skip', number), query('limit', number)],
      { kind: 'offset', stopWhen: 'false', query: {} },
    ],
    [
      'an offset, whose limit is the default',
      list(item),
      [query('$skip', number), query('$top', { type: 'integer', default: 20 })],
      { kind: 'offset', size: 20, query: { $top: '{{ page.size }}' } },
    ],
    [
      'a token',
      pageOf({ next_cursor: text }),
      [query('cursor'), query('limit', size50)],
      { kind: 'cursor', next: 'body.next_cursor', size: 50 },
    ],
    [
      'a token in an object',
      pageOf({ paging: object({ next: object({ after: text }) }) }),
      [query('after')],
      { kind: 'cursor', next: 'body.paging.next.after' },
    ],
    [
      'a token and whether there is more',
      pageOf({ pageInfo: object({ endCursor: text, hasNextPage: { type: 'boolean' } }) }),
      [query('after')],
      { kind: 'cursor', next: 'body.pageInfo.endCursor', stopWhen: 'body.pageInfo.hasNextPage = false' },
    ],
    ['a token named next', pageOf({ next: text }), [query('cursor')], { kind: 'cursor', next: 'body.next' }],
    [
      'a token under the name of a page',
      pageOf({ nextPage: text }),
      [query('page', text)],
      { kind: 'cursor', next: 'body.nextPage', inject: { name: 'page' } },
    ],
    [
      'an address',
      pageOf({ count: number, next: { type: ['string', 'null'], format: 'uri' } }),
      [query('page', number)],
      { kind: 'next_url', next: 'body.next' },
    ],
    [
      'an address in links',
      pageOf({ links: object({ next: text }) }),
      [query('page[cursor]')],
      { kind: 'next_url', next: 'body.links.next' },
    ],
    [
      'an address of HAL',
      pageOf({ _links: object({ next: object({ href: text }) }) }),
      [],
      { kind: 'next_url', next: 'body._links.next.href' },
    ],
    [
      'an address of OData',
      object({ value: list(item), '@odata.nextLink': text }),
      [],
      { kind: 'next_url', next: 'body.`@odata.nextLink`' },
    ],
    [
      'the key of the last item',
      pageOf({ has_more: { type: 'boolean' } }),
      [query('starting_after')],
      { kind: 'keyset', field: 'id', stopWhen: 'body.has_more = false' },
    ],
    ['nothing', list(item), [query('limit', size50)], { kind: 'none', query: { limit: '{{ page.size }}' } }],
  ])('are read by %s', (_, schema, parameters, expected) => {
    expect(pagesOf(schema, parameters)).toMatchObject(expected);
  });

  it('are read by the header Link where the response has one', () => {
    const responses = { 200: { headers: { Link: {} }, content: { 'application/json': { schema: list(item) } } } };
    const { resources } = imported(
      documentOf({ '/things': { get: { responses, parameters: [query('page', number)] } }, '/b': get(list(item)) }),
    );
    expect(resources['things'].pagination).toMatchObject({ kind: 'link_header' });
  });

  it('are at most 1,000 items long, whatever the document allows', () => {
    expect(
      pagesOf(list(item), [query('limit', { type: 'integer', maximum: 1_000_000 }), query('page', number)]).size,
    ).toBe(1000);
  });
});
