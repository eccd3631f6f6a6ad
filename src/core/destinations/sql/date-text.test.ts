import { describe, expect, it } from 'vitest';
import { dateIssue, timestampIssue } from './date-text.ts';

describe('dateIssue', () => {
  it.each(['2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'])('accepts %s', (text) => {
    expect(dateIssue(text)).toBeNull();
  });

  it.each([
    '2023-02-29',
    '1900-02-29',
    '0000-01-01',
    '2024-13-01',
    '2024-04-31',
    '2024-1-1',
    '2024-01-01T00:00:00Z',
    '',
  ])('refuses %j', (text) => {
    expect(dateIssue(text)).not.toBeNull();
  });
});

describe('timestampIssue', () => {
  it.each([
    '2026-01-01T00:00:00Z',
    '2026-01-01t00:00:00z',
    '2026-01-01 00:00:00.123456+05:30',
    '2026-01-01T00:00-0800',
    '2026-01-01T00:00:60+14',
    '2026-01-01T00:00:00',
    '2026-01-01',
  ])('accepts %s', (text) => {
    expect(timestampIssue(text)).toBeNull();
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:00+16:00',
    '2026-01-01T00:00:00 Europe/Berlin',
    '01/02/2026',
    'now',
    'infinity',
    '20260101',
  ])('refuses %s', (text) => {
    expect(timestampIssue(text)).not.toBeNull();
  });
});
