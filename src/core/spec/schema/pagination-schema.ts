import * as v from 'valibot';
import { field, when, wholeNumber } from './field.ts';
import { Expression, HttpStatuses, ResponseCondition } from './http-schema.ts';
import { FieldPath } from './names.ts';
import { strictObject } from './strict-object.ts';

export const Inject = strictObject({
  in: field(v.picklist(['query', 'header', 'body']), 'The part of the request that carries the position.'),
  name: field(
    v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    'The query parameter or header; with `body` a dotted path in the JSON body.',
    'page',
  ),
});
export type Inject = v.InferOutput<typeof Inject>;

const PageSize = wholeNumber(1, 10_000);
const Position = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const sizeText =
  'Items per page. The request must send it itself, as `page.size`; no parameter is added. With `page`, `offset` and `keyset` a page with fewer items is the last one, unless `stopWhen` or a total decides.';

const common = {
  size: field(v.exactOptional(PageSize), `${sizeText} Absent: \`page.size\` is missing.`, 100),
  maxPages: field(
    v.optional(wholeNumber(1, 1_000_000), 10_000),
    'The greatest number of pages of one window of one partition. One page more fails the run with `page_limit`.',
  ),
  stopWhen: field(
    v.exactOptional(Expression),
    'True after a page: it was the last. Sees `body`, `headers`, `status`, `page` and `last`, the last raw item.',
    'body.has_more = false',
  ),
  onRepeat: field(
    v.optional(v.picklist(['fail', 'stop']), 'fail'),
    'When a token, URL or whole page comes a second time in a window: `fail` ends the run with `page_loop`, `stop` takes it for the end. Use `stop` only for an API whose last page points to itself.',
  ),
  onExpired: field(
    v.exactOptional(
      strictObject({
        status: field(v.optional(HttpStatuses, []), 'The statuses with which the API says that.', [410]),
        action: field(
          v.optional(v.picklist(['restart_window', 'fail']), 'fail'),
          '`restart_window` reads the window again from its first page; records delivered already are skipped as unchanged.',
        ),
      }),
    ),
    'What happens when the API no longer knows a page token. Absent: the rules of `errors` decide.',
    { status: [410], action: 'restart_window' },
  ),
};
const stable = field(
  v.optional(v.boolean(), false),
  'True: while it is read the list only grows, and only at its end, as one that is sorted by an id from which nothing is deleted. Then it is not checked whether the pages follow each other.',
);
const EmptyPage = v.picklist(['stop', 'continue']);
const emptyText =
  'Whether a page without items is the last one. Where the API says with `stopWhen` that more follow, it is not: all that the rule names of `body` and `headers` must be there.';
const stopOnEmpty = { ...common, emptyPage: field(v.optional(EmptyPage, 'stop'), emptyText) };
const continueOnEmpty = { ...common, emptyPage: field(v.optional(EmptyPage, 'continue'), emptyText) };

export const Shrink = strictObject({
  when: field(ResponseCondition, 'The responses that mean that a page is too large; all conditions must hold.', {
    status: [413, 500, 'timeout'],
  }),
  min: field(
    v.optional(PageSize, 1),
    'The smallest size. If a page of this size fails as well, the rules of `errors` decide.',
  ),
});
export type Shrink = v.InferOutput<typeof Shrink>;

/** Only for kinds whose position means the same at every page size, or can be converted. */
const shrink = field(
  v.exactOptional(Shrink),
  'Smaller pages where the API fails at a page: the same position is requested again at half the size, at once; this is no retry. The smaller size holds for the rest of the partition, also after a crash. Needs `size`, and a request that sends `page.size`. With page numbers `size` must be `min` doubled any number of times, because only then every number can be converted. Absent: the size never changes.',
  { when: { status: [413, 500, 'timeout'] }, min: 25 },
);
const shrinkNeedsSize = when({ required: ['shrink'] }, { required: ['size'] });

export const Pagination = v.pipe(
  v.variant('kind', [
    strictObject({ kind: field(v.literal('none'), 'One request has all items.'), ...stopOnEmpty }),
    v.pipe(
      strictObject({
        kind: field(
          v.literal('page'),
          'Pages have numbers. Up to `http.rateLimit.maxConcurrent` of them are read at once.',
        ),
        ...stopOnEmpty,
        inject: field(Inject, 'Where the page number goes.', { in: 'query', name: 'page' }),
        start: field(v.optional(wholeNumber(0, 1), 1), 'The number of the first page.'),
        totalPages: field(
          v.exactOptional(Expression),
          'How many pages there are, from a response. Absent: a page with fewer items than `size` is the last.',
          'body.meta.pages',
        ),
        stable,
        shrink,
      }),
      v.metadata(shrinkNeedsSize),
    ),
    strictObject({
      kind: field(v.literal('offset'), 'The position is a number of items.'),
      ...stopOnEmpty,
      size: field(PageSize, sizeText, 100),
      inject: field(Inject, 'Where the offset goes.', { in: 'query', name: 'offset' }),
      step: field(
        v.optional(v.picklist(['returned', 'size']), 'returned'),
        'By how much the offset grows: by the items returned, or by `size` even where a page has fewer.',
      ),
      start: field(v.optional(Position, 0), 'The first offset.'),
      total: field(
        v.exactOptional(Expression),
        'How many items there are, from a response. Absent: a page with fewer items than `size` is the last.',
        'body.total',
      ),
      overlap: field(
        v.exactOptional(Position),
        'Items read again on the next page, because rows move while they are read; repeats are skipped as unchanged. They must be there again, or the list has moved and is read back. Absent: one where a record that is passed over would be missed for good (with `incremental`, `deletes` by `full_scan`, `replace`), else 0. With `step: size` it is 0 behind a page with fewer items than `size`, whose end is looked at again after the last one.',
        5,
      ),
      stable,
      shrink,
    }),
    v.pipe(
      strictObject({
        kind: field(v.literal('cursor'), 'A response has a token for the next page.'),
        ...continueOnEmpty,
        next: field(
          Expression,
          'The token, from a response. Missing, null or an empty text: this was the last page.',
          'body.next_cursor',
        ),
        inject: field(Inject, 'Where the token goes.', { in: 'query', name: 'cursor' }),
        shrink,
      }),
      v.metadata(shrinkNeedsSize),
    ),
    strictObject({
      kind: field(v.literal('next_url'), 'A response has the address of the next page.'),
      ...continueOnEmpty,
      next: field(
        Expression,
        'The address, absolute or relative. Its host must be that of the request or one of `http.allowedHosts`. Missing, null or an empty text: this was the last page.',
        'body.links.next',
      ),
    }),
    strictObject({
      kind: field(
        v.literal('link_header'),
        'The header `Link` of a response has the address of the next page (RFC 8288).',
      ),
      ...continueOnEmpty,
      rel: field(v.optional(v.string(), 'next'), 'The relation of the link to follow.'),
    }),
    v.pipe(
      strictObject({
        kind: field(v.literal('keyset'), 'The next page begins after a field of the last item.'),
        ...stopOnEmpty,
        field: field(FieldPath, 'The field of the last raw item whose value is sent.', 'id'),
        unique: field(
          v.optional(v.boolean(), false),
          'No two items have the same value. True is required where the field is not the `primaryKey` itself: items that share the last value of a page would be passed over.',
        ),
        inject: field(Inject, 'Where the value goes.', { in: 'query', name: 'starting_after' }),
        shrink,
      }),
      v.metadata(shrinkNeedsSize),
    ),
  ]),
  v.metadata({ description: 'How the next page is requested.' }),
);
export type Pagination = v.InferOutput<typeof Pagination>;
