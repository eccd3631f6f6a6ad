import * as v from 'valibot';
import { field, wholeNumber } from './field.ts';
import { Template } from './http-schema.ts';
import { FieldPath } from './names.ts';
import { strictObject } from './strict-object.ts';

const Names = v.pipe(v.array(v.string()), v.maxLength(10_000));

export const FieldChunks = v.pipe(
  strictObject({
    fields: field(
      v.union([Template, Names], 'expected a list of names, or a template that gives one'),
      'The names of the fields: a list, or a template that gives one.',
      '{{ params.fields }}',
    ),
    always: field(
      v.optional(Names, []),
      'Names that are in every chunk, before its own; those of `mergeBy` if the API does not return them by itself.',
      ['id', 'updated_at'],
    ),
    size: field(
      v.exactOptional(wholeNumber(1, 10_000)),
      'Names of one chunk at most, besides those of `always`. Absent: any number. One of `size` and `maxLength` is required.',
      100,
    ),
    maxLength: field(
      v.exactOptional(wholeNumber(1, 100_000)),
      'Characters of one chunk at most, `always` and one character between two names included. Absent: any number.',
      2000,
    ),
    join: field(
      v.exactOptional(v.string()),
      'The text between two names: `chunk.fields` is one text. Absent: `chunk.fields` is a list.',
      ',',
    ),
    mergeBy: field(
      v.exactOptional(v.pipe(v.array(FieldPath), v.minLength(1), v.maxLength(8))),
      'Fields of the raw items by which the parts of a record are found, before `response.map`. Absent: `primaryKey`.',
      ['id'],
    ),
    onMissing: field(
      v.optional(v.picklist(['fail', 'keep']), 'fail'),
      'What happens with a record that is not in every chunk of its page. `fail`: it changed while it was read, so the page is read again, and the run fails with `source_unavailable` when that does not help. `keep`: the API leaves out records that have none of the fields; such a record has only the fields of the other chunks.',
    ),
  }),
  v.metadata({
    anyOf: [{ required: ['size'] }, { required: ['maxLength'] }],
    description: 'One request for each chunk of the fields, at the same position; records are merged by key.',
  }),
);
