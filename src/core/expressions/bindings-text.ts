import { AppError } from '../errors.ts';
import type { Bindings } from './evaluation.ts';

/** Limit of lookup tables and parameters together, as JSON: parsed, they take a quarter of a child's heap. */
export const bindingsLengthMax = 16_000_000;

/**
 * Caches the text while the bound object lives, so a large lookup table is not written for every page. Throws
 * `AppError` `spec_invalid` above {@link bindingsLengthMax}.
 */
export function createBindingsText(): (bindings: Bindings) => string {
  const texts = new WeakMap<object, string>();
  const textOf = (value: unknown): string => {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
    const text = texts.get(value) ?? JSON.stringify(value);
    texts.set(value, text);
    return text;
  };
  return (bindings) => {
    const entries = Object.entries(bindings).filter(([, value]) => value !== undefined);
    const text = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`).join(',')}}`;
    if (text.length <= bindingsLengthMax) return text;
    throw new AppError(
      'spec_invalid',
      `The lookup tables and parameters of a transform are larger than ${bindingsLengthMax / 1_000_000} MB together. Load fewer entries or fewer fields.`,
    );
  };
}
