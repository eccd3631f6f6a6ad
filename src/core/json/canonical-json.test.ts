import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

/** From 0 up to but not including `below`, the same in every run. */
function createDice(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

test('has names in the order of their UTF-16 units, however many there are', () => {
  const dice = createDice();
  const names = ['a', 'B', 'aa', 'Z', 'é', '😀', '\uffff', 'z', '', ' ', '_', 'a.b'];
  for (let count = 0; count < 100; count += 1) {
    const keys = Array.from({ length: count }, () => `${names[dice(names.length)]}${dice(1000)}x`);
    const record = Object.fromEntries(keys.map((key) => [key, key]));
    const sorted = Object.fromEntries([...new Set(keys)].sort().map((key) => [key, key]));
    expect(canonicalJson(record)).toBe(JSON.stringify(sorted));
  }
});

test('gives the example of RFC 8785 section 3.2.3', () => {
  const value = {
    numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"\u002f',
    literals: [null, true, false],
  };
  expect(canonicalJson(value)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

test('sorts names by UTF-16 code units, numbers among them too', () => {
  const names = ['\u20ac', '\r', '\ufb33', '1', '10', '9', '\ud83d\ude00', '\u0080', '\u00f6'];
  const ordered = ['\r', '1', '10', '9', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'];
  const properties = ordered.map((name) => `${JSON.stringify(name)}:0`);
  expect(canonicalJson(Object.fromEntries(names.map((name) => [name, 0])))).toBe(`{${properties.join()}}`);
});

test.each([{}, { 10: 0, 9: 0 }])(
  'writes -0 as 0 and treats what is not JSON as JSON.stringify does, beside %j',
  (names) => {
    const beside = JSON.stringify(names) === '{}' ? '' : '"10":0,"9":0,';
    const value = { ...names, a: -0, b: undefined, c: [undefined, Number.NaN], d: () => 1 };
    expect(canonicalJson(value)).toBe(`{${beside}"a":0,"c":[null,null]}`);
    expect(canonicalJson(undefined)).toBe('null');
  },
);

test('leaves ignored properties out beside names that are numbers', () => {
  const ignored = new Map([['a', new Map([['x', true as const]])]]);
  expect(canonicalJson({ a: [{ x: 1, 2: 0, 10: 0 }], 1: { x: 1 } }, ignored)).toBe(
    '{"1":{"x":1},"a":[{"10":0,"2":0}]}',
  );
});

test('keeps a property named __proto__ as data', () => {
  expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"2":0,"10":0}}'))).toBe('{"__proto__":{"10":0,"2":0},"b":1}');
});
