import * as v from 'valibot';
import { JsonObject } from '../../json/json-value.ts';
import { FieldPath, Identifier, Selector, VariableName } from '../../json/property-names.ts';
import { mapOf, strictObject } from '../../strict-object.ts';
import { Auth } from './auth-schema.ts';
import { Target } from './destination-schema.ts';
import { ErrorRule, Expression, RequestTemplate, Template } from './http-schema.ts';
import { Incremental } from './incremental-schema.ts';
import { Enrichment } from './lookup-schema.ts';
import { Pagination } from './pagination-schema.ts';

/** One dimension of the partitions of a resource; exactly one of `values` and `resource`. */
const ForEach = strictObject({
  as: VariableName,
  /** A template that gives a list. */
  values: v.exactOptional(Template),
  resource: v.exactOptional(v.string()),
  /** `store`: parents already synced; `live`: read again in this run. */
  from: v.optional(v.picklist(['live', 'store']), 'live'),
  /** `changed`: parents changed since this partition's last success. */
  select: v.optional(v.picklist(['all', 'changed']), 'all'),
  /** Over the parent's stored fields. */
  when: v.exactOptional(Expression),
});

/** How the records are found in a response. */
export const ResponseSettings = strictObject({
  /**
   * `jsonl`: one JSON value per line. `csv`: objects under the names of the header row, all values strings. `xml`: an
   * object with the root element as its field; attributes `@name`, text `#text`, repeated elements a list, all values
   * strings. `text`: the object `{ "text": … }`. Each also from a gzip file or a zip archive of one file.
   */
  decoder: v.optional(v.picklist(['json', 'jsonl', 'csv', 'xml', 'text']), 'json'),
  /** Gives a list, or an object that is one record. */
  records: v.optional(Selector, '$'),
  recordsMissing: v.optional(v.picklist(['fail', 'empty']), 'fail'),
  map: v.exactOptional(Expression),
  /**
   * The same for every record of a page. A field that changes with each run (`run.id`, `window`, `watermark`) makes
   * every record look changed, unless it is in `changeDetection.ignore`.
   */
  addFields: v.optional(mapOf(v.string(), Expression), {}),
  successWhen: v.exactOptional(Expression),
  total: v.exactOptional(Expression),
  /** `string`: integers beyond 2^53-1 become decimal strings. */
  bigNumbers: v.optional(v.picklist(['string', 'number']), 'string'),
});
export type ResponseSettings = v.InferOutput<typeof ResponseSettings>;

const Effect = v.optional(v.picklist(['soft', 'hard']), 'soft');

/** How records deleted in the API are found. */
const Deletes = v.variant('mode', [
  strictObject({ mode: v.literal('none') }),
  strictObject({ mode: v.literal('flag'), when: Expression, effect: Effect }),
  strictObject({
    mode: v.literal('full_scan'),
    scope: v.optional(v.picklist(['resource', 'partition']), 'resource'),
    effect: Effect,
    /** The brake: if more than this share is missing, and at least minRecords, no tombstone is sent. */
    maxRatio: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0.3),
    minRecords: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0)), 20),
  }),
  strictObject({
    mode: v.literal('endpoint'),
    request: RequestTemplate,
    key: Expression,
    records: v.optional(Selector, '$'),
    pagination: v.optional(Pagination, { kind: 'none' }),
    stopWhen: v.exactOptional(Expression),
    effect: Effect,
  }),
]);

/** Which records count as unchanged. */
const ChangeDetection = strictObject({
  mode: v.optional(v.picklist(['hash', 'field', 'none']), 'hash'),
  /** The version field compared by mode `field`; a record without a value there is compared as a whole. */
  field: v.exactOptional(FieldPath),
  /** Removed before hashing. */
  ignore: v.optional(v.pipe(v.array(FieldPath), v.maxLength(200)), []),
  /** A record with a cursor lower than the stored one is stale and skipped. */
  versionGuard: v.exactOptional(v.boolean()),
  /** Lookups whose table hash enters the record's. */
  lookups: v.optional(v.pipe(v.array(v.string()), v.maxLength(100)), []),
});

const PrimaryKey = v.pipe(
  v.lazy((input) => (Array.isArray(input) ? v.pipe(v.array(FieldPath), v.minLength(1), v.maxLength(8)) : FieldPath)),
  v.transform((key): readonly string[] => (typeof key === 'string' ? [key] : key)),
);

/** One kind of record: where it is read, how it is transformed, where it goes. */
export const Resource = v.pipe(
  strictObject({
    key: Identifier,
    name: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(200))),
    description: v.exactOptional(v.string()),
    /** Dotted paths into the raw record. */
    primaryKey: PrimaryKey,
    auth: v.exactOptional(Auth),
    dependsOn: v.optional(v.array(v.string()), []),
    forEach: v.optional(v.array(ForEach), []),
    request: RequestTemplate,
    response: v.optional(ResponseSettings, {}),
    pagination: v.optional(Pagination, { kind: 'none' }),
    /** Absent: every run is a full read. */
    incremental: v.exactOptional(Incremental),
    errors: v.optional(v.array(ErrorRule), []),
    /** False: the record is counted as skipped. */
    filter: v.exactOptional(Expression),
    changeDetection: v.optional(ChangeDetection, {}),
    enrich: v.optional(v.array(Enrichment), []),
    /** Absent: the raw record as it is. */
    transform: v.exactOptional(Expression),
    /** `missing`: JSON null is removed before the transform. */
    transformNulls: v.optional(v.picklist(['keep', 'missing']), 'keep'),
    validate: v.exactOptional(
      strictObject({
        schema: JsonObject,
        /**
         * Converts a scalar of another type to one that `type` names, where nothing is lost: `"12"` to 12, `"true"` to
         * true, 12 to `"12"`. In `properties`, `items`, `additionalProperties`, `allOf` and `$ref`, not in choices.
         */
        coerce: v.optional(v.boolean(), false),
        /**
         * The brake: above this share of invalid records among those that the run has read, it fails with
         * `record_invalid`. Checked before each delivery once 100 records were read, and always before the last;
         * earlier deliveries stay. Records that the destination rejects do not count.
         */
        maxInvalidRatio: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
      }),
    ),
    /**
     * For invalid records. One that a webhook receiver rejects by name is quarantined or fails the run, never skipped.
     */
    onInvalid: v.optional(v.picklist(['fail', 'quarantine', 'skip']), 'fail'),
    deletes: v.optional(Deletes, { mode: 'none' }),
    target: v.optional(Target, {}),
    limits: v.optional(
      strictObject({
        /** Ends the run as `partial` after the page that reaches it; the next one continues from the watermark. */
        maxRecords: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
        /** The same; if the API requires a wait that would last longer, the run ends at once. */
        maxDurationSeconds: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(604_800)), 21_600),
      }),
      {},
    ),
  }),
  v.transform((resource) => ({
    ...resource,
    target: { ...resource.target, table: resource.target.table ?? defaultTable(resource.key) },
    changeDetection: {
      ...resource.changeDetection,
      // A replaced table needs every record of every run.
      mode: resource.target.mode === 'replace' ? 'none' : resource.changeDetection.mode,
      versionGuard: resource.changeDetection.versionGuard ?? resource.incremental?.kind === 'cursor',
    },
  })),
);
export type Resource = v.InferOutput<typeof Resource>;

/** The table of a resource that names none: its key with `-` as `_`. */
export const defaultTable = (resourceKey: string): string => resourceKey.replaceAll('-', '_');
