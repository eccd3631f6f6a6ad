import * as v from 'valibot';
import { FieldPath } from '../../json/property-names.ts';
import { strictObject } from '../../strict-object.ts';
import { Expression, HttpStatuses } from './http-schema.ts';

/** Where the page's position goes in the request; `body` takes a dotted path in the JSON body. */
export const Inject = strictObject({
  in: v.picklist(['query', 'header', 'body']),
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
});
export type Inject = v.InferOutput<typeof Inject>;

const PageSize = v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(10_000));
const Position = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const common = {
  /** Items per page; reaches the request as `page.size`. */
  size: v.exactOptional(PageSize),
  /** Per window; reaching it fails the run. */
  maxPages: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(1_000_000)), 10_000),
  /** True: this was the last page. */
  stopWhen: v.exactOptional(Expression),
  /** A token, URL or page hash that was seen before in this window. */
  onRepeat: v.optional(v.picklist(['fail', 'stop']), 'fail'),
  /** The API no longer knows a token. */
  onExpired: v.exactOptional(
    strictObject({
      status: v.optional(HttpStatuses, []),
      action: v.optional(v.picklist(['restart_window', 'fail']), 'fail'),
    }),
  ),
};
const EmptyPage = v.picklist(['stop', 'continue']);
const stopOnEmpty = { ...common, emptyPage: v.optional(EmptyPage, 'stop') };
const continueOnEmpty = { ...common, emptyPage: v.optional(EmptyPage, 'continue') };

/** How the next page is requested, by kind. */
export const Pagination = v.variant('kind', [
  strictObject({ kind: v.literal('none'), ...stopOnEmpty }),
  strictObject({
    kind: v.literal('page'),
    ...stopOnEmpty,
    inject: Inject,
    start: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(1)), 1),
    totalPages: v.exactOptional(Expression),
  }),
  strictObject({
    kind: v.literal('offset'),
    ...stopOnEmpty,
    size: PageSize,
    inject: Inject,
    /** The offset grows by the items returned, or by `size`. */
    step: v.optional(v.picklist(['returned', 'size']), 'returned'),
    start: v.optional(Position, 0),
    total: v.exactOptional(Expression),
    /** Items read again on the next page, because rows move while they are read. */
    overlap: v.exactOptional(Position),
  }),
  strictObject({ kind: v.literal('cursor'), ...continueOnEmpty, next: Expression, inject: Inject }),
  strictObject({ kind: v.literal('next_url'), ...continueOnEmpty, next: Expression }),
  strictObject({ kind: v.literal('link_header'), ...continueOnEmpty, rel: v.optional(v.string(), 'next') }),
  strictObject({
    kind: v.literal('keyset'),
    ...stopOnEmpty,
    /** Of the last raw item. */
    field: FieldPath,
    inject: Inject,
  }),
]);
export type Pagination = v.InferOutput<typeof Pagination>;
