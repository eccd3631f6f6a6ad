import { describe, expect, test } from 'vitest';
import { type CursorShape } from '../../model/read-position.ts';
import {
  canonicalCursor,
  compareCursors,
  cursorOfText,
  cursorText,
  filterBound,
  latestMeaning,
  parseCursor,
  parseInitialCursor,
  sendCursor,
  sendLowerBound,
} from './cursor-value.ts';

const text = (raw: unknown, form: CursorShape) => {
  const value = parseCursor(raw, form);
  const canonical = value === null ? null : cursorText(value, form);
  expect(canonicalCursor(raw, form)).toBe(canonical);
  return canonical;
};

describe('a cursor value becomes one canonical text', () => {
  test.each<[unknown, CursorShape, string]>([
    ['2025-12-01T10:00:00Z', { type: 'datetime' }, '2025-12-01T10:00:00.000Z'],
    ['2025-12-01T10:00:00.125Z', { type: 'datetime' }, '2025-12-01T10:00:00.125Z'],
    ['2025-12-31T10:00:00Z', { type: 'datetime', timezone: 'Europe/Berlin' }, '2025-12-31T10:00:00.000Z'],
    ['2025-12-01T10:00:00.123987Z', { type: 'datetime' }, '2025-12-01T10:00:00.123Z'],
    ['2025-12-01 10:00:00,5+02:00', { type: 'datetime' }, '2025-12-01T08:00:00.500Z'],
    ['2025-12-01T10:00:00-0530', { type: 'datetime' }, '2025-12-01T15:30:00.000Z'],
    ['2025-12-01', { type: 'datetime' }, '2025-12-01T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', { type: 'datetime' }, '0001-01-01T00:00:00.000Z'],
    ['2025-12-01', { type: 'date' }, '2025-12-01T00:00:00.000Z'],
    [1_700_000_000, { type: 'epoch_s' }, '2023-11-14T22:13:20.000Z'],
    ['1700000000.25', { type: 'epoch_s' }, '2023-11-14T22:13:20.250Z'],
    [1_700_000_000_001, { type: 'epoch_ms' }, '2023-11-14T22:13:20.001Z'],
    [42, { type: 'integer' }, '42'],
    ['9007199254740993', { type: 'integer' }, '9007199254740993'],
    ['b-7', { type: 'string' }, 'b-7'],
  ])('%j as %j is %s', (raw, form, canonical) => {
    expect(text(raw, form)).toBe(canonical);
    expect(cursorText(cursorOfText(canonical, form) ?? '', form)).toBe(canonical);
  });

  test.each<[unknown, CursorShape]>([
    [null, { type: 'datetime' }],
    [undefined, { type: 'integer' }],
    ['yesterday', { type: 'datetime' }],
    ['2025-02-30T00:00:00Z', { type: 'datetime' }],
    ['2025-01-01T24:10:00Z', { type: 'datetime' }],
    [1.5, { type: 'integer' }],
    ['12a', { type: 'integer' }],
    [1e300, { type: 'epoch_s' }],
    [{}, { type: 'string' }],
    ['a\0', { type: 'string' }],
    ['a\ud800', { type: 'string' }],
    [1_700_000_000, { type: 'datetime' }],
  ])('%j is no value of %j', (raw, form) => {
    expect(parseCursor(raw, form)).toBeNull();
  });
});

describe('instants at the ends of the calendar', () => {
  const zones = [undefined, 'Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati'];
  const sendings = ['raw', 'iso', 'date', 'epoch_s', 'epoch_ms'] as const;
  const forms = zones.flatMap((timezone) =>
    sendings.map((sendAs): CursorShape => ({ type: 'epoch_ms', timezone, sendAs })),
  );

  test.each([-8.64e15, -6.3e13, 3e14, 8.64e15])(
    '%i is read back from its text and can be sent, in every form',
    (raw) => {
      for (const form of forms) {
        const value = parseCursor(raw, form) ?? '';
        expect(cursorOfText(cursorText(value, form), form)).toBe(value);
        expect(latestMeaning(value, form)).toBe(value);
        expect(String(sendCursor(value, form))).not.toContain('NaN');
        expect(sendLowerBound(value, form)).toBe(sendCursor(value, form));
        filterBound(value, form);
      }
    },
  );

  test('beyond the first and the last the text is that of the end', () => {
    const form: CursorShape = { type: 'epoch_ms' };
    expect(cursorText(-8_640_000_000_000_001n, form)).toBe('-271821-04-20T00:00:00.000Z');
    expect(cursorText(8_640_000_000_000_001n, form)).toBe('+275760-09-13T00:00:00.000Z');
    expect(sendCursor(-8_640_000_000_000_001n, { ...form, sendAs: 'iso' })).toBe('-271821-04-20T00:00:00.000Z');
  });

  test.each([
    ['0001-01-01T00:00:00', '0001-01-01T04:56:02.000Z'],
    ['0099-06-01T00:00:00', '0099-06-01T04:56:02.000Z'],
    ['9999-12-31T23:59:59', '+010000-01-01T04:59:59.000Z'],
  ])('%s in New York is %s, and is sent as it came', (raw, canonical) => {
    const form: CursorShape = { type: 'datetime', timezone: 'America/New_York' };
    expect(text(raw, form)).toBe(canonical);
    expect(sendCursor(cursorOfText(canonical, form) ?? '', form)).toBe(`${raw}.000`);
  });
});

describe('cursors are compared as instants and integers', () => {
  test('a date that begins with its day is compared by time, not as text', () => {
    const form: CursorShape = { type: 'datetime', format: '%d/%m/%Y %H:%M:%S' };
    const newer = parseCursor('01/02/2026 00:00:00', form) ?? '';
    const older = parseCursor('31/01/2026 23:59:59', form) ?? '';
    expect(compareCursors(newer, older)).toBeGreaterThan(0);
  });

  test('9 is below 10 and 2^53 + 1 is above 2^53', () => {
    const form: CursorShape = { type: 'integer' };
    const value = (raw: unknown) => parseCursor(raw, form) ?? '';
    expect(compareCursors(value('9'), value('10'))).toBeLessThan(0);
    expect(compareCursors(value('9007199254740993'), value('9007199254740992'))).toBeGreaterThan(0);
  });
});

describe('local times are instants of their zone', () => {
  const berlin: CursorShape = { type: 'datetime', timezone: 'Europe/Berlin' };

  test.each([
    ['2026-01-15T12:00:00', '2026-01-15T11:00:00.000Z'],
    ['2026-07-15T12:00:00', '2026-07-15T10:00:00.000Z'],
    // Shown twice on 25 October: the earlier instant, because a lower watermark loses nothing.
    ['2026-10-25T02:30:00', '2026-10-25T00:30:00.000Z'],
    // Never shown on 29 March.
    ['2026-03-29T02:30:00', '2026-03-29T00:30:00.000Z'],
    ['2026-10-25T03:30:00', '2026-10-25T02:30:00.000Z'],
    ['2026-07-15T12:00:00Z', '2026-07-15T12:00:00.000Z'],
  ])('%s in Berlin is %s', (raw, instant) => {
    expect(text(raw, berlin)).toBe(instant);
  });

  test('a request for local times carries the wall time with its offset', () => {
    const value = parseCursor('2026-07-15T12:00:00', berlin) ?? '';
    expect(sendCursor(value, { ...berlin, sendAs: 'iso' })).toBe('2026-07-15T12:00:00.000+02:00');
    expect(sendCursor(value, { ...berlin, sendAs: 'raw' })).toBe('2026-07-15T12:00:00.000');
    const newYork: CursorShape = { type: 'datetime', timezone: 'America/New_York', sendAs: 'iso' };
    expect(sendCursor(value, newYork)).toBe('2026-07-15T06:00:00.000-04:00');
  });
});

test('a timestamp without a zone is of the zone in the spec, or of UTC', () => {
  const raw = '2026-07-15 12:00:00';
  expect(text(raw, { type: 'datetime' })).toBe('2026-07-15T12:00:00.000Z');
  expect(text(raw, { type: 'datetime', timezone: 'America/New_York' })).toBe('2026-07-15T16:00:00.000Z');
  expect(text(raw, { type: 'datetime', format: '%F %T' })).toBe('2026-07-15T12:00:00.000Z');
});

describe('a reading that a clock shows twice', () => {
  const berlin: CursorShape = { type: 'datetime', timezone: 'Europe/Berlin', sendAs: 'raw' };
  const value = (raw: string, form = berlin) => parseCursor(raw, form) ?? '';

  test.each([
    ['2026-10-25T02:00:00', '2026-10-25T01:00:00.000'],
    ['2026-10-25T02:59:59', '2026-10-25T01:59:59.000'],
    ['2026-10-25T01:59:59', '2026-10-25T01:59:59.000'],
    ['2026-10-25T03:00:00', '2026-10-25T03:00:00.000'],
    ['2026-03-29T03:10:00', '2026-03-29T03:10:00.000'],
  ])('%s is asked for from %s', (raw, sent) => {
    expect(sendLowerBound(value(raw), berlin)).toBe(sent);
  });

  test('may stand for the later instant; others stand for themselves', () => {
    const twice = value('2026-10-25T02:30:00');
    expect(latestMeaning(twice, berlin)).toBe(BigInt(twice) + 3_600_000n);
    expect(latestMeaning(value('2026-10-25T03:30:00'), berlin)).toBe(value('2026-10-25T03:30:00'));
    expect(latestMeaning(twice, { type: 'datetime' })).toBe(twice);
    expect(latestMeaning(7n, { type: 'integer', timezone: 'Europe/Berlin' })).toBe(7n);
  });

  test('in a zone that moves by half an hour', () => {
    const lordHowe: CursorShape = { ...berlin, timezone: 'Australia/Lord_Howe' };
    expect(sendLowerBound(value('2026-04-05T01:45:00', lordHowe), lordHowe)).toBe('2026-04-05T01:15:00.000');
    expect(sendLowerBound(value('2026-04-05T01:15:00', lordHowe), lordHowe)).toBe('2026-04-05T01:15:00.000');
  });
});

test('a bound for an API that filters by days is the begin of its day', () => {
  const noon = parseCursor('2026-07-15T12:00:00Z', { type: 'datetime' }) ?? '';
  const day = (form: CursorShape) => cursorText(filterBound(noon, form), form);
  expect(day({ type: 'date' })).toBe('2026-07-15T00:00:00.000Z');
  expect(day({ type: 'datetime', sendAs: 'date', timezone: 'Europe/Berlin' })).toBe('2026-07-14T22:00:00.000Z');
  expect(day({ type: 'datetime' })).toBe('2026-07-15T12:00:00.000Z');
});

describe('a bound is not above the value of a record of its instant', () => {
  const afternoon = parseCursor('2026-07-15T14:59:30.500Z', { type: 'datetime' }) ?? '';
  const readings: CursorShape = { type: 'datetime', format: '%d/%m/%Y %H:%M', sendAs: 'raw' };

  test.each<[CursorShape, string | number, string]>([
    [{ type: 'date', sendAs: 'epoch_ms' }, Date.UTC(2026, 6, 15), '2026-07-15T00:00:00.000Z'],
    [{ type: 'date', sendAs: 'epoch_s' }, Date.UTC(2026, 6, 15) / 1000, '2026-07-15T00:00:00.000Z'],
    [{ type: 'date', sendAs: 'iso' }, '2026-07-15T00:00:00.000Z', '2026-07-15T00:00:00.000Z'],
    [
      { type: 'date', sendAs: 'iso', timezone: 'Asia/Tokyo' },
      '2026-07-15T00:00:00.000+09:00',
      '2026-07-14T15:00:00.000Z',
    ],
    [{ type: 'date', format: '%d/%m/%Y', sendAs: 'raw' }, '15/07/2026', '2026-07-15T00:00:00.000Z'],
    [{ type: 'datetime', format: '%d/%m/%Y', sendAs: 'iso' }, '2026-07-15T00:00:00.000Z', '2026-07-15T00:00:00.000Z'],
    [readings, '15/07/2026 14:59', '2026-07-15T14:59:00.000Z'],
    [{ ...readings, sendAs: 'iso' }, '2026-07-15T14:59:00.000Z', '2026-07-15T14:59:00.000Z'],
    [{ type: 'datetime' }, '2026-07-15T14:59:30.500Z', '2026-07-15T14:59:30.500Z'],
    [{ type: 'epoch_s', sendAs: 'iso' }, '2026-07-15T14:59:30.500Z', '2026-07-15T14:59:30.500Z'],
  ])('of %j', (form, sent, bound) => {
    expect(sendLowerBound(afternoon, form)).toBe(sent);
    expect(cursorText(filterBound(afternoon, form), form)).toBe(bound);
  });
});

describe('a request carries the value in the declared form, rounded down', () => {
  const instant = parseCursor('2026-07-15T12:00:00.900Z', { type: 'datetime' }) ?? '';

  test.each<[CursorShape, string | number]>([
    [{ type: 'datetime' }, '2026-07-15T12:00:00.900Z'],
    [{ type: 'datetime', sendAs: 'date' }, '2026-07-15'],
    [{ type: 'datetime', sendAs: 'epoch_s' }, 1_784_116_800],
    [{ type: 'datetime', sendAs: 'epoch_ms' }, 1_784_116_800_900],
    [{ type: 'epoch_s', sendAs: 'iso' }, '2026-07-15T12:00:00.900Z'],
    [{ type: 'epoch_s', sendAs: 'raw' }, 1_784_116_800],
    [{ type: 'date', sendAs: 'raw' }, '2026-07-15'],
    [{ type: 'datetime', format: '%d/%m/%Y %I:%M %p', sendAs: 'raw' }, '15/07/2026 12:00 PM'],
    [{ type: 'datetime', format: '%a, %d %b %Y %T %z', sendAs: 'raw' }, 'Wed, 15 Jul 2026 12:00:00 +0000'],
    [{ type: 'datetime', format: '%s', sendAs: 'raw' }, '1784116800'],
  ])('as %j it is %j', (form, sent) => {
    expect(sendCursor(instant, form)).toBe(sent);
  });

  test('an integer beyond 2^53 is sent with all its digits', () => {
    expect(sendCursor(9_007_199_254_740_993n, { type: 'integer' })).toBe('9007199254740993');
    expect(sendCursor(7n, { type: 'integer' })).toBe(7);
  });
});

test.each([
  ['%d.%m.%y %H:%M', '05.06.26 07:08', '2026-06-05T07:08:00.000Z'],
  ['%Y-%m-%dT%H:%M:%S.%f%z', '2026-06-05T07:08:09.123456+0200', '2026-06-05T05:08:09.123Z'],
  ['%b %e, %Y %I:%M %p', 'Jun  5, 2026 12:30 AM', '2026-06-05T00:30:00.000Z'],
  ['%A %d %B %Y', 'Friday 05 June 2026', '2026-06-05T00:00:00.000Z'],
  ['%m/%d/%Y (100%%)', '06/05/2026 (100%)', '2026-06-05T00:00:00.000Z'],
])('the format %s reads %s', (format, raw, instant) => {
  expect(text(raw, { type: 'datetime', format })).toBe(instant);
});

test('an unknown directive of a format is named', () => {
  expect(() => text('x', { type: 'datetime', format: '%Q' })).toThrow('unknown directive "%Q"');
});

test('a format that names a part of a time twice is refused, so that no text matches it in very many ways', () => {
  for (const format of ['%d'.repeat(50), `${'%s'.repeat(49)}x`, '%T %H', '%d%%%d']) {
    expect(() => text(`${'1'.repeat(75)}!`, { type: 'datetime', format })).toThrow('twice');
  }
});

test('a start date may be ISO for every time cursor', () => {
  const start = parseInitialCursor('2020-01-01', { type: 'epoch_s' });
  expect(start).toBe(BigInt(Date.UTC(2020, 0, 1)));
  expect(parseInitialCursor('2020-01-01', { type: 'integer' })).toBeNull();
});
