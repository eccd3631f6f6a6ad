import { afterEach, expect, it, vi } from 'vitest';
import { wallTime } from './zoned-time.ts';

const noon = Date.UTC(2026, 6, 15, 12);

/** The formatters that are made from now on. */
const formattersMade = () => vi.spyOn(Intl, 'DateTimeFormat').mock.calls;

afterEach(() => vi.restoreAllMocks());

it('makes one formatter for a zone, in whatever case its name is written', () => {
  const made = formattersMade();
  for (const zone of ['Asia/Yakutsk', 'asia/yakutsk', 'ASIA/YAKUTSK', 'aSiA/yAkUtSk']) {
    expect(wallTime(noon, zone)).toMatchObject({ day: 15, hour: 21 });
  }
  expect(made).toHaveLength(1);
});

it('keeps the formatters of 100 zones, and is right for all of them', () => {
  const zones = Intl.supportedValuesOf('timeZone').slice(0, 101);
  const hours = zones.map((zone) => wallTime(noon, zone).hour);
  const made = formattersMade();
  expect(wallTime(noon, zones.at(-1) ?? '').hour).toBe(hours.at(-1));
  expect(made).toHaveLength(0);
  expect(wallTime(noon, zones[0] ?? '').hour).toBe(hours[0]);
  expect(made).toHaveLength(1);
});
