import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { ResponseSettings } from '../../spec/schema/resource-schema.ts';
import { selectItems } from './select-records.ts';

const settings = (parts: object) => v.parse(ResponseSettings, { records: 'data', ...parts });

describe('a response without records', () => {
  it.each([
    ['the report of a fault', { error: { type: 'maintenance' } }, '"data" is missing or null; it has "error".'],
    ['null instead of a list', { data: null, code: 7 }, '"data" is missing or null; it has "data", "code".'],
    ['an empty object', {}, '"data" is missing or null; it is empty.'],
    [
      'many fields',
      Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => [name, 1])),
      'it has "a", "b", "c", "d", "e" and 2 more.',
    ],
    ['a field with a long name', { ['x'.repeat(1000)]: 1 }, `it has "${'x'.repeat(40)}".`],
    ['a number instead of a list', { data: 3 }, '"data" is neither a list nor an object; it has "data".'],
    ['a list that has no fields', [1], '"data" is missing or null. If'],
  ])('is an error that says what it has instead: %s', (_what, body, said) => {
    expect(() => selectItems(body, settings({}))).toThrow(said);
  });

  it('is an empty page where the spec says so', () => {
    expect(selectItems({ error: 1 }, settings({ recordsMissing: 'empty' }))).toEqual({ items: [], missing: true });
  });
});
