import * as v from 'valibot';
import { field } from './field.ts';
import { Expression, RequestTemplate } from './http-schema.ts';
import { Selector } from './names.ts';
import { Pagination } from './pagination-schema.ts';
import { strictObject } from './strict-object.ts';

const Effect = field(
  v.optional(v.picklist(['soft', 'hard']), 'soft'),
  'What a deletion does at the destination: `soft` sets `_deleted_at`, `hard` deletes the row.',
);

/** How records deleted in the API are found. */
export const Deletes = v.pipe(
  v.variant('mode', [
    strictObject({ mode: field(v.literal('none'), 'Deletions are not noticed.') }),
    strictObject({
      mode: field(v.literal('flag'), 'The API returns deleted records and marks them.'),
      when: field(Expression, 'Over the raw record: true, it is deleted, and not validated.', "status = 'deleted'"),
      effect: Effect,
    }),
    strictObject({
      mode: field(
        v.literal('full_scan'),
        'A known record that a complete read does not have is deleted. Only without `incremental`.',
      ),
      scope: field(
        v.optional(v.picklist(['resource', 'partition']), 'resource'),
        'What is compared: the whole resource, or each partition that was read; then records of a parent that no longer exists stay.',
      ),
      effect: Effect,
      maxRatio: field(
        v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0.3),
        'The brake: if more than this share of the known records is missing, and at least `minRecords`, nothing is deleted and the run is `partial`.',
      ),
      minRecords: field(
        v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0)), 20),
        'Missing records below this number are always deleted.',
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
        'True after a page: the rest of the list is known already. Absent: the list is read whole.',
        'last.deleted_at < watermark',
      ),
      effect: Effect,
    }),
  ]),
  v.metadata({ description: 'How deleted records are found.' }),
);
