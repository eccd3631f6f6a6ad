import { expect, it } from 'vitest';
import type { ColumnType } from '../../src/core/spec/schema/column-type.ts';
import { describeKinds, destinationKinds } from '../support/destinations/destination-kinds.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../support/sync/batches.ts';

/** Column, value sent, text that the database then prints. */
const values: readonly (readonly [string, ColumnType | ColumnType['kind'], unknown, string | null])[] = [
  ['text', 'text', 'plain', 'plain'],
  ['empty text, which is not null', 'text', '', ''],
  ['emoji and combining marks', 'text', '👩‍👩‍👧 e\u0301 漢', '👩‍👩‍👧 e\u0301 漢'],
  ['quotes, backslashes, braces, line breaks', 'text', `'"\\{a,b}\n\r\t$1 NULL`, `'"\\{a,b}\n\r\t$1 NULL`],
  ['the word NULL', 'text', 'NULL', 'NULL'],
  ['a statement', 'text', `'); drop table items; --`, `'); drop table items; --`],
  ['U+0000, removed', 'text', 'a\0b', 'ab'],
  ['a number in a text column', 'text', 12.5, '12.5'],
  ['text as long as allowed, counted in characters', { kind: 'text', maxLength: 3 }, 'é漢Я', 'é漢Я'],
  ['bigint beyond 2^53', 'bigint', '9007199254740993', '9007199254740993'],
  ['the largest bigint', 'bigint', '9223372036854775807', '9223372036854775807'],
  ['a bigint of 18 digits', 'bigint', '-999999999999999999', '-999999999999999999'],
  ['a negative integer', 'integer', -2147483648, '-2147483648'],
  ['decimal of 18 digits', 'numeric', '12345678901234.5678', '12345678901234.5678'],
  ['decimal given as number', 'numeric', 0.1, '0.1000'],
  ['float', 'float', 1.7976931348623157e308, '1.7976931348623157e+308'],
  ['smallest float of full precision', 'float', 2.2250738585072014e-308, '2.2250738585072014e-308'],
  ['float of a few digits', 'float', -12.5, '-12.5'],
  ['float that is written with an exponent', 'float', 1e-9, '1e-09'],
  ['true', 'boolean', true, 'true'],
  ['false', 'boolean', false, 'false'],
  ['timestamp with offset', 'timestamptz', '2026-03-29T01:30:00.123456+05:30', '2026-03-28T20:00:00.123456+00:00'],
  ['timestamp of UTC', 'timestamptz', '2026-03-29T01:30:00Z', '2026-03-29T01:30:00+00:00'],
  ['timestamp with milliseconds', 'timestamptz', '2026-03-29T01:30:00.125Z', '2026-03-29T01:30:00.125+00:00'],
  ['timestamp of long ago', 'timestamptz', '1000-01-01T00:00:00Z', '1000-01-01T00:00:00+00:00'],
  ['timestamp far ahead', 'timestamptz', '9999-12-28T23:59:59.999Z', '9999-12-28T23:59:59.999+00:00'],
  ['timestamp without offset, read as UTC', 'timestamptz', '2026-03-29T01:30:00', '2026-03-29T01:30:00+00:00'],
  ['date', 'date', '2024-02-29', '2024-02-29'],
  ['uuid', 'uuid', '0190B2B4-7C3F-7ABC-8DEF-0123456789AB', '0190b2b4-7c3f-7abc-8def-0123456789ab'],
  ['json object', 'json', { b: [1, { c: null }], a: 'x"\\' }, '{"a": "x\\"\\\\", "b": [1, {"c": null}]}'],
  ['json with U+0000 and half a surrogate pair', 'json', ['a\0', '\ud800', '\\u0000'], '["a", "\ufffd", "\\\\u0000"]'],
  ['null', 'text', null, null],
  ['undefined', 'bigint', undefined, null],
];

/** Column, and values sent with the text that the database then prints. */
const mixed: readonly (readonly [string, ColumnType['kind'], readonly (readonly [unknown, string | null])[]])[] = [
  [
    'integers',
    'integer',
    [
      [7, '7'],
      [-2147483648, '-2147483648'],
      [-0, '0'],
      [null, null],
      [2147483647, '2147483647'],
    ],
  ],
  [
    'integers and their text',
    'integer',
    [
      [7, '7'],
      ['8', '8'],
      [null, null],
      [-0, '0'],
    ],
  ],
  [
    'bigints',
    'bigint',
    [
      [9007199254740991, '9007199254740991'],
      [-4294967297, '-4294967297'],
      [null, null],
      [-0, '0'],
    ],
  ],
  [
    'bigints beyond 2^53 as well',
    'bigint',
    [
      [1, '1'],
      ['9007199254740993', '9007199254740993'],
      [-5, '-5'],
    ],
  ],
  [
    'floats',
    'float',
    [
      [0.1, '0.1'],
      [-0, '0'],
      [2.2250738585072014e-308, '2.2250738585072014e-308'],
      [null, null],
      ['12.50', '12.5'],
    ],
  ],
  [
    'floats and text with an exponent',
    'float',
    [
      [0.1, '0.1'],
      ['1e-9', '1e-09'],
      [-0, '0'],
    ],
  ],
  [
    'truth',
    'boolean',
    [
      [true, 'true'],
      [null, null],
      [false, 'false'],
    ],
  ],
  [
    'times',
    'timestamptz',
    [
      ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999+00:00'],
      ['2026-01-31T00:00:00Z', '2026-01-31T00:00:00+00:00'],
      [null, null],
    ],
  ],
  [
    'times with an offset as well',
    'timestamptz',
    [
      ['2026-01-31T00:00:00.120Z', '2026-01-31T00:00:00.12+00:00'],
      ['2026-01-31T00:00:00+01:00', '2026-01-30T23:00:00+00:00'],
    ],
  ],
];

/** Column and a value that does not fit it. */
const misfits: readonly (readonly [string, ColumnType | ColumnType['kind'], unknown])[] = [
  ['text longer than allowed', { kind: 'text', maxLength: 3 }, 'secret'],
  ['an object in a text column', 'text', { secret: 1 }],
  ['a fraction in an integer column', 'bigint', 1.5],
  ['an integer beyond 64 bits', 'bigint', '9223372036854775808'],
  ['an integer beyond 32 bits', 'integer', 2147483648],
  ['a word in a numeric column', 'numeric', 'secret'],
  ['too many digits before the point', 'numeric', '123456789012345'],
  ['a number beyond double precision', 'float', '1e400'],
  ['a word in a boolean column', 'boolean', 'yes'],
  ['a day that is not in the calendar', 'date', '2025-02-29'],
  ['a timestamp in words', 'timestamptz', 'yesterday'],
  ['a number in a timestamp column', 'timestamptz', 1_700_000_000],
  ['a text that is no uuid', 'uuid', 'secret'],
];

/** Databases spell a number of double precision in ways of their own: `1e-9`, `1e-09`. */
const printedValue = (type: ColumnType | ColumnType['kind'], text: string | null | undefined) =>
  type === 'float' && typeof text === 'string' ? Number(text) : text;

describeKinds(destinationKinds, '', (kind) => {
  it.each(values)('stores %s', async (_, type, value, stored) => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('v', type)] }));
    expect(await destination.apply(batchOf([rowOf('1', { v: value })]))).toEqual([]);
    const [row] = await place.rows('items');
    expect(row).toMatchObject({ _external_id: '1' });
    expect(printedValue(type, row?.['v'])).toEqual(printedValue(type, stored));
  });

  it.each(misfits)('rejects %s, alone, without repeating it', async (_, type, value) => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('v', type)] }));
    const rows = [rowOf('1'), rowOf('2', { v: value }), rowOf('3')];
    const rejected = await destination.apply(batchOf(rows));
    expect(rejected).toMatchObject([{ externalId: '2', message: expect.stringMatching(/^The value of column "v" /) }]);
    expect(rejected[0]?.message).not.toContain('secret');
    expect((await place.rows('items')).map((row) => row['_external_id'])).toEqual(['1', '3']);
  });

  // What is alike in a whole column may go in another form than what is not.
  it.each(mixed)('stores %s, in one batch with others of their column and in parts of it', async (_, type, cells) => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    const columns = [columnOf('v', type), columnOf('n', 'integer')];
    await destination.open(claimOf(place.schema, { columns }));
    await place.execute(`alter table "${place.schema}".items add constraint small check (n < 100)`);
    const rows = cells.map(([value], index) => rowOf(`a${index}`, { v: value, n: 1 }));
    const others = cells.map(([value], index) => rowOf(`b${index}`, { v: value, n: index === 0 ? 100 : 1 }));
    expect(await destination.apply(batchOf(rows))).toEqual([]);
    expect(await destination.apply(batchOf(others, { batchNo: 2 }))).toMatchObject([{ externalId: 'b0' }]);
    const stored = cells.map(([, text]) => printedValue(type, text));
    const found = (await place.rows('items')).map((row) => printedValue(type, row['v']));
    expect(found).toEqual([...stored, ...stored.slice(1)]);
  });

  it('stores 1 MB of text in one value', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    const text = 'é"\\x'.repeat(250_000);
    await destination.open(claimOf(place.schema, { columns: [columnOf('v', 'text')] }));
    await destination.apply(batchOf([rowOf('1', { v: text })]));
    expect((await place.rows('items'))[0]?.['v']).toBe(text);
  });
});
