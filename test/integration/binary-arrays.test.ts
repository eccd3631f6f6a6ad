import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bytesArray, textArray } from '../../src/core/postgres/binary-arrays.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const ascii = String.fromCharCode(...Array.from({ length: 127 }, (_, index) => index + 1));

it.each([
  { name: 'nothing', list: [] },
  { name: 'one empty text', list: [''] },
  { name: 'every character of ASCII', list: [ascii, 'a"b', 'c\\d', '{e,f}', 'NULL', ' g '] },
  { name: 'texts around the length that one byte can say', list: ['x'.repeat(127), 'x'.repeat(128), 'x'.repeat(129)] },
  { name: 'nulls', list: [null, 'a', null, ''] },
  { name: 'nulls only', list: [null, null] },
  { name: 'characters of two, three and four bytes', list: ['é', '漢字', '😀', 'a\u0300', '\u{10ffff}'] },
  { name: 'a short text of many bytes beside ASCII', list: ['a', 'é'.repeat(127)] },
  { name: 'a text of 1 MB', list: ['a', 'é'.repeat(500_000), null] },
  { name: 'ten thousand texts', list: Array.from({ length: 10_000 }, (_, index) => `text ${index}`) },
])('$name arrives as it was', async ({ list }) => {
  const { rows } = await sql<{ list: unknown }>`select to_json(${textArray(list)}::text[]) as list`.execute(
    database.db,
  );
  expect(rows[0]?.list).toEqual(list);
});

it('bytes arrive as they were, and what is no base64url as far as it is', async () => {
  const list = [Buffer.from([0, 255, 1]), Buffer.alloc(32, 7), Buffer.from([])];
  const texts = [...list.map((bytes) => bytes.toString('base64url')), 'AAEC*'];
  const { rows } = await sql<{ list: unknown }>`select ${bytesArray(texts)}::bytea[] as list`.execute(database.db);
  expect(rows[0]?.list).toEqual([...list, Buffer.from('AAEC*', 'base64url')]);
  const none = await sql<{ list: unknown }>`select ${bytesArray([])}::bytea[] as list`.execute(database.db);
  expect(none.rows[0]?.list).toEqual([]);
});
