import { describe, expect, test } from 'vitest';
import { decodeCsv } from './decode-csv.ts';

const refused = (message: RegExp) => ({ code: 'source_rejected', message: expect.stringMatching(message) });

test.each<[string, string, unknown]>([
  [
    'plain rows',
    'id,name\n1,Ann\n2,Bob\n',
    [
      { id: '1', name: 'Ann' },
      { id: '2', name: 'Bob' },
    ],
  ],
  ['Windows line ends', 'id,name\r\n1,Ann\r\n', [{ id: '1', name: 'Ann' }]],
  ['old Mac line ends', 'id,name\r1,Ann\r', [{ id: '1', name: 'Ann' }]],
  ['quotes around delimiters, quotes and line ends', 'id,t\n1,"a,""b""\r\nc"\n', [{ id: '1', t: 'a,"b"\r\nc' }]],
  ['empty values, quoted or not', 'id,a,b\n1,,""\n', [{ id: '1', a: '', b: '' }]],
  ['white space as it is', 'id, a\n 1 ,\tx\n', [{ id: ' 1 ', ' a': '\tx' }]],
  ['nothing but text', 'id,a,b\n007,1e3,true\n', [{ id: '007', a: '1e3', b: 'true' }]],
  ['empty lines between rows', '\n\nid\n1\n\n2\n\n', [{ id: '1' }, { id: '2' }]],
  ['NUL as any character', 'id\na\u0000b\n', [{ id: 'a\u0000b' }]],
  ['a header without rows', 'id,name\n', []],
  ['no header', '', null],
  ['only empty lines', '\n\r\n', null],
  ['semicolons', 'id;name\n1;"a;b, c"\n', [{ id: '1', name: 'a;b, c' }]],
  ['tabs', 'id\tname\n1\ta;b, c\n', [{ id: '1', name: 'a;b, c' }]],
  ['the comma first', 'id,"a;b"\n1,2\n', [{ id: '1', 'a;b': '2' }]],
  ['a quoted comma that is no delimiter', '"id, key";b\n1;2\n', [{ 'id, key': '1', b: '2' }]],
  ['a header over two lines', '"id\nkey";b\n1;2\n', [{ 'id\nkey': '1', b: '2' }]],
  ['one column', 'id\n1\n', [{ id: '1' }]],
])('reads %s', async (_, text, expected) => {
  expect(await decodeCsv(text)).toEqual(expected);
});

test('a __proto__ column is own data and reaches no prototype', async () => {
  const [record] = (await decodeCsv('__proto__,constructor\n1,2\n')) ?? [];
  expect(Object.entries(Object(record))).toEqual([
    ['__proto__', '1'],
    ['constructor', '2'],
  ]);
  expect(Reflect.get({}, '1')).toBeUndefined();
});

test('a text of many slices keeps every row and character', async () => {
  const rows = Array.from({ length: 20_000 }, (_, index) => ({ id: String(index), name: `"é, 😀"\n${index}` }));
  const text = rows.map(({ id, name }) => `${id},"${name.replaceAll('"', '""')}"\r\n`).join('');
  expect(await decodeCsv(`id,name\r\n${text}`)).toEqual(rows);
});

test('other work has its turn while a large text is read', async () => {
  let turns = 0;
  let done = false;
  const turn = (): void => {
    turns += 1;
    if (!done) setImmediate(turn);
  };
  setImmediate(turn);
  await decodeCsv(`id,name\n${'1,some text\n'.repeat(50_000)}`);
  done = true;
  expect(turns).toBeGreaterThan(2);
});

describe('refused', () => {
  test.each<[string, string, RegExp]>([
    ['a row with too few fields', 'id,s3cret\n1,2\n3\n', /header row, ending on line 3\./],
    ['a row with too many fields', 'id,b\n1,s3cret,2\n', /header row, ending on line 2\./],
    ['a long row after one of two lines', 'id,b\n1,"x\ny"\n1,2,s3cret\n', /ending on line 4\./],
    ['a quote inside a field', 'id\nab"s3cret"\n', /quote in the wrong place on line 2\./],
    ['text after a closing quote', 'id\n"a"s3cret\n', /quote in the wrong place on line 2\./],
    ['a quote that never closes', 'id\n"s3cret\n', /quote in the wrong place/],
    ['a repeated column', 'id,s3cret,s3cret\n1,2,3\n', /same name in columns 2 and 3/],
    ['very many columns', 'c'.concat(',c'.repeat(20_000)), /more than 10000 columns/],
    [
      'very many fields',
      `${Array.from({ length: 9000 }, (_, i) => i).join()}\n${`${','.repeat(8999)}\n`.repeat(600)}`,
      /more than 5000000 fields/,
    ],
    ['more rows than a page may have', `a\n${'1\n'.repeat(100_001)}`, /more than 100000 records/],
  ])('%s, without showing it', async (_, text, message) => {
    const error = await decodeCsv(text).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject(refused(message));
    expect(error).not.toHaveProperty('cause.message');
    expect(String(error)).not.toContain('s3cret');
  });
});
