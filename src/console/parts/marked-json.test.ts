import { expect, it } from 'vitest';
import { markedJson } from './marked-json.ts';

const record = { id: 'c_1', address: { city: null, tags: [], lines: ['a', { at: 1 }] }, 'a.b': '<i>' };
const textOf = async (paths: readonly string[]) => String(await markedJson(record, { paths, label: 'The record' }));
const marks = async (paths: readonly string[]) =>
  [...(await textOf(paths)).matchAll(/<mark>(.*?)<\/mark>/g)].map(([, text]) => text?.replaceAll('&quot;', '"'));

it('a record is shown as indented JSON, escaped', async () => {
  const text = (await textOf(['id'])).replaceAll(/<[^>]+>/g, '').replaceAll('&quot;', '"');
  expect(text).toBe(JSON.stringify(record, null, 2).replace('<i>', '&lt;i&gt;'));
});

it.each([
  ['id', '"id": "c_1"'],
  ['address.city', '"city": null'],
  ['address.lines.1.at', '"at": 1'],
  ['address.lines.0', '"a"'],
  ['address.street', '"address": '],
])('the field that fails is marked: %s', async (path, words) => {
  expect(await marks([path])).toEqual([words]);
});

it('nothing is marked for a record as a whole, or a name that every object has', async () => {
  expect(await marks(['', 'constructor', 'nothing.at.all'])).toEqual([]);
});
