import * as v from 'valibot';
import { JsonObject } from '../../json/json-value.ts';
import { Selector, VariableName } from '../../json/property-names.ts';
import { strictObject } from '../../strict-object.ts';
import { Expression, RequestTemplate } from './http-schema.ts';
import { Pagination } from './pagination-schema.ts';

const Seconds = v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(2_592_000));
const DependsOn = v.optional(v.array(v.string()), []);

/** A table seen by every resource as `$lookups.<assignTo>`, loaded at most once per run. */
export const Lookup = v.variant('kind', [
  strictObject({ kind: v.literal('static'), assignTo: VariableName, table: JsonObject }),
  strictObject({
    kind: v.literal('request'),
    assignTo: VariableName,
    request: RequestTemplate,
    records: v.optional(Selector, '$'),
    /** Over the item: its key in the table; of equal keys the last wins. */
    keyBy: Expression,
    /** Over the item; `$` is the whole item. */
    value: v.optional(Expression, '$'),
    pagination: v.optional(Pagination, { kind: 'none' }),
    dependsOn: DependsOn,
    maxEntries: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(1_000_000)), 100_000),
    cache: v.optional(
      strictObject({
        scope: v.optional(v.picklist(['run', 'connection']), 'run'),
        ttlSeconds: v.exactOptional(Seconds),
      }),
      {},
    ),
  }),
]);
export type Lookup = v.InferOutput<typeof Lookup>;

/** A step per changed record whose result is `$lookups.<assignTo>`. */
export const Enrichment = strictObject({
  assignTo: VariableName,
  request: RequestTemplate,
  /** Cache and dedupe key; the same key is fetched once per page. */
  key: v.exactOptional(Expression),
  /** False: no request, the value is missing. */
  when: v.exactOptional(Expression),
  dependsOn: DependsOn,
  /** One request for up to `size` keys. */
  batch: v.exactOptional(
    strictObject({
      size: v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(1000)),
      results: Expression,
      keyBy: Expression,
    }),
  ),
  select: v.exactOptional(Expression),
  cache: v.optional(
    strictObject({
      scope: v.optional(v.picklist(['none', 'run', 'connection']), 'run'),
      ttlSeconds: v.exactOptional(Seconds),
      negativeTtlSeconds: v.exactOptional(Seconds),
    }),
    {},
  ),
  /** 404, or the key is missing in the batch response. */
  onMissing: v.optional(v.picklist(['null', 'fail', 'quarantine']), 'null'),
  /** After retries. */
  onError: v.optional(v.picklist(['fail', 'null', 'quarantine']), 'fail'),
});
export type Enrichment = v.InferOutput<typeof Enrichment>;
