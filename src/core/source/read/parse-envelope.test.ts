import { describe, expect, test } from 'vitest';
import { parseEnvelope } from './parse-envelope.ts';

const read = (text: string) => parseEnvelope(Buffer.from(text), { bigNumbers: 'string' });

describe('what stands around a list', () => {
  test.each([
    ['behind it', '{"data":[{"id":1},{"id":2}],"next":"t"}', { data: [], next: 't' }],
    ['in front of it', '{"next":"t","data":[1,2]}', { next: 't', data: [] }],
    ['on both sides', '{"count":2,"data":[[1],[2]],"more":true}', { count: 2, data: [], more: true }],
    ['around its object', '{"a":{"items":[1],"next":"t"},"b":null}', { a: { items: [], next: 't' }, b: null }],
    ['with white space', ' {\n "data" : [ 1 ] ,\n "next" : "t"\n}\n', { data: [], next: 't' }],
    ['of an empty one', '{"data":[],"next":"t"}', { data: [], next: 't' }],
    ['of a bare one', '[1,[2],3]', []],
    ['of one between others', '{"errors":[],"data":[{"tags":["x"]}],"next":"t"}', { errors: [], next: 't' }],
    ['with a big number', '{"data":[1],"next":12345678901234567890}', { data: [], next: '12345678901234567890' }],
    ['with other letters', '{"größe":"[","data":["ü"],"next":"ß]"}', { größe: '[', data: [], next: 'ß]' }],
    ['with brackets in texts', '{"a":"[\\"[","data":["]"],"next":"]\\\\"}', { a: '["[', data: [], next: ']\\' }],
    ['with escaped quotes', '{"data":[1],"next":"a\\"]\\\\\\"b","x":"\\\\"}', { data: [], next: 'a"]\\"b', x: '\\' }],
  ])('%s', (_, text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  test.each([
    ['no list', '{"next":"t"}'],
    ['nothing', ''],
    ['a list that never ends', '{"data":[1,2'],
    ['a list far from the start', JSON.stringify({ text: 'x'.repeat(3000), data: [1], next: 't' })],
    ['a list far from the end', JSON.stringify({ data: [1], next: 't', text: 'x'.repeat(3000) })],
  ])('is not known of a body with %s', (_, text) => {
    expect(read(text)).toBeUndefined();
  });

  test.each(['{"data":[1],"next":t}', '{"data":[1],"next":"t]'])('is refused when it is not JSON: %s', (text) => {
    expect(() => read(text)).toThrow('not valid JSON');
  });

  test('is what the whole body says of everything but its lists, wherever they stand', () => {
    const random = seeded(7);
    const texts = ['', 'x', '"', '\\', ']', '[', '{', '}', '\\"', 'é', '","next":"no"', '],"next":"no"'];
    const scalar = () => texts[Math.floor(random() * texts.length)] ?? '';
    // V8 takes one escaped name for another once it has seen one that ends in a backslash (nodejs/node#63785).
    const name = () => scalar().replaceAll(/["\\]/g, '');
    for (let no = 0; no < 2000; no += 1) {
      const members = Array.from({ length: 3 }, (_, at) => [`k${at}${name()}`, scalar()] as const);
      const place = Math.floor(random() * 4);
      const list = Array.from({ length: 3 }, () => ({ [name()]: [scalar(), { a: scalar() }] }));
      const around = [...members.slice(0, place), ['data', list] as const, ...members.slice(place)];
      const whole: unknown = Object.fromEntries(around);
      expect(read(JSON.stringify(whole))).toEqual({ ...(whole as object), data: [] });
    }
  });
});

/** Numbers from 0 up to but not including 1, the same ones for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
