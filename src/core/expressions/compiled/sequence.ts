/**
 * JSONata distinguishes the lists it makes itself ("sequences": one item alone stands for itself, none is nothing) from
 * arrays of the data, by properties of the array. This code does the same, so that each rule reads as it does there.
 */
export interface List extends Array<unknown> {
  /** Set on a list that a path or a function made: it collapses, see {@link collapse}. */
  sequence?: true;
  /** Set where the expression has a `[]`: one item alone stays a list. */
  keepSingleton?: true;
  /** Set on a list made by `[…]` in a path: a step keeps it as one item. */
  cons?: true;
}

/** Whether the value is an array of any kind. */
export const isList = (value: unknown): value is List => Array.isArray(value);

/** Whether it has marks that only these internals may see. */
export const isMarked = ({ sequence, keepSingleton, cons }: List): boolean =>
  sequence !== undefined || keepSingleton !== undefined || cons !== undefined;

/** A sequence of these items. */
export function sequenceOf(...items: unknown[]): List {
  const list: List = items;
  list.sequence = true;
  return list;
}

/** The result of an expression for its sequence: nothing for no item, the item for one. Other values stay unchanged. */
export function collapse(value: unknown, keepArray: boolean): unknown {
  if (!isList(value) || value.sequence !== true) return value;
  if (keepArray) value.keepSingleton = true;
  if (value.length === 0) return undefined;
  return value.length === 1 && value.keepSingleton !== true ? value[0] : value;
}
