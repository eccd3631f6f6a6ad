import { expect, test } from 'vitest';
import { plainInstant, plainInstantMs } from './plain-instant.ts';

const hours = ['00', '09', '19', '23'];

test('matches the days of the calendar and no others, and reads them as Date.parse does', () => {
  let matched = 0;
  for (const year of ['1000', '1600', '1900', '2000', '2024', '2026', '9996', '9999']) {
    for (let month = 0; month <= 13; month += 1) {
      for (let day = 0; day <= 32; day += 1) {
        const date = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
        for (const hour of hours) {
          for (const text of [`${date}T${hour}:59:00Z`, `${date}T${hour}:00:59.120Z`]) {
            if (!plainInstant.test(text)) continue;
            matched += 1;
            expect(plainInstantMs(text)).toBe(Date.parse(text));
            expect(new Date(Date.parse(text)).toISOString()).toBe(
              text.length === 20 ? `${text.slice(0, -1)}.000Z` : text,
            );
          }
        }
      }
    }
  }
  const daysOfThem = 8 * 365 + 4;
  expect(matched).toBe(daysOfThem * hours.length * 2);
});

test('reads every day of four centuries', () => {
  const misread: string[] = [];
  for (let day = Date.UTC(1900, 0, 1); day < Date.UTC(2300, 0, 1); day += 86_400_000) {
    const text = new Date(day + (day % 86_399_999)).toISOString();
    if (!plainInstant.test(text) || plainInstantMs(text) !== Date.parse(text)) misread.push(text);
  }
  expect(misread).toEqual([]);
});

test.each([
  '2026-02-29T00:00:00Z',
  '2100-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T23:60:00Z',
  '2026-01-01T23:59:60Z',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00z',
  '2026-01-01 00:00:00Z',
  '2026-01-01T00:00:00.1Z',
  '2026-01-01T00:00:00+00:00',
  '2026-01-01T00:00:00Z\n',
  ' 2026-01-01T00:00:00Z',
])('leaves %j to a closer look', (text) => {
  expect(plainInstant.test(text)).toBe(false);
});
