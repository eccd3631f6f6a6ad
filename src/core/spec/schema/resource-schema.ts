import * as v from 'valibot';
import { JsonObject, mapOf } from '../../json/json-object.ts';
import { Auth } from './auth-schema.ts';
import { Deletes } from './deletes-schema.ts';
import { Target } from './destination-schema.ts';
import { field, when, wholeNumber } from './field.ts';
import { FieldChunks } from './field-chunks-schema.ts';
import { ErrorRule, Expression, RequestTemplate } from './http-schema.ts';
import { Incremental } from './incremental-schema.ts';
import { ReportJob } from './job-schema.ts';
import { Enrichment } from './lookup-schema.ts';
import { FieldPath, Identifier, Selector } from './names.ts';
import { Pagination } from './pagination-schema.ts';
import { ForEach } from './partitions-schema.ts';
import { strictObject } from './strict-object.ts';

export const ResponseSettings = strictObject({
  decoder: field(
    v.optional(v.picklist(['json', 'jsonl', 'csv', 'xml', 'text']), 'json'),
    'The form of a body. `jsonl`: one JSON value per line. `csv`: objects under the names of the header row, all values strings. `xml`: an object with the root element as its field; attributes `@name`, text `#text`, repeated elements a list, all values strings. `text`: the object `{ "text": … }`. Each also from a gzip file or a zip archive of one file.',
  ),
  records: field(
    v.optional(Selector, '$'),
    'Where the body has its records: a list, or an object that is one record. `$` is the whole body. A `*` for a name is every element of a list, or every value of an object, in the order of the body (names that are whole numbers first): `accounts.*.items.*` are the items of all accounts. With a `*` each value that the path finds is one record, even a list. Up to 8 `*`; none with `decoder: xml`, where a list of one is no list.',
    'data.items',
  ),
  recordsMissing: field(
    v.optional(v.picklist(['fail', 'empty']), 'fail'),
    'What happens when nothing is there, or nothing at one of the places that a `*` leads to: the run fails with `source_rejected`, or that place has no records, deletes are not inferred from this read, and its watermark stays.',
  ),
  map: field(
    v.exactOptional(Expression),
    'Over one item: the record that is made of it, before everything else. Absent: the item.',
    "$merge([data.object, { 'event_at': created }])",
  ),
  addFields: field(
    v.optional(mapOf(v.string(), Expression), {}),
    'Fields added to every record of a page, the same for all. A field that changes with each run (`run.id`, `window`, `watermark`) makes every record look changed, unless it is in `changeDetection.ignore`.',
    { project: 'each.project' },
  ),
  successWhen: field(
    v.exactOptional(Expression),
    'Over the body: false, and the response is an error although its status is 2xx. Absent: the status decides.',
    '$exists(data)',
  ),
  total: field(
    v.exactOptional(Expression),
    'Over the body: how many records the window has, for `incremental.resultCap`.',
    'total',
  ),
  bigNumbers: field(
    v.optional(v.picklist(['string', 'number']), 'string'),
    '`string`: integers beyond 2^53-1 become decimal strings; as numbers they lose digits.',
  ),
});
export type ResponseSettings = v.InferOutput<typeof ResponseSettings>;

const ChangeDetection = v.pipe(
  strictObject({
    mode: field(
      v.optional(v.picklist(['hash', 'field', 'none']), 'hash'),
      '`hash`: a record equal to the one delivered last is skipped. `field`: one with the same version field. `none`: every record is delivered, which `append` feeds need; with `target.mode: replace` it is always so.',
    ),
    field: field(
      v.exactOptional(FieldPath),
      'The version field compared by mode `field`; a record without a value there is compared as a whole.',
      'etag',
    ),
    ignore: field(
      v.optional(v.pipe(v.array(FieldPath), v.maxLength(200)), []),
      'Fields that do not count as a change.',
      ['_links', 'fetched_at'],
    ),
    versionGuard: field(
      v.exactOptional(v.boolean()),
      'True: a record with a cursor lower than the stored one, times by a second at least, is stale and skipped. Absent: true with `incremental` of kind `cursor`.',
    ),
    lookups: field(
      v.optional(v.pipe(v.array(v.string()), v.maxLength(100)), []),
      'Lookups whose change counts as a change of every record that is fetched.',
      [],
    ),
  }),
  v.metadata(when({ properties: { mode: { const: 'field' } }, required: ['mode'] }, { required: ['field'] })),
);

const PrimaryKey = v.pipe(
  field(
    v.lazy((input) => (Array.isArray(input) ? v.pipe(v.array(FieldPath), v.minLength(1), v.maxLength(8)) : FieldPath)),
    'The fields of the raw record that identify it, as dotted paths: one, or a list of up to 8. A record without a value in each is invalid.',
    'id',
  ),
  v.transform((key): readonly string[] => (typeof key === 'string' ? [key] : key)),
);

const RecordRules = strictObject({
  schema: field(
    JsonObject,
    'A JSON Schema (draft 7) of the transformed record. `x-type` names a column type; columns and their types follow from `properties`.',
    { type: 'object', required: ['id'], properties: { id: { type: 'string' }, price: { 'x-type': 'numeric(18,4)' } } },
  ),
  coerce: field(
    v.optional(v.boolean(), false),
    'Converts a scalar of another type to one that `type` names, where nothing is lost: `"12"` to 12, `"true"` to true, 12 to `"12"`. In `properties`, `items`, `additionalProperties`, `allOf` and `$ref`, not in choices.',
  ),
  maxInvalidRatio: field(
    v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
    'The brake: above this share of invalid records among those that the run has read, it fails with `record_invalid`. Checked before each delivery once 100 records were read, and always before the last; earlier deliveries stay. Records that the destination rejects do not count.',
  ),
});

const Limits = strictObject({
  maxRecords: field(
    v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
    'Ends the run as `partial` after the page that reaches it; the next one continues from the watermark, so it needs an ascending cursor (with page numbers `pagination.stable`, too) or a `window`. Absent: no limit.',
    1_000_000,
  ),
  maxDurationSeconds: field(
    v.optional(wholeNumber(1, 604_800), 21_600),
    'The same after this many seconds; if the API requires a wait that would last longer, the run ends at once.',
  ),
});

export const Resource = v.pipe(
  strictObject({
    key: field(
      Identifier,
      'The name of the resource. Syncs, schedules and the default table use it; no other resource of the spec has it.',
      'accounts',
    ),
    name: field(
      v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(200))),
      'The name shown to people. Absent: the key.',
      'Accounts',
    ),
    description: field(v.exactOptional(v.string()), 'What the records are, for people.', 'Customers and prospects'),
    primaryKey: PrimaryKey,
    auth: field(v.exactOptional(Auth), "How the requests of this resource authenticate. Absent: the spec's `auth`.", {
      kind: 'none',
    }),
    dependsOn: field(
      v.pipe(v.optional(v.array(v.string()), []), v.metadata({ maxItems: 200 })),
      'Keys of resources whose running or earlier queued runs a run of this resource waits for, as it does for those of `forEach`.',
      [],
    ),
    forEach: field(
      v.pipe(v.optional(v.array(ForEach), []), v.metadata({ maxItems: 4 })),
      'Reads the resource once for each value: a partition, with a watermark of its own. Several entries give all combinations.',
      [{ as: 'project', values: '{{ params.projects }}' }],
    ),
    request: field(RequestTemplate, 'The request of a page.', { path: '/accounts' }),
    fieldChunks: field(
      v.exactOptional(FieldChunks),
      'A list of fields that is too long for one request: each page is requested once for each chunk of it, and the records are merged. The request sends `chunk.fields`. Absent: one request for each page.',
      { fields: '{{ params.fields }}', always: ['id'], size: 100, join: ',' },
    ),
    job: field(
      v.exactOptional(ReportJob),
      'The records are in a report that the API makes in the background: `request` reads it once it is ready, page by page as always. Absent: `request` reads the records at once.',
      {
        create: { method: 'POST', path: '/exports' },
        id: 'body.id',
        poll: { path: '/exports/{{ job.id }}' },
        status: 'body.status',
        completed: ['completed'],
        failed: ['failed'],
      },
    ),
    response: field(v.optional(ResponseSettings, {}), 'How the records are found in a response.', { records: 'data' }),
    pagination: field(v.optional(Pagination, { kind: 'none' }), 'How the next page is requested.', {
      kind: 'next_url',
      next: 'body.next',
    }),
    incremental: field(
      v.exactOptional(Incremental),
      'How a read starts where the last one ended. Absent: every run is a full read.',
      { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
    ),
    errors: field(
      v.pipe(v.optional(v.array(ErrorRule), []), v.metadata({ maxItems: 100 })),
      'What a response means for this resource, before the rules of `http.errors`; the first rule that matches wins.',
      [{ when: { status: [404] }, action: 'skip_partition' }],
    ),
    filter: field(
      v.exactOptional(Expression),
      'Over the raw record: false, and it is counted as skipped. One that was delivered before is then deleted, unless `deletes` are not found: its row stays, and the run notes `left_filter`. It may not depend on the time where only changes are read. Absent: every record.',
      "status != 'test'",
    ),
    changeDetection: field(v.optional(ChangeDetection, {}), 'Which records count as unchanged and are skipped.', {
      ignore: ['fetched_at'],
    }),
    enrich: field(
      v.pipe(v.optional(v.array(Enrichment), []), v.metadata({ maxItems: 16 })),
      'Requests for each changed record, whose results the transform sees.',
      [{ assignTo: 'plan', request: { path: '/plans/{{ key }}' }, key: 'record.plan_id' }],
    ),
    transform: field(
      v.exactOptional(Expression),
      'Over the raw record: the object that is delivered. Absent: the raw record as it is.',
      "{ 'id': id, 'name': name, 'country': $lookup($lookups.countries, country) }",
    ),
    transformNulls: field(
      v.optional(v.picklist(['keep', 'missing']), 'keep'),
      '`missing`: JSON null is removed before the transform, so that functions of JSONata do not fail on it.',
    ),
    validate: field(
      v.exactOptional(RecordRules),
      'The rules of a transformed record. Absent: every record is valid, and columns follow from the values.',
      { schema: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } } },
    ),
    onInvalid: field(
      v.optional(v.picklist(['fail', 'quarantine', 'skip']), 'fail'),
      'What happens with an invalid record: the run fails with `record_invalid`, the record is quarantined and the run is `partial`, or it is skipped. One that a webhook receiver rejects by name is quarantined or fails the run, never skipped.',
    ),
    deletes: field(v.optional(Deletes, { mode: 'none' }), 'How records deleted in the API are found.', {
      mode: 'flag',
      when: 'archived',
    }),
    target: field(v.optional(Target, {}), 'The table that the records go to.', { table: 'accounts' }),
    limits: field(v.optional(Limits, {}), 'How much one run reads.', { maxRecords: 1_000_000 }),
  }),
  v.transform(({ fieldChunks, ...resource }) => ({
    ...resource,
    ...(fieldChunks && { fieldChunks: { ...fieldChunks, mergeBy: fieldChunks.mergeBy ?? resource.primaryKey } }),
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

/** Default table of a resource: its key with `-` as `_`. */
export const defaultTable = (resourceKey: string): string => resourceKey.replaceAll('-', '_');
