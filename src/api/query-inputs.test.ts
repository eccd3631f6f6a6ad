import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { QueryText, queryInstant, queryLimit } from './query-inputs.ts';

const instant = queryInstant('when');

describe('a time in a query', () => {
  it.each([
    ['2026-03-01T08:30:00Z', '2026-03-01T08:30:00.000Z'],
    ['2026-03-01T08:30:00.123456789Z', '2026-03-01T08:30:00.123Z'],
    ['2026-03-01T08:30:00+02:00', '2026-03-01T06:30:00.000Z'],
    // PostgreSQL takes no offset beyond 15:59.
    ['2026-03-01T08:30:00+21:57', '2026-02-28T10:33:00.000Z'],
  ])('%s is %s', (text, utc) => {
    expect(v.parse(instant, text)).toBe(utc);
  });

  it.each([
    'yesterday',
    '2026-03-01',
    '2026-02-31T00:00:00Z',
    '2026-03-01T25:00:00Z',
    '2026-03-01T08:30:00 02:00',
    '2026-03-01T08:30:00+02',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-12:00',
    '',
  ])('%j is refused once, with the form to write and not the value', (text) => {
    const { issues = [] } = v.safeParse(instant, text);
    expect(issues.map(({ message }) => message)).toEqual([
      'expected an ISO 8601 time such as 2026-03-01T08:30:00Z; write the + of a zone as %2B',
    ]);
  });
});

describe('a text in a query', () => {
  it('may be anything that can be compared with stored text', () => {
    expect(v.is(QueryText, 'ü %')).toBe(true);
    expect(v.is(QueryText, 'a\u0000')).toBe(false);
  });
});

describe('a limit in a query', () => {
  const limit = queryLimit({ usual: 50, max: 200 });

  it.each([
    [undefined, 50],
    ['1', 1],
    ['007', 7],
    ['200', 200],
    ['201', 200],
    ['9'.repeat(400), 200],
  ])('%j is %d', (text, rows) => {
    expect(v.parse(limit, text)).toBe(rows);
  });

  it.each(['0', '00', '-1', '+1', '1.0', '1e2', '0x10', 'NaN', ' 1', ''])('is not %j', (text) => {
    const { issues = [] } = v.safeParse(limit, text);
    expect(issues.map(({ message }) => message)).toEqual(['expected a whole number of at least 1']);
  });
});
