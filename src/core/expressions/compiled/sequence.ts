/**
 * JSONata distinguishes the lists it makes itself ("sequences") from arrays of the data, by properties of the array. A
 * sequence of one item stands for that item, an empty one for nothing. This code does the same, so each rule reads as
 * it does there.
 */
export interface List extends Array<unknown> {
  /** A path or a function made the list: it collapses, see {@link collapse}. */
  sequence?: true;
  /** The expression has a `[]`: one item alone stays a list. */
  keepSingleton?: true;
  /** Made by `[…]` in a path: a step keeps it as one item. */
  cons?: true;
}

export const isList = (value: unknown): value is List => Array.isArray(value);

/** Whether it has marks that only these internals may see. */
export const isMarked = ({ sequence, keepSingleton, cons }: List): boolean =>
  sequence !== undefined || keepSingleton !== undefined || cons !== undefined;

export function sequenceOf(...items: unknown[]): List {
  const list: List = items;
  list.sequence = true;
  return list;
}

/** The only item of a sequence, nothing for an empty one; other values stay unchanged. */
export function collapse(value: unknown, keepArray: boolean): unknown {
  if (!isList(value) || value.sequence !== true) return value;
  if (keepArray) value.keepSingleton = true;
  if (value.length === 0) return undefined;
  return value.length === 1 && value.keepSingleton !== true ? value[0] : value;
}
