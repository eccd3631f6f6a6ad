import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { ResponseSettings } from '../../spec/schema/resource-schema.ts';
import { cpuMsOf } from '../../work/effort-fixture.ts';
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

describe('a path with a *', () => {
  const items = (body: unknown, records: string, more: object = {}) =>
    selectItems(body, settings({ records, ...more }));

  it.each<[name: string, body: unknown, records: string, items: readonly unknown[]]>([
    ['elements of a list', { data: [{ id: 1 }, { id: 2 }] }, 'data.*', [{ id: 1 }, { id: 2 }]],
    ['values of an object, in its order', { data: { b: { id: 1 }, a: { id: 2 } } }, 'data.*', [{ id: 1 }, { id: 2 }]],
    ['a part of each element', { data: [{ x: { id: 1 } }, { x: { id: 2 } }] }, 'data.*.x', [{ id: 1 }, { id: 2 }]],
    [
      'the elements of lists inside lists, in the order of the body',
      { data: [{ x: [1, 2] }, { x: [] }, { x: { k: 3 } }] },
      'data.*.x.*',
      [1, 2, 3],
    ],
    ['the elements of a body', [[1], [2, 3]], '*.*', [1, 2, 3]],
    ['the values of a body, past texts', { error: 'no', a: [1], b: [2] }, '*.*', [1, 2]],
    ['a list that is found as one item', { data: [{ x: [1, 2] }] }, 'data.*.x', [[1, 2]]],
    ['a name with dots in it', { data: [{ 'x.y': 1 }] }, 'data.*.x.y', [1]],
    ['what is the name of a prototype', { data: JSON.parse('{"__proto__":{"id":1}}') }, 'data.*', [{ id: 1 }]],
    ['an empty object', { data: {} }, 'data.*', []],
  ])('finds %s', (_name, body, records, found) => {
    expect(items(body, records)).toEqual({ items: found, missing: false });
  });

  it.each([
    ['the list', {}, 'data.*', '"data" is missing or null'],
    [
      'a part of an element',
      { data: [{ x: 1 }, {}] },
      'data.*.x',
      '"data.*.x" is missing or null at one of its places',
    ],
    ['a list inside an element', { data: [null] }, 'data.*.*', '"data.*.*" is missing or null at one of its places'],
    ['anything but a text', { data: 'maintenance' }, 'data.*', '"data" is neither a list nor an object'],
  ])('is an error where the response lacks %s', (_what, body, records, said) => {
    expect(() => items(body, records)).toThrow(said);
  });

  it('finds the others where the spec says so, and proves no deletion', () => {
    const body = { data: [{ x: 1 }, {}, { x: null }, 'text', { x: 2 }] };
    expect(items(body, 'data.*.x', { recordsMissing: 'empty' })).toEqual({ items: [1, 2], missing: true });
  });

  it('is refused with more records than a page may have', () => {
    const list = Array.from({ length: 1000 }, () => Array.from({ length: 101 }, () => 1));
    expect(() => items(list, '*.*')).toThrow('more than 100000 records');
  });

  it('takes a time that grows with the body alone', () => {
    const body = Array.from({ length: 300_000 }, () => ({}));
    const records = `*.${Array.from({ length: 120 }, () => 'abc').join('.')}.*`;
    const cpuMs = cpuMsOf(() => {
      expect(items(body, records, { recordsMissing: 'empty' })).toEqual({ items: [], missing: true });
    });
    expect(cpuMs).toBeLessThan(5000);
  });

  it.each(['*', '*.*', 'a.*', '*.a', 'a.*.b.*', `${'*.'.repeat(7)}*`])('is accepted: %s', (records) => {
    expect(v.is(ResponseSettings, { records })).toBe(true);
  });

  it.each(['**', 'a*', 'a.*b', '*.', '.*', '$.*', '*.__proto__', 'a[*]', `${'*.'.repeat(8)}*`, `${'a.'.repeat(250)}*`])(
    'is refused: %s',
    (records) => {
      expect(v.is(ResponseSettings, { records })).toBe(false);
    },
  );
});
