import { isJsonObject } from '../../json/is-json-object.ts';
import { joined } from './constructors.ts';
import { charge, type Evaluation, fail, handBack } from './evaluation.ts';
import { type Native, native } from './native.ts';
import { isReservedName } from './plain-json.ts';
import { isList, type List, sequenceOf } from './sequence.ts';
import { areEqual, fieldOf, pushAll } from './values.ts';

export const listFunctions: Readonly<Record<string, Native>> = {
  count: native('<a:n>', ([items]) => (isList(items) ? items.length : 0)),
  append: native('<xx:a>', ([first, second], evaluation) => joined(first, second, evaluation)),
  reverse: native('<a:a>', ([items], evaluation) => {
    if (!isList(items) || items.length <= 1) return items;
    charge(evaluation, items.length);
    return items.toReversed();
  }),
  distinct: native('<x:x>', ([value], evaluation) =>
    isList(value) && value.length > 1 ? distinct(value, evaluation) : value,
  ),
  exists: native('<x:b>', ([value]) => value !== undefined),
  type: native('<x:s>', ([value]) => (value === undefined ? undefined : typeName(value))),
  lookup: native('<x-s:x>', ([value, key], evaluation) => fieldOf(value, String(key), evaluation)),
  keys: native('<x-:a<s>>', ([value], evaluation) => keys(value, evaluation)),
  spread: native('<x-:a<o>>', ([value], evaluation) => spread(value, evaluation)),
  merge: native('<a<o>:o>', ([objects], evaluation) => (isList(objects) ? merge(objects, evaluation) : undefined)),
  error: native('<s?:x>', () => fail('D3137')),
  assert: native('<bs?:x>', ([condition]) => (condition === true ? undefined : fail('D3141'))),
};

function distinct(items: List, evaluation: Evaluation): List {
  const results: List = [];
  if (items.sequence === true) results.sequence = true;
  for (const item of items) {
    charge(evaluation, results.length + 1);
    if (!results.some((known) => areEqual(item, known, evaluation))) results.push(item);
  }
  return results;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (isList(value)) return 'array';
  return typeof value;
}

function keys(value: unknown, evaluation: Evaluation): List {
  if (!isList(value)) {
    const names = sequenceOf();
    if (isJsonObject(value)) pushAll(names, Object.keys(value), evaluation);
    return names;
  }
  charge(evaluation, value.length);
  // An object, because it puts names that are numbers first.
  const all: Record<string, true> = {};
  for (const item of value) for (const name of keys(item, evaluation)) all[String(name)] = true;
  return keys(all, evaluation);
}

function spread(value: unknown, evaluation: Evaluation): unknown {
  if (isList(value)) {
    let all: unknown = sequenceOf();
    for (const item of value) {
      if (isList(all)) charge(evaluation, all.length);
      all = joined(all, spread(item, evaluation), evaluation);
    }
    return all;
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value);
  charge(evaluation, entries.length);
  const parts = sequenceOf();
  pushAll(
    parts,
    entries.map(([key, item]) => ({ [key]: item })),
    evaluation,
  );
  return parts;
}

function merge(objects: readonly unknown[], evaluation: Evaluation): Readonly<Record<string, unknown>> {
  const merged: Record<string, unknown> = {};
  for (const object of objects) {
    const entries = Object.entries(isJsonObject(object) ? object : handBack());
    charge(evaluation, entries.length + 1);
    for (const [key, value] of entries) merged[key] = isReservedName(key) ? handBack() : value;
  }
  return merged;
}
