import * as v from 'valibot';
import { field, wholeNumber } from './field.ts';
import { Expression, RequestTemplate } from './http-schema.ts';
import { Selector } from './names.ts';
import { Pagination } from './pagination-schema.ts';
import { strictObject } from './strict-object.ts';

const Effect = field(
  v.optional(v.picklist(['soft', 'hard']), 'soft'),
  'What a deletion does at the destination: `soft` sets `_deleted_at`, `hard` deletes the row.',
);

/** A share of the known records. */
export const Ratio = v.pipe(v.number(), v.minValue(0), v.maxValue(1));
export const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
/** Default brake on deletes concluded from absence. */
export const brakeDefaults = { maxRatio: 0.3, minRecords: 20 } as const;

const brake = (what: string) => ({
  maxRatio: field(
    v.optional(Ratio, brakeDefaults.maxRatio),
    `The brake: if a run would delete more than this share of all known records, and at least \`minRecords\`, it deletes none, ${what}, and ends \`partial\`. 1: no brake.`,
  ),
  minRecords: field(v.optional(Count, brakeDefaults.minRecords), 'Fewer records are deleted whatever their share is.'),
});

export const Deletes = v.pipe(
  v.variant('mode', [
    strictObject({ mode: field(v.literal('none'), 'Deletions are not noticed.') }),
    strictObject({
      mode: field(v.literal('flag'), 'The API returns deleted records and marks them.'),
      when: field(Expression, 'Over the raw record: true, it is deleted, and not validated.', "status = 'deleted'"),
      effect: Effect,
      ...brake('keeps in mind which records say so'),
    }),
    strictObject({
      mode: field(
        v.literal('full_scan'),
        'A known record that a complete read does not have is deleted. Only without `incremental`.',
      ),
      scope: field(
        v.optional(v.picklist(['resource', 'partition']), 'resource'),
        'What is compared: the whole resource, or each partition that was read; then records of a parent that no longer exists stay. A record of several partitions is deleted once none of them has it.',
      ),
      effect: Effect,
      maxRatio: field(
        v.optional(Ratio, brakeDefaults.maxRatio),
        'The brake: if more than this share of all known records is missing, and at least `minRecords`, nothing is deleted and the run is `partial`. So it is when every known record is missing and the run read none at all. 1: no brake.',
      ),
      minRecords: field(
        v.optional(Count, brakeDefaults.minRecords),
        'Missing records below this number are deleted, unless the run read none at all.',
      ),
      confirm: field(
        v.optional(wholeNumber(1, 5), 1),
        'How many complete reads in a row must lack a record before it is deleted: more than 1 for an API whose lists leave out records at times.',
        2,
      ),
    }),
    strictObject({
      mode: field(v.literal('endpoint'), 'The API has a list of deleted records, read after the others.'),
      request: field(RequestTemplate, 'The request that reads the list.', { path: '/accounts/deleted' }),
      key: field(Expression, 'Over an item of the list: the primary key of the deleted record.', 'id'),
      records: field(v.optional(Selector, '$'), 'Where a response has its items.', 'data'),
      pagination: field(v.optional(Pagination, { kind: 'none' }), 'How the next page of the list is requested.', {
        kind: 'next_url',
        next: 'body.next',
      }),
      stopWhen: field(
        v.exactOptional(Expression),
        'True after a page: the rest of the list is known already. `watermark` is that of the last time when the list was read to its end; at first it is read whole. Absent: it always is.',
        'last.deleted_at < watermark',
      ),
      at: field(
        v.exactOptional(Expression),
        'Over an item of the list: when the record was deleted, as `incremental.cursor` writes its values, or in ISO 8601. A record whose cursor is later lives: it was created again. Absent: a record that is read after the list has named it does.',
        'deleted_at',
      ),
      effect: Effect,
      ...brake('keeps in mind what the lists have named'),
    }),
  ]),
  v.metadata({ description: 'How deleted records are found.' }),
);
