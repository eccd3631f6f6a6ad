import { isJsonObject } from '../../json/is-json-object.ts';
import { charge, chargeText, type Evaluation, handBack } from './evaluation.ts';
import { isList, type List, sequenceOf } from './sequence.ts';

/** JSONata itself checks a number that is not finite. */
export function finite(value: number): number {
  return Number.isFinite(value) ? value : handBack();
}

/** The value of a field; for a list, the values of that field of its items, nested lists included. */
export function fieldOf(input: unknown, key: string, evaluation: Evaluation): unknown {
  if (isList(input)) {
    charge(evaluation, input.length + 1);
    const found = sequenceOf();
    for (const item of input) {
      const value = fieldOf(item, key, evaluation);
      if (isList(value)) pushAll(found, value, evaluation);
      else if (value !== undefined) found.push(value);
    }
    return found;
  }
  return isJsonObject(input) && Object.hasOwn(input, key) ? input[key] : undefined;
}

/** Not by `push(...)`, which puts all items on the stack. */
export function pushAll(list: List, items: readonly unknown[], evaluation: Evaluation): void {
  charge(evaluation, items.length);
  for (const item of items) list.push(item);
}

/** Nothing counts as false here, while `$boolean` gives nothing. */
export function isTruthy(value: unknown, evaluation: Evaluation): boolean {
  if (isList(value)) {
    charge(evaluation, value.length);
    return value.some((item) => isTruthy(item, evaluation));
  }
  if (isJsonObject(value)) {
    const { length } = Object.keys(value);
    charge(evaluation, length);
    return length > 0;
  }
  return value !== null && Boolean(value);
}

export function areEqual(left: unknown, right: unknown, evaluation: Evaluation): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (isList(left) && isList(right)) {
    if (left.length !== right.length) return false;
    charge(evaluation, left.length);
    return left.every((item, index) => areEqual(item, right[index], evaluation));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) {
    // To JSONata a list is an object with a `length`.
    return Object.hasOwn(left, 'length') && Object.hasOwn(right, 'length') ? handBack() : false;
  }
  // Hidden properties count: `lookups` may be one.
  const names = Object.getOwnPropertyNames(left);
  charge(evaluation, names.length);
  if (names.length !== Object.getOwnPropertyNames(right).length) return false;
  return (
    names.every((name) => Object.hasOwn(right, name)) &&
    names.every((name) => areEqual(left[name], right[name], evaluation))
  );
}

/** `$string`: texts unchanged, everything else as JSON with numbers of at most 15 digits. */
export function textOf(value: unknown, evaluation: Evaluation, indent = 0): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(shortNumber(value));
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'object') return handBack();
  chargeTree(value, evaluation, indent + 1);
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'number' ? shortNumber(item) : item), indent);
}

const shortNumber = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(15)));

/** Charges for every node, shared parts each time they occur. */
function chargeTree(value: unknown, evaluation: Evaluation, units: number): void {
  if (typeof value === 'string') return chargeText(evaluation, value.length);
  charge(evaluation, units);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (!isList(value)) chargeText(evaluation, key.length);
    chargeTree(item, evaluation, units);
  }
}
