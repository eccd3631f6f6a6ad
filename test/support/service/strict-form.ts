import * as v from 'valibot';

/** The schema with every object closed: a field too many, such as a secret that leaked, fails it. */
export function strictForm(schema: v.GenericSchema): v.GenericSchema {
  const form = schema as Schema;
  if (form.pipe) {
    const [first, ...rest] = form.pipe;
    return v.pipe(strictForm(first), ...(rest as []));
  }
  if (form.type === 'object' && form.entries) {
    const entries = Object.entries(form.entries).map(([key, entry]) => [key, strictForm(entry)]);
    return v.strictObject(Object.fromEntries(entries));
  }
  if (form.type === 'array' && form.item) return v.array(strictForm(form.item));
  if (form.type === 'nullable' && form.wrapped) return v.nullable(strictForm(form.wrapped));
  if (form.type === 'optional' && form.wrapped) return v.optional(strictForm(form.wrapped));
  if (form.type === 'variant' && form.options) return v.union(form.options.map(strictForm));
  return schema;
}

/** The parts of valibot's schemas that hold other schemas. */
interface Schema extends v.GenericSchema {
  readonly pipe?: readonly [v.GenericSchema, ...unknown[]];
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly item?: v.GenericSchema;
  readonly wrapped?: v.GenericSchema;
  readonly options?: readonly v.GenericSchema[];
}
