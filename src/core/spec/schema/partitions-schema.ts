import * as v from 'valibot';
import { field, wholeNumber } from './field.ts';
import { Expression, Template } from './http-schema.ts';
import { FieldPath, VariableName } from './names.ts';
import { strictObject } from './strict-object.ts';

const source = {
  values: field(
    v.exactOptional(Template),
    'A template that gives a list; each item is a partition. Either this or `resource`.',
    '{{ params.projects }}',
  ),
  resource: field(
    v.exactOptional(v.string()),
    'The key of another resource; each of its records is a partition. Either this or `values`.',
    'accounts',
  ),
  from: field(
    v.optional(v.picklist(['live', 'store']), 'live'),
    '`store`: parents that earlier runs of that resource have delivered. `live`: they are read again in this run.',
  ),
  when: field(
    v.exactOptional(Expression),
    "Over the parent's stored fields: false leaves the parent out. Absent: every parent.",
    'notes_count > 0',
  ),
  value: field(
    v.exactOptional(FieldPath),
    'The field of the parent that `each.<as>` is. A parent without a value there fails the run; leave it out with `when`. Absent: `each.<as>` is the record, with the fields that are used.',
    'id',
  ),
};
const oneSource = { oneOf: [{ required: ['values'] }, { required: ['resource'] }] };

const Group = strictObject({
  size: field(
    wholeNumber(1, 1000),
    'Values of one request, in the order of the list; the last group may have fewer.',
    50,
  ),
  join: field(
    v.exactOptional(v.string()),
    'The text between two values: `each.<as>` is one text. Absent: `each.<as>` is a list.',
    ',',
  ),
});

export const ForEach = v.pipe(
  strictObject({
    as: field(VariableName, 'The name of the value in expressions: `each.<as>`.', 'project'),
    values: source.values,
    resource: source.resource,
    from: source.from,
    select: field(
      v.optional(v.picklist(['all', 'changed']), 'all'),
      "`changed`: only parents that changed since their partition's last success.",
    ),
    when: source.when,
    value: source.value,
    union: field(
      v.exactOptional(
        v.pipe(v.array(v.pipe(strictObject(source), v.metadata(oneSource))), v.metadata({ maxItems: 8 })),
      ),
      'Several lists, one after the other, instead of `values` or `resource`: the resource is read for each value of each of them. Equal ids of two resources are two partitions.',
      [{ resource: 'accounts', value: 'id' }, { values: '{{ params.projects }}' }],
    ),
    group: field(
      v.exactOptional(Group),
      'Several values in one request. A group is one partition; one whose values change is a new one and is read from the beginning, so nothing of a new value is missed. Needs `value` for records. Absent: a request for each value.',
      { size: 50, join: ',' },
    ),
  }),
  v.metadata({ oneOf: [{ required: ['values'] }, { required: ['resource'] }, { required: ['union'] }] }),
);
