import { expect, test } from 'vitest';
import { idKey } from './id-key.ts';

const alike = ['0', '00', '7', '07', '007', '+7', '-7', '7.0', '7 ', ' 7', '7e0', '', '٧', '999999999', '1000000000'];

test('tells apart whatever the ids tell apart', () => {
  expect(new Set(alike.map(idKey)).size).toBe(alike.length);
});

test.each(alike)('is a number only where that is written like %j', (id) => {
  const key = idKey(id);
  expect(String(key)).toBe(id);
  expect(typeof key).toBe(/^(0|[1-9]\d{0,8})$/.test(id) ? 'number' : 'string');
});
