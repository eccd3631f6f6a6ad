import { expect, it } from 'vitest';
import { resolveTimezone } from './timezone.ts';

it.each([
  ['UTC', 'UTC'],
  ['europe/berlin', 'Europe/Berlin'],
  ['US/Eastern', 'America/New_York'],
])('finds the zone %s', (name, zone) => {
  expect(resolveTimezone(name)).toBe(zone);
});

it('knows new names of zones', () => {
  expect(resolveTimezone('Europe/Kyiv')).toMatch(/^Europe\/Ki?y?i?e?v$/);
});

it.each(['', 'local', 'Local', '+05:30', '-03', 'UTC+25', 'GMT+1', 'Europe/Atlantis', 'UTC\0', 'A'.repeat(5000)])(
  'refuses what is no zone of the database: %j',
  (name) => expect(resolveTimezone(name)).toBeNull(),
);
