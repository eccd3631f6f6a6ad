import { describe, expect, it } from 'vitest';
import { checkCron } from './cron.ts';
import { firingGaps } from './firing-gaps.ts';

const calendarsOf = (text: string) => checkCron(text).calendars ?? [];
const all = (start: number, end: number, step = 1) => [{ start, end, step }];

describe('a cron expression', () => {
  it('of five fields fires at second 0, of six at the seconds it names', () => {
    expect(calendarsOf('30 9 * * *')).toMatchObject([{ second: all(0, 0), minute: all(30, 30), hour: all(9, 9) }]);
    expect(calendarsOf('*/5 * * * * *')).toMatchObject([{ second: all(0, 55, 5), minute: all(0, 59) }]);
  });

  it('restricted by day of month and by day of week fires on either', () => {
    expect(calendarsOf('0 0 13 * 5')).toMatchObject([
      { dayOfMonth: all(13, 13), dayOfWeek: all(0, 6) },
      { dayOfMonth: all(1, 31), dayOfWeek: all(5, 5) },
    ]);
    for (const wildcard of ['*', '?']) expect(calendarsOf(`0 0 13 * ${wildcard}`)).toHaveLength(1);
  });

  it('takes names, 7 as Sunday, and whitespace around its fields', () => {
    expect(calendarsOf(' 0  0 * jan-MAR SUN\t')).toEqual(calendarsOf('0 0 * 1-3 7'));
    expect(calendarsOf('0 0 * * 7')).toEqual(calendarsOf('0 0 * * 0'));
    expect(calendarsOf('0 0 * * 0-7')).toEqual(calendarsOf('0 0 * * *'));
  });

  it('takes the nth weekday of a month', () => {
    expect(calendarsOf('0 9 * * 1#2')).toMatchObject([{ dayOfMonth: all(8, 14), dayOfWeek: all(1, 1) }]);
    expect(calendarsOf('0 9 * * 1#5')).toMatchObject([{ dayOfMonth: all(29, 31) }]);
  });

  it('takes the last day of a month by the length of the month', () => {
    expect(calendarsOf('0 0 L * *')).toMatchObject([
      { dayOfMonth: all(31, 31), month: [...all(1, 7, 2), ...all(8, 12, 2)], year: null },
      { dayOfMonth: all(30, 30), year: null },
      { dayOfMonth: all(29, 29), month: all(2, 2), year: all(2000, 2096, 4) },
      { dayOfMonth: all(28, 28), month: all(2, 2) },
    ]);
    expect(calendarsOf('0 0 L 4,6 *')).toHaveLength(1);
    expect(calendarsOf('0 0 * 4 5L')).toMatchObject([{ dayOfMonth: all(24, 30), dayOfWeek: all(5, 5) }]);
  });

  it.each(['', ' ', '* * * *', '* * * * * * *', '@hourly', '@every 1s', '0 0 * * * # c'])(
    'has exactly 5 or 6 fields: %j',
    (text) => expect(checkCron(text).issue).toMatch(/^expected 5 fields/),
  );

  it.each([
    ['H * * * *', 'minute'],
    ['5-1 * * * *', 'minute'],
    ['5,5 * * * *', 'minute'],
    ['１ * * * *', 'minute'],
    ['*/0 * * * *', 'minute'],
    ['MON * * * *', 'minute'],
    ['* 24 * * *', 'hour'],
    ['* * L-3 * *', 'day of month'],
    ['* * * 13 *', 'month'],
    ['* * * * MONTUE', 'day of week'],
    ['* * * * L', 'day of week'],
    ['* * * * h', 'day of week'],
    ['60 * * * * *', 'second'],
    ['TZ=Europe/Oslo 0 0 * * *', 'second'],
    ['0 9 * * 1-5 2031', 'day of week'],
  ])('that is not valid is refused by its field: %j', (text, field) => {
    const { issue } = checkCron(text);
    expect(issue).toMatch(`the field of the ${field} is not valid`);
    expect(issue).not.toContain(text);
  });

  it.each(['0 0 31 4 *', '0 0 30 2 *', '0 0 31 2,4 *'])('that never fires is refused: %s', (text) =>
    expect(checkCron(text).issue).toMatch(/^never fires/),
  );

  it('is refused above 1024 characters', () => {
    expect(checkCron(`${'0,'.repeat(600)}0 * * * *`).issue).toMatch(/more than 1024 characters/);
  });
});

describe('the gaps between firings', () => {
  it.each([
    ['* * * * * *', 1, 1],
    ['0,1 * * * *', 60, 3540],
    ['59 23 * * *', 86_400, 86_400],
    ['0,59 0,23 * * *', 60, 79_260],
    ['* * * * 1-5', 60, 172_860],
    ['0 0 29 2 *', 126_230_400, 126_230_400],
  ])('are exact: %s', (text, shortest, longest) => {
    expect(firingGaps(calendarsOf(text))).toEqual({ shortest, longest });
  });
});
