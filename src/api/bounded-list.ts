import * as v from 'valibot';

/**
 * A list of at most `max` items in a body or a form. A longer one is one issue and nothing of it is looked at: a body has
 * room for 100,000 items, each of which would be checked and reported.
 */
export function boundedList<const Item extends v.GenericSchema>(item: Item, max: number) {
  const list = v.array(item);
  const length = v.maxLength<unknown[], number>(max);
  const checked: typeof list = {
    ...list,
    '~run'(dataset, config) {
      if (!Array.isArray(dataset.value) || dataset.value.length <= max) return list['~run'](dataset, config);
      const { value, issues } = length['~run']({ typed: true, value: dataset.value }, config);
      // Without its type, so that no check of the list follows.
      return { typed: false, value, issues } as ReturnType<(typeof list)['~run']>;
    },
  };
  // It checks nothing anew: the JSON Schema has its number from it.
  return v.pipe(checked, v.maxLength(max));
}

/** Refuses the items of a list that are there before, each with its place. */
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
