import { plainnessOf } from './plain-json.ts';

/** A value as its JSON text returns it; the value itself where that is the same. */
export interface PlainValue {
  readonly value: unknown;
  /** UTF-16 units of its JSON text. */
  readonly length: number;
}

/** Most nodes of a record that are looked at; for a larger one, microseconds do not matter. */
const nodesOfRecordMax = 100_000;
/** Far more than tables within their own limit have (bindings-text.ts). */
const nodesOfTableMax = 10_000_000;

/** The input as an expression gets it; `null` when it is left to JSONata. */
export function plainInput(input: unknown): { readonly value: unknown } | null {
  const plainness = plainnessOf(input, { nodesMax: nodesOfRecordMax });
  // JSONata marks a list that is the whole input.
  if (plainness === 'odd' || Array.isArray(input)) return null;
  return { value: plainness === 'plain' ? input : JSON.parse(JSON.stringify(input) ?? 'null') };
}

/**
 * Creates the function that gives a bound value as an expression gets it, or `null` when it is left to JSONata. Caches
 * the result while the object lives, so a large table is not walked for every page: it must not change.
 */
export function createPlainValues(): (value: unknown) => PlainValue | null {
  const known = new WeakMap<object, PlainValue | null>();
  return (value) => {
    if (typeof value !== 'object' || value === null) return classify(value);
    const before = known.get(value);
    if (before !== undefined) return before;
    const checked = classify(value);
    known.set(value, checked);
    return checked;
  };
}

function classify(value: unknown): PlainValue | null {
  const plainness = plainnessOf(value, { nodesMax: nodesOfTableMax });
  if (plainness === 'odd') return null;
  const text = JSON.stringify(value) ?? 'null';
  return { value: plainness === 'plain' ? value : JSON.parse(text), length: text.length };
}
