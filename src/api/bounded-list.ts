import * as v from 'valibot';

/** Reports a list of more than `max` items as one issue without checking them: a body has room for 100,000. */
export function boundedList<const Item extends v.GenericSchema>(item: Item, max: number) {
  const list = v.array(item);
  const length = v.maxLength<unknown[], number>(max);
  const checked: typeof list = {
    ...list,
    '~run'(dataset, config) {
      if (!Array.isArray(dataset.value) || dataset.value.length <= max) return list['~run'](dataset, config);
      const { value, issues } = length['~run']({ typed: true, value: dataset.value }, config);
      // Untyped, so that no check of the list follows.
      return { typed: false, value, issues } as ReturnType<(typeof list)['~run']>;
    },
  };
  // Only for the JSON Schema, which takes its number from it.
  return v.pipe(checked, v.maxLength(max));
}

export const distinct = <Item extends string>() =>
  v.rawCheck<Item[]>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const seen = new Set<Item>();
    dataset.value.forEach((value, key) => {
      if (seen.has(value))
        addIssue({
          message: 'is named twice',
          input: value,
          path: [{ type: 'array', origin: 'value', input: dataset.value, key, value }],
        });
      seen.add(value);
    });
  });
